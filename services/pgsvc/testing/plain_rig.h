#pragma once

// Plain pods of Volcano's scheduler in the compat profile, and the workloads that own them, in any namespace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/base/yaml.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {

class PlainRig : public NamespaceRig {
 public:
  PlainRig() { Start(); }

  // `owner` has the members of the controller's owner reference; empty if the pod has no owner.
  void MakePlainPod(const std::string& name, const std::string& owner = "", const std::string& metadata = "",
                    const std::string& spec = "", const std::string& ns = "default") {
    CreateIn(
        ns, kube::kPods,
        fmt::format("metadata:\n  name: {}\n{}{}spec: {{schedulerName: volcano{}, containers: [{{name: c, image: i, "
                    "resources: {{requests: {{cpu: 100m}}}}}}]}}\n",
                    name, owner.empty() ? "" : fmt::format("  ownerReferences: [{{{}, controller: true}}]\n", owner),
                    metadata, spec));
  }
  void MakeSet(const kube::Kind& kind, const std::string& name, int replicas, const std::string& metadata = "",
               const std::string& scheduler = "volcano", const std::string& ns = "default") {
    CreateIn(ns, kind,
             fmt::format("metadata: {{name: {}{}}}\n"
                         "spec:\n"
                         "  replicas: {}\n"
                         "  serviceName: s\n"
                         "  selector: {{matchLabels: {{app: x}}}}\n"
                         "  template:\n"
                         "    metadata: {{labels: {{app: x}}}}\n"
                         "    spec: {{schedulerName: {}, containers: [{{name: c, image: i}}]}}\n",
                         name, metadata, replicas, scheduler));
  }
  void CreateIn(const std::string& ns, const kube::Kind& kind, const std::string& manifest) {
    json::value object = ParseYamlDocuments(manifest).value().front();
    ObjectIn(object.as_object(), "metadata")["namespace"] = ns;
    if (kind.name == "ReplicaSet") ObjectIn(object.as_object(), "spec").erase("serviceName");
    server().Create(kind, std::move(object));
  }
  std::string UidIn(const std::string& ns, const kube::Kind& kind, const std::string& name) {
    const auto stored = server().server().Get(basalt::testing::RigKube::ResourceOf(kind), ns, name);
    return stored == nullptr ? "" : std::string(FindString(stored->at("metadata"), "uid"));
  }
  std::string OwnerOf(const kube::Kind& kind, const std::string& name, const std::string& ns = "default") {
    return fmt::format("apiVersion: {}/{}, kind: {}, name: {}, uid: {}", kind.group, kind.version, kind.name, name,
                       UidIn(ns, kind, name));
  }
  void Scale(const kube::Kind& kind, const std::string& name, int replicas, const std::string& ns = "default") {
    server().Merge(kind, ns, name, json::object{{"spec", json::object{{"replicas", replicas}}}});
  }
  size_t PlainGroups() {
    return server().server().store().Count(basalt::testing::RigKube::ResourceOf(kube::kPodGroups));
  }
  std::string PlainGroupOf(const std::string& pod, const std::string& ns = "default") {
    const auto stored = server().server().Get(basalt::testing::RigKube::ResourceOf(kube::kPods), ns, pod);
    const json::value* annotations = FindPath(*stored, {"metadata", "annotations"});
    return annotations == nullptr ? "" : std::string(FindString(*annotations, kube::kGroupNameKey));
  }
  json::value PlainGroup(const std::string& name, const std::string& ns = "default") {
    const auto stored = server().server().Get(basalt::testing::RigKube::ResourceOf(kube::kPodGroups), ns, name);
    EXPECT_NE(stored, nullptr) << name;
    return stored == nullptr ? json::value(json::object()) : *stored;
  }
};

}  // namespace basalt::pgsvc
