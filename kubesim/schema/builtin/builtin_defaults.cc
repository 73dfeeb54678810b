#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "absl/strings/escaping.h"
#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/builtin/decode.h"
#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

void DefaultSecret(json::object& secret) {
  AddMissing(secret, "type", "Opaque");
  if (const json::object* plain = FindObject(secret, "stringData")) {
    const json::object copy = *plain;
    json::object& data = ObjectIn(secret, "data");
    for (const auto& member : copy) {
      if (!member.value().is_string()) continue;
      const json::string& text = member.value().get_string();
      data[member.key()] = absl::Base64Escape({text.data(), text.size()});
    }
  }
  secret.erase("stringData");
}

void DefaultService(json::object& service) {
  json::object& spec = ObjectIn(service, "spec");
  AddMissing(spec, "type", "ClusterIP");
  AddMissing(spec, "sessionAffinity", "None");
  AddMissing(spec, "internalTrafficPolicy", "Cluster");
  if (json::value* ports = spec.if_contains("ports"); ports != nullptr && ports->is_array()) {
    for (json::value& item : ports->get_array()) {
      json::object* port = item.if_object();
      if (port == nullptr) continue;
      AddMissing(*port, "protocol", "TCP");
      if (const json::value* number = port->if_contains("port")) {
        const json::value copy = *number;
        // Typed clients cannot leave targetPort out: they send zero.
        if (const json::value* target = port->if_contains("targetPort");
            target != nullptr && (*target == json::value(0) || *target == json::value(""))) {
          port->erase("targetPort");
        }
        AddMissing(*port, "targetPort", copy);
      }
    }
  }
  if (spec["type"] != json::value("ExternalName")) {
    AddMissing(spec, "ipFamilyPolicy", "SingleStack");
    AddMissing(spec, "ipFamilies", json::array{"IPv4"});
  }
  if (const json::value* ip = spec.if_contains("clusterIP"); ip != nullptr && *ip != json::value("")) {
    const json::value copy = *ip;
    AddMissing(spec, "clusterIPs", json::array{copy});
  }
}

void DefaultTemplate(json::object& spec) {
  json::object* pod_template = FindObject(spec, "template");
  if (pod_template == nullptr) return;
  ObjectIn(*pod_template, "metadata");
  if (json::object* pod_spec = FindObject(*pod_template, "spec")) DefaultPodSpec(*pod_spec);
}

void DefaultDeployment(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  AddMissing(spec, "replicas", 1);
  AddMissing(spec, "revisionHistoryLimit", 10);
  AddMissing(spec, "progressDeadlineSeconds", 600);
  json::object& strategy = ObjectIn(spec, "strategy");
  AddMissing(strategy, "type", "RollingUpdate");
  if (strategy["type"] == json::value("RollingUpdate")) {
    json::object& rolling = ObjectIn(strategy, "rollingUpdate");
    AddMissing(rolling, "maxUnavailable", "25%");
    AddMissing(rolling, "maxSurge", "25%");
  }
  DefaultTemplate(spec);
}

void DefaultReplicaSet(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  AddMissing(spec, "replicas", 1);
  DefaultTemplate(spec);
}

void DefaultStatefulSet(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  AddMissing(spec, "replicas", 1);
  AddMissing(spec, "podManagementPolicy", "OrderedReady");
  AddMissing(spec, "revisionHistoryLimit", 10);
  json::object& strategy = ObjectIn(spec, "updateStrategy");
  AddMissing(strategy, "type", "RollingUpdate");
  if (strategy["type"] == json::value("RollingUpdate")) AddMissing(ObjectIn(strategy, "rollingUpdate"), "partition", 0);
  DefaultTemplate(spec);
}

void DefaultDaemonSet(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  AddMissing(spec, "revisionHistoryLimit", 10);
  json::object& strategy = ObjectIn(spec, "updateStrategy");
  AddMissing(strategy, "type", "RollingUpdate");
  if (strategy["type"] == json::value("RollingUpdate")) {
    AddMissing(ObjectIn(strategy, "rollingUpdate"), "maxUnavailable", 1);
    AddMissing(ObjectIn(strategy, "rollingUpdate"), "maxSurge", 0);
  }
  DefaultTemplate(spec);
}

