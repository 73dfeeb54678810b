#pragma once

// Groups of pods by the rules of all kinds, with a controller that is killed anywhere, or whose writes are lost, over
// an API server in memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/yaml.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/testing/controller_rig/controller_rig.h"
#include "common/testing/controller_rig/kill_points.h"
#include "common/testing/controller_rig/lost_writes.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {

inline constexpr kube::Kind kJobSets{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"};
// A leader and two workers, each a replica of one pod.
inline constexpr char kJobSetOfThree[] =
    "metadata: {name: js}\n"
    "spec:\n"
    "  replicatedJobs:\n"
    "  - {name: leader, replicas: 1, template: {spec: {parallelism: 1}}}\n"
    "  - {name: worker, replicas: 2, template: {spec: {parallelism: 1}}}\n";

class NamespaceRig : public basalt::testing::ControllerRig {
 public:
  // Groups the pods of KAI's scheduler and, if `profile` is kRich, also those of Volcano's.
  explicit NamespaceRig(RuleOptions rules = {}, kube::GroupProfile profile = kube::GroupProfile::kKai)
      : ControllerRig({.service = gateway::v1::SERVICE_KIND_POD_GROUP,
                       .controller =
                           [rules](runtime::Context& context) {
                             return std::make_unique<PodGroupController>(context, GroupingOptions(), history::Limits(),
                                                                         nullptr, rules);
                           },
                       .is_rich = profile == kube::GroupProfile::kRich}),
        is_rich_(profile == kube::GroupProfile::kRich) {
    const json::object metadata{{"name", "default-queue"}};
    server().Create(kube::kKaiQueues, json::object{{"metadata", metadata}, {"spec", json::object()}});
    if (is_rich_) return;
    // KAI installs these classes.
    constexpr std::pair<const char*, int> kClasses[] = {
        {"train", 50}, {"build-preemptible", 75}, {"build", 100}, {"inference", 125}};
    for (const auto& [name, value] : kClasses) {
      server().Create(kube::kPriorityClasses,
                      json::object{{"metadata", json::object{{"name", name}}}, {"value", value}});
    }
  }
  ~NamespaceRig() override { Shutdown(); }

  // ---- the stored objects ----
  std::shared_ptr<const json::value> Get(const kube::Kind& kind, const std::string& name) {
    return server().server().Get(basalt::testing::RigKube::ResourceOf(kind), "default", name);
  }
  std::string UidOf(const kube::Kind& kind, const std::string& name) {
    const auto stored = Get(kind, name);
    return stored == nullptr ? "" : std::string(FindString(stored->at("metadata"), "uid"));
  }
  const kube::Kind& GroupKind() const { return is_rich_ ? kube::kPodGroups : kube::kKaiPodGroups; }
  size_t Groups() { return server().server().store().Count(basalt::testing::RigKube::ResourceOf(GroupKind())); }
  std::string GroupOf(const std::string& pod) {
    const json::value* annotations = FindPath(*Get(kube::kPods, pod), {"metadata", "annotations"});
    return annotations == nullptr
               ? ""
               : std::string(FindString(*annotations, is_rich_ ? kube::kGroupNameKey : kube::kKaiGroupNameKey));
  }
  std::string SubGroupOf(const std::string& pod) {
    const json::value* labels = FindPath(*Get(kube::kPods, pod), {"metadata", "labels"});
    return labels == nullptr ? "" : std::string(FindString(*labels, kube::kKaiSubGroupNameKey));
  }
  // Returns spec of the group, as text.
  std::string Spec(const std::string& group) {
    const auto stored = Get(GroupKind(), group);
    return stored == nullptr ? "none" : ToText(stored->at("spec"));
  }
  std::vector<std::string> Events() {
    std::vector<std::string> events;
    for (const auto& entry : server().log()) {
      if (entry.plural != "events" || entry.verb != "create") continue;
      const auto stored = Get(kube::kEvents, entry.name);
      events.push_back(fmt::format("{} {}: {}", FindString(stored->at("involvedObject"), "name"),
                                   FindString(*stored, "reason"), FindString(*stored, "message")));
    }
    return events;
  }

  // ---- the acts of users and Kubernetes ----
  void Define(const kube::Kind& kind) {
    const json::object open{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    const json::object definition{
        {"apiVersion", "apiextensions.k8s.io/v1"},
        {"kind", "CustomResourceDefinition"},
        {"metadata", json::object{{"name", fmt::format("{}.{}", kind.plural, kind.group)}}},
        {"spec",
         json::object{{"group", kind.group},
                      {"scope", "Namespaced"},
                      {"names", json::object{{"kind", kind.name}, {"plural", kind.plural}}},
                      {"versions", json::array{json::object{{"name", kind.version},
                                                            {"served", true},
                                                            {"storage", true},
                                                            {"schema", json::object{{"openAPIV3Schema", open}}}}}}}}};
    const auto created = server().server().CreateObject(definition);
    ASSERT_TRUE(created.ok()) << created.status();
    time().RunDueTasks();
  }
  // Creates an object; the manifest lacks only apiVersion, kind and namespace, and `owner` becomes its controller. In
  // the rich profile, pods of KAI's scheduler become Volcano's.
  void Make(const kube::Kind& kind, const std::string& manifest, const kube::Kind* owner_kind = nullptr,
            const std::string& owner = "") {
    absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(is_rich_ ? ForVolcano(manifest) : manifest);
    ASSERT_TRUE(documents.ok()) << documents.status();
    json::value object = documents->front();
    json::object& metadata = ObjectIn(object.as_object(), "metadata");
    metadata["namespace"] = "default";
    if (owner_kind != nullptr) {
      const std::string api_version = owner_kind->group.empty()
                                          ? std::string(owner_kind->version)
                                          : fmt::format("{}/{}", owner_kind->group, owner_kind->version);
      metadata["ownerReferences"] = json::array{json::object{{"apiVersion", api_version},
                                                             {"kind", owner_kind->name},
                                                             {"name", owner},
                                                             {"uid", UidOf(*owner_kind, owner)},
                                                             {"controller", true}}};
    }
    server().Create(kind, std::move(object));
  }
  void MakePod(const std::string& name, const kube::Kind* owner_kind = nullptr, const std::string& owner = "",
               const std::string& metadata = "") {
    Make(kube::kPods,
         fmt::format("metadata: {{name: {}{}}}\n"
                     "spec: {{schedulerName: kai-scheduler, containers: [{{name: c, image: i}}]}}",
                     name, metadata.empty() ? "" : ", " + metadata),
         owner_kind, owner);
  }
  static std::string Workload(const std::string& name, const std::string& metadata = "", const std::string& spec = "") {
    return fmt::format(
        "metadata: {{name: {}{}}}\n"
        "spec:\n"
        "  selector: {{matchLabels: {{app: {}}}}}\n"
        "  {}\n"
        "  template:\n"
        "    metadata: {{labels: {{app: {}}}}}\n"
        "    spec: {{schedulerName: kai-scheduler, restartPolicy: Always, containers: [{{name: c, image: i}}]}}",
        name, metadata.empty() ? "" : ", " + metadata, name, spec, name);
  }
  static std::string JobOf(const std::string& name, const std::string& metadata = "") {
    return fmt::format(
        "metadata: {{name: {}{}}}\n"
        "spec:\n"
        "  parallelism: 2\n"
        "  completions: 2\n"
        "  template:\n"
        "    spec: {{schedulerName: kai-scheduler, restartPolicy: Never, containers: [{{name: c, image: i}}]}}",
        name, metadata.empty() ? "" : ", " + metadata);
  }
  // Makes the StatefulSet db and its pod db-0. Returns the name of the pod's group once the pod is in it.
  std::string MakeDatabase() {
    Make(kube::kStatefulSets, Workload("db", "", "serviceName: db"));
    MakePod("db-0", &kube::kStatefulSets, "db");
    Run(absl::Seconds(5));
    return GroupOf("db-0");
  }
  static std::string ForVolcano(std::string manifest) {
    for (size_t at = 0; (at = manifest.find(kube::kKaiScheduler, at)) != std::string::npos;) {
      manifest.replace(at, kube::kKaiScheduler.size(), kube::kDefaultScheduler);
    }
    return manifest;
  }
  // From now on the API server refuses such writes, with this message.
  void Refuse(std::function<bool(const gateway::v1::WriteRequest& write)> is_refused, int code,
              const std::string& reason, const std::string& message) {
    server().refuse = [=](const gateway::v1::WriteRequest& write, gateway::v1::KubeError& error) {
      if (!is_refused(write)) return false;
      error.set_code(code);
      error.set_reason(reason);
      error.set_message(message);
      return true;
    };
  }
  static bool IsOfGroup(const gateway::v1::WriteRequest& write) { return write.resource().plural() == "podgroups"; }
  void Annotate(const kube::Kind& kind, const std::string& name, const std::string& key, json::value value) {
    server().Merge(kind, "default", name,
                   json::object{{"metadata", json::object{{"annotations", json::object{{key, std::move(value)}}}}}});
  }

 private:
  const bool is_rich_;
};

class RichRig final : public NamespaceRig {
 public:
  explicit RichRig(RuleOptions rules = {}) : NamespaceRig(std::move(rules), kube::GroupProfile::kRich) {}
};

// Delivers an object that goes to all replicas, as the gateway does.
inline void DeliverShared(NamespaceRig& rig, std::string_view watch, const std::string& manifest, bool gone = false) {
  const json::value object = ParseYamlDocuments(manifest)->front();
  kube::v1::Object sent;
  sent.mutable_generic()->mutable_meta()->set_name(std::string(FindString(object.at("metadata"), "name")));
  sent.mutable_generic()->set_json(ToText(object));
  rig.any_controller().OnShared(std::string(watch), sent, gone);
  rig.Run(absl::Seconds(5));
}

// Returns the CustomResourceDefinition of a release whose groups have these fields of spec.
inline std::string DefinitionOf(const kube::Kind& groups, std::string_view properties) {
  return fmt::format(
      "metadata: {{name: {}.{}}}\n"
      "spec: {{versions: [{{name: {}, schema: {{openAPIV3Schema: {{properties: {{spec: {{properties: "
      "{}}}}}}}}}}}]}}",
      groups.plural, groups.group, groups.version, properties);
}

struct Life {
  std::function<void(NamespaceRig& rig)> prepare;
  std::function<void(NamespaceRig& rig)> act;
  std::function<void(NamespaceRig& rig)> check;
};

inline void CheckAndRestart(NamespaceRig& rig, const Life& life) {
  rig.Run(absl::Seconds(20));
  life.check(rig);
  rig.Kill();
  rig.server().ClearLog();
  rig.Start();
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.server().WritesButEvents(), 0) << "after a restart";
}

template <class Rig = NamespaceRig>
void WhateverHappens(const Life& life) {
  const auto finish = [&life](Rig& rig, bool) { CheckAndRestart(rig, life); };
  basalt::testing::KillAtEachPointOf<Rig>(life.prepare, life.act, finish, {false});
  basalt::testing::LoseEachWrite<Rig>(life.prepare, life.act, finish);
}

}  // namespace basalt::pgsvc
