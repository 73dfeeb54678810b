#include "tests/bench/podgroups/group_load.h"

#include <fmt/format.h>

#include "common/kube/names.h"

namespace basalt::bench {

std::string_view SchedulerOf(Form form) { return form == Form::kKai ? kube::kKaiScheduler : kube::kDefaultScheduler; }

actors::ApiRequest CreatePod(const std::string& name, std::string_view scheduler, const PodOwner* owner,
                             std::string_view labels) {
  std::string owners;
  if (owner != nullptr) {
    owners = fmt::format(
        R"(,"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","controller":true}}])",
        owner->api_version, owner->kind, owner->name, owner->uid);
  }
  return {"POST", std::string(kPodsPath),
          fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{{}}}{}}},"spec":{{)"
                      R"("schedulerName":"{}","containers":[{{"name":"c","image":"busybox",)"
                      R"("resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}})",
                      name, labels, owners, scheduler)};
}

actors::ApiRequest CreateReplicaSet(const std::string& name, std::string_view scheduler, int pods) {
  return {"POST", "/apis/apps/v1/namespaces/default/replicasets",
          fmt::format(R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{}"}},"spec":{{)"
                      R"("replicas":{},"selector":{{"matchLabels":{{"app":"{}"}}}},"template":{{"metadata":{{)"
                      R"("labels":{{"app":"{}"}}}},"spec":{{"schedulerName":"{}","containers":[{{"name":"c",)"
                      R"("image":"busybox","resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}}}}}})",
                      name, pods, name, name, scheduler)};
}

actors::ApiRequest DefineLeaderWorkerSets() {
  return {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
          R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
          "metadata":{"name":"leaderworkersets.leaderworkerset.x-k8s.io"},
          "spec":{"group":"leaderworkerset.x-k8s.io","scope":"Namespaced","names":{"kind":"LeaderWorkerSet",
          "listKind":"LeaderWorkerSetList","plural":"leaderworkersets","singular":"leaderworkerset"},
          "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
          "x-kubernetes-preserve-unknown-fields":true}}}]}})"};
}

actors::ApiRequest CreateLeaderWorkerSet(const std::string& name, int size) {
  return {"POST", std::string(kLeaderWorkerSetsPath),
          fmt::format(R"({{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{{)"
                      R"("name":"{}"}},"spec":{{"replicas":1,"leaderWorkerTemplate":{{"size":{}}}}}}})",
                      name, size)};
}

std::vector<actors::ApiRequest> GroupBarePod(Form form, std::string_view pod, std::string_view uid) {
  const bool is_kai = form == Form::kKai;
  const std::string group = is_kai ? fmt::format("pg-{}-{}", pod, uid) : fmt::format("podgroup-{}", uid);
  const std::string owner =
      fmt::format(R"("ownerReferences":[{{"apiVersion":"v1","kind":"Pod","name":"{}","uid":"{}"}}])", pod, uid);
  const std::string made =
      is_kai ? fmt::format(
                   R"({{"apiVersion":"scheduling.run.ai/v2alpha2","kind":"PodGroup","metadata":{{"name":"{}",{}}},)"
                   R"("spec":{{"minMember":1,"queue":"default-queue","priorityClassName":"train"}}}})",
                   group, owner)
             : fmt::format(R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{{)"
                           R"("name":"{}",{}}},"spec":{{"minMember":1,"minResources":{{"cpu":"10m"}}}}}})",
                           group, owner);
  const std::string_view key = is_kai ? kube::kKaiGroupNameKey : kube::kGroupNameKey;
  return {{"POST", std::string(is_kai ? kKaiGroupsPath : kGroupsPath), made},
          {"PATCH", fmt::format("{}/{}", kPodsPath, pod),
           fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", key, group), actors::kMergePatchType}};
}

}  // namespace basalt::bench