void DefaultJob(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  if (!spec.contains("completions") && !spec.contains("parallelism")) AddMissing(spec, "completions", 1);
  AddMissing(spec, "parallelism", 1);
  AddMissing(spec, "backoffLimit", 6);
  AddMissing(spec, "completionMode", "NonIndexed");
  AddMissing(spec, "suspend", false);
  AddMissing(spec, "podReplacementPolicy", "TerminatingOrFailed");
  DefaultTemplate(spec);
}

void DefaultPod(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  DefaultPodSpec(spec);
  AddMissing(spec, "enableServiceLinks", true);
  if (!spec.contains("priorityClassName")) {
    AddMissing(spec, "priority", 0);
    AddMissing(spec, "preemptionPolicy", "PreemptLowerPriority");
  }
}

void DefaultNamespace(json::object& object) {
  AddMissing(ObjectIn(object, "spec"), "finalizers", json::array{"kubernetes"});
  const json::value* name = Find(object.at("metadata"), "name");
  if (name == nullptr) return;
  const json::value copy = *name;
  ObjectIn(ObjectIn(object, "metadata"), "labels").insert_or_assign("kubernetes.io/metadata.name", copy);
}

void DefaultClaim(json::object& object) { AddMissing(ObjectIn(object, "spec"), "volumeMode", "Filesystem"); }

void DefaultPriorityClass(json::object& object) {
  AddMissing(object, "value", 0);
  AddMissing(object, "preemptionPolicy", "PreemptLowerPriority");
}

void DefaultNetworkPolicy(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  json::array types = {"Ingress"};
  if (spec.contains("egress")) types.emplace_back("Egress");
  AddMissing(spec, "policyTypes", std::move(types));
}

void DefaultLease(json::object& object) {
  json::object& spec = ObjectIn(object, "spec");
  for (const char* name : {"acquireTime", "renewTime"}) {
    json::value* time = spec.if_contains(name);
    if (time == nullptr || !time->is_string()) continue;
    const json::string& text = time->get_string();
    *time = json::string(MicroTimeInUtc({text.data(), text.size()}));
  }
}

using Defaulter = void (*)(json::object&);
const std::map<std::string_view, Defaulter>& Defaulters() {
  static const auto& table = *new std::map<std::string_view, Defaulter>{
      {"Pod", DefaultPod},
      {"Service", DefaultService},
      {"Secret", DefaultSecret},
      {"Namespace", DefaultNamespace},
      {"PersistentVolumeClaim", DefaultClaim},
      {"PriorityClass", DefaultPriorityClass},
      {"NetworkPolicy", DefaultNetworkPolicy},
      {"Deployment", DefaultDeployment},
      {"ReplicaSet", DefaultReplicaSet},
      {"StatefulSet", DefaultStatefulSet},
      {"DaemonSet", DefaultDaemonSet},
      {"Job", DefaultJob},
      {"Lease", DefaultLease},
  };
  return table;
}

void Default(const TypeInfo& type, json::value& object) {
  DropNulls(object);
  if (!object.is_object()) return;
  ObjectIn(object.get_object(), "metadata");
  const auto found = Defaulters().find(type.kind);
  if (found != Defaulters().end()) found->second(object.get_object());
}

// Adds tolerations by which a pod stays for five minutes on a node that is not ready or unreachable, unless the pod
// states its own.
void TolerateLostNodes(json::object& spec) {
  json::value& list = spec["tolerations"];
  if (!list.is_array()) list = json::array();
  for (const std::string_view key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const json::array& given = list.get_array();
    const bool tolerated = std::any_of(given.begin(), given.end(), [&](const json::value& one) {
      const std::string_view its = FindString(one, "key");
      const std::string_view effect = FindString(one, "effect");
      return (its == key || its.empty()) && (effect == "NoExecute" || effect.empty());
    });
    if (tolerated) continue;
    list.get_array().push_back(json::object{{"key", json::string_view(key.data(), key.size())},
                                            {"operator", "Exists"},
                                            {"effect", "NoExecute"},
                                            {"tolerationSeconds", 300}});
  }
}

