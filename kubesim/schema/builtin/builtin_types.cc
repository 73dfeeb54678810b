#include <cctype>
#include <sstream>

#include "kubesim/schema/builtin/builtin.h"

namespace basalt::kubesim {
namespace {

struct Row {
  const char* group;
  const char* version;
  const char* kind;
  const char* plural;
  const char* short_names;  // Separated by blanks.
  const char* categories;
  bool namespaced;
  bool has_status;
  bool has_generation;
  bool has_scale;
};

constexpr Row kRows[] = {
    {"", "v1", "Namespace", "namespaces", "ns", "", false, true, false, false},
    {"", "v1", "Node", "nodes", "no", "", false, true, false, false},
    {"", "v1", "Pod", "pods", "po", "all", true, true, true, false},
    {"", "v1", "Service", "services", "svc", "all", true, true, false, false},
    {"", "v1", "Endpoints", "endpoints", "ep", "", true, false, false, false},
    {"", "v1", "ConfigMap", "configmaps", "cm", "", true, false, false, false},
    {"", "v1", "Secret", "secrets", "", "", true, false, false, false},
    {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "", true, true, false, false},
    {"", "v1", "PersistentVolume", "persistentvolumes", "pv", "", false, true, false, false},
    {"", "v1", "Event", "events", "ev", "", true, false, false, false},
    {"", "v1", "ServiceAccount", "serviceaccounts", "sa", "", true, false, false, false},
    {"", "v1", "LimitRange", "limitranges", "limits", "", true, false, false, false},
    {"", "v1", "ResourceQuota", "resourcequotas", "quota", "", true, true, false, false},
    {"coordination.k8s.io", "v1", "Lease", "leases", "", "", true, false, false, false},
    {"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", "", false, false, true, false},
    {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", "", true, false, true, false},
    {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "", true, true, true, false},
    {"apps", "v1", "ReplicaSet", "replicasets", "rs", "all", true, true, true, true},
    {"apps", "v1", "StatefulSet", "statefulsets", "sts", "all", true, true, true, true},
    {"apps", "v1", "DaemonSet", "daemonsets", "ds", "all", true, true, true, false},
    {"apps", "v1", "Deployment", "deployments", "deploy", "all", true, true, true, true},
    {"apps", "v1", "ControllerRevision", "controllerrevisions", "", "", true, false, false, false},
    {"batch", "v1", "Job", "jobs", "", "all", true, true, true, false},
    {"batch", "v1", "CronJob", "cronjobs", "cj", "all", true, true, true, false},
    {"storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", "", false, false, false, false},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd crds",
     "api-extensions", false, true, true, false},
};

std::vector<std::string> Words(const char* text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TypeInfoPtr MakeType(const Row& row) {
  auto type = std::make_shared<TypeInfo>();
  type->group = row.group;
  type->version = row.version;
  type->kind = row.kind;
  type->list_kind = type->kind + "List";
  type->plural = row.plural;
  for (const char c : type->kind) {
    type->singular += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  type->short_names = Words(row.short_names);
  type->categories = Words(row.categories);
  type->namespaced = row.namespaced;
  type->has_status = row.has_status;
  type->has_generation = row.has_generation;
  type->has_scale = row.has_scale;
  // The API server cannot delete all namespaces by one request.
  if (type->kind == "Namespace") std::erase(type->verbs, "deletecollection");
  // spec.selector of these kinds is an object. The server converts it to the text in the scale subresource.
  if (row.has_scale) type->scale.label_selector = ".spec.selector";
  return type;
}

}  // namespace

const std::vector<TypeInfoPtr>& BuiltinTypes() {
  static const std::vector<TypeInfoPtr>& types = *[] {
    auto* all = new std::vector<TypeInfoPtr>();
    for (const Row& row : kRows) all->push_back(MakeType(row));
    return all;
  }();
  return types;
}

}  // namespace basalt::kubesim