// Returns the QoS class: best effort without any request or limit, guaranteed if every container's limits of cpu and
// memory equal its requests, else burstable.
std::string_view QosClass(const json::value& pod) {
  bool any = false;
  bool guaranteed = true;
  size_t count = 0;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::value* containers = FindPath(pod, {"spec", list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (const json::value& container : containers->get_array()) {
      ++count;
      for (const std::string_view resource : {"cpu", "memory"}) {
        const json::value* request = FindPath(container, {"resources", "requests", resource});
        const json::value* limit = FindPath(container, {"resources", "limits", resource});
        any |= request != nullptr || limit != nullptr;
        guaranteed &= request != nullptr && limit != nullptr && *request == *limit;
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed && count > 0 ? "Guaranteed" : "Burstable";
}

void SetFirstStatus(const TypeInfo& type, json::object& object) {
  if (type.kind == "Pod") {
    const std::string_view qos = QosClass(json::value(object));
    object["status"] = {{"phase", "Pending"}, {"qosClass", qos}};
  } else if (type.kind == "Namespace") {
    object["status"] = {{"phase", "Active"}};
  } else if (type.kind == "PersistentVolumeClaim" || type.kind == "PersistentVolume") {
    object["status"] = {{"phase", "Pending"}};
  } else if (type.kind == "Service") {
    object["status"] = {{"loadBalancer", json::object()}};
  } else if (type.kind == "Node") {
    // The client that registers a node sends its status in the same request.
  } else if (type.has_status) {
    object["status"] = json::object();
  }
}

}  // namespace

void PrepareCreate(const TypeInfo& type, json::value& object) {
  Default(type, object);
  if (type.kind == "Pod" && object.is_object()) TolerateLostNodes(ObjectIn(object.get_object(), "spec"));
  if (object.is_object()) SetFirstStatus(type, object.get_object());
}

void PrepareUpdate(const TypeInfo& type, const json::value& live, json::value& next) {
  if (json::object* object = next.if_object()) {
    // A writer that has never read the object may leave out fields that the server has set.
    const auto carry = [&](json::string_view field) {
      const json::value* old = FindPath(live, {"spec", std::string_view(field.data(), field.size())});
      json::object& spec = ObjectIn(*object, "spec");
      const json::value* given = spec.if_contains(field);
      if (old != nullptr && (given == nullptr || given->is_null() || *given == json::value(""))) spec[field] = *old;
    };
    if (type.kind == "Service" && FindPath(next, {"spec", "type"}) != nullptr) {
      const std::string_view service_type = FindString(*FindPath(next, {"spec"}), "type");
      if (service_type != "ExternalName") {
        carry("clusterIP");
        carry("clusterIPs");
      }
    } else if (type.kind == "Service") {
      carry("clusterIP");
      carry("clusterIPs");
    } else if (type.kind == "Pod") {
      carry("nodeName");
      carry("priority");
    } else if (type.kind == "PersistentVolumeClaim") {
      carry("volumeName");
    }
  }
  Default(type, next);
}

bool AllotClusterIp(json::value& service, uint32_t number) {
  json::object* object = service.if_object();
  json::object* spec = object == nullptr ? nullptr : FindObject(*object, "spec");
  if (spec == nullptr || (*spec)["type"] == json::value("ExternalName")) return false;
  if (const json::value* ip = spec->if_contains("clusterIP"); ip != nullptr && *ip != json::value("")) return false;
  constexpr uint32_t kNetwork = (10u << 24) | (96u << 16);
  constexpr uint32_t kHosts = (1u << 20) - 2;
  const uint32_t address = kNetwork + 1 + number % kHosts;
  const std::string text =
      fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255, address & 255);
  (*spec)["clusterIP"] = text;
  (*spec)["clusterIPs"] = json::array{json::value(text)};
  return true;
}

}  // namespace basalt::kubesim
