#include "gateway/access/patches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/requests.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;
constexpr v1::ServiceKind kGroup = v1::SERVICE_KIND_POD_GROUP;
constexpr v1::ServiceKind kQueue = v1::SERVICE_KIND_QUEUE;
constexpr v1::Patch::Type kMerge = v1::Patch::TYPE_MERGE;
constexpr v1::Patch::Type kJson = v1::Patch::TYPE_JSON;
constexpr v1::Patch::Type kApply = v1::Patch::TYPE_APPLY;

struct Row {
  v1::ServiceKind service;
  kube::Kind kind;
  std::string subresource;
  v1::Patch::Type type;
  std::string body;
  std::string refused = "";  // Empty if the patch is permitted.
};

void Expect(const Row& row) {
  v1::WriteRequest request = kube::WriteOf(row.kind, "ns", "n");
  request.mutable_owner()->mutable_member()->set_service(row.service);
  request.set_subresource(row.subresource);
  request.mutable_patch()->set_type(row.type);
  const absl::StatusOr<json::value> body = ParseJson(row.body);
  ASSERT_TRUE(body.ok()) << row.body;
  const absl::Status status = CheckPatch(request, *body);
  EXPECT_EQ(status.ok(), row.refused.empty()) << row.kind.plural << " " << row.body << ": " << status;
  if (row.refused.empty()) return;
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr(row.refused)) << row.body;
}

TEST(CheckPatchTest, EachServicePatchesWhatItWritesAndNothingElse) {
  const Row rows[] = {
      // These are patches that jobsvc sends.
      {kJob, kube::kJobs, "", kMerge, R"({"metadata":{"annotations":{"volcano.sh/job-forwarding":"true"}}})"},
      {kJob, kube::kJobs, "status", kMerge,
       R"({"status":{"state":{"phase":"Running"},"controlledResources":{"a":null}}})"},
      {kJob, kube::kPods, "", kMerge, R"({"metadata":{"annotations":{"volcano.sh/controller-out-of-sync":"true"}}})"},
      {kJob, kube::kEvents, "", kMerge, R"({"count":2,"lastTimestamp":"2026-01-02T15:04:05Z"})"},
      {kJob, kube::kConfigMaps, "", kMerge, R"({"data":{"t.host":"a"}})"},
      {kJob, kube::kSecrets, "", kMerge, R"({"data":{"config":"YQ=="}})"},
      {kJob, kube::kJobs, "", kJson,
       R"([{"op":"test","path":"/metadata/generation","value":3},{"op":"add","path":"/spec/tasks/12/replicas","value":4},)"
       R"({"op":"add","path":"/spec/tasks/0/minAvailable","value":1},{"op":"add","path":"/spec/minAvailable","value":1}])"},
      // These are patches that pgsvc sends.
      {kGroup, kube::kPodGroups, "", kMerge,
       R"({"metadata":{"annotations":{"a":null},"labels":{"b":"c"},"ownerReferences":[]},"spec":{"minMember":2}})"},
      {kGroup, kube::kKaiPodGroups, "", kMerge, R"({"spec":{"subGroups":[],"queue":"q","minMember":1}})"},
      {kGroup, kube::kPods, "", kMerge,
       R"({"metadata":{"annotations":{"pod-group-name":"g"},"labels":{"kai.scheduler/subgroup-name":null}}})"},
      {kGroup, kube::kPods, "", kMerge, R"({"metadata":{"annotations":{"scheduling.k8s.io/group-name":"g"}}})"},
      {kGroup, kube::kEvents, "", kMerge, R"({"count":2})"},
      // These are patches that queuesvc sends.
      {kQueue, kube::kQueues, "", kMerge, R"({"spec":{"parent":"root"}})"},
      {kQueue, kube::kQueues, "", kMerge, R"({"metadata":{"annotations":{"volcano.sh/closed-by-parent":"true"}}})"},
      {kQueue, kube::kQueues, "status", kApply,
       R"({"apiVersion":"a","kind":"Queue","metadata":{"name":"n"},"status":{"state":"Open","running":1}})"},
      {kQueue, kube::kEvents, "", kMerge, R"({"count":2})"},
      // The gateway itself patches this.
      {v1::SERVICE_KIND_UNSPECIFIED, kube::kConfigMaps, "", kMerge, R"({"data":{}})"},
      // These rows name other parts of the same objects.
      {kJob, kube::kPods, "", kMerge, R"({"spec":{"containers":[]}})",
       "patch.body: spec of pods 'n' is not to be patched"},
      {kJob, kube::kPods, "", kMerge, R"({"metadata":{"annotations":{"scheduling.k8s.io/group-name":"g"}}})",
       "metadata.annotations.scheduling.k8s.io/group-name of pods"},
      {kJob, kube::kPods, "", kMerge, R"({"metadata":{"ownerReferences":[]}})", "metadata.ownerReferences"},
      {kJob, kube::kPods, "", kMerge, R"({"metadata":{"annotations":null}})",
       "metadata.annotations of pods 'n' is not an object"},
      {kJob, kube::kPods, "", kMerge, R"({"metadata":null})", "metadata of pods 'n' is not an object"},
      {kJob, kube::kPods, "", kMerge, R"({"metadata.annotations":{"volcano.sh/controller-out-of-sync":"true"}})",
       "metadata.annotations of pods 'n' is not to be patched"},
      {kGroup, kube::kPods, "", kMerge, R"({"metadata":{"annotations":{"pod-group-name":"g","x":"y"}}})",
       "annotations.x"},
      {kGroup, kube::kPods, "", kMerge, R"({"metadata":{"labels":{"app":"x"}}})", "metadata.labels.app"},
      {kGroup, kube::kPods, "", kMerge, R"({"metadata":{"finalizers":[]}})", "metadata.finalizers"},
      {kGroup, kube::kPodGroups, "", kMerge, R"({"metadata":{"finalizers":[]}})", "metadata.finalizers"},
      {kGroup, kube::kPodGroups, "", kMerge, R"({"status":{"phase":"Running"}})", "status of podgroups"},
      {kJob, kube::kSecrets, "", kMerge, R"({"data":{"config":"YQ==","id_rsa":"YQ=="}})",
       "data.id_rsa of secrets 'n' is not to be patched; SERVICE_KIND_JOB may patch data.config"},
      {kJob, kube::kSecrets, "", kMerge, R"({"data":null})", "data of secrets 'n' is not an object"},
      {kJob, kube::kSecrets, "", kMerge, R"({"stringData":{"config":"a"}})", "stringData"},
      {kJob, kube::kConfigMaps, "", kMerge, R"({"immutable":true})", "immutable"},
      {kJob, kube::kEvents, "", kMerge, R"({"message":"m"})", "message of events"},
      {kJob, kube::kJobs, "", kMerge, R"({"spec":{"minAvailable":1}})", "spec of jobs"},
      {kJob, kube::kJobs, "status", kMerge, R"({"metadata":{"labels":{}}})", "metadata of jobs"},
      {kQueue, kube::kQueues, "", kMerge, R"({"spec":{"parent":"root","weight":7}})", "spec.weight"},
      {kQueue, kube::kQueues, "status", kApply, R"({"status":{"allocated":{}}})", "status.allocated"},
      // These operations reveal or move other parts.
      {kJob, kube::kJobs, "", kJson, R"([{"op":"copy","from":"/spec","path":"/metadata/annotations/x"}])", "'copy' of"},
      {kJob, kube::kJobs, "", kJson, R"([{"op":"test","path":"/spec/queue","value":"q"}])", "'test' of /spec/queue"},
      {kJob, kube::kJobs, "", kJson, R"([{"op":"add","path":"/spec/tasks/0/replicas","value":{"a":1}}])",
       "as a number"},
      {kJob, kube::kJobs, "", kJson, R"([{"op":"add","path":"/spec.tasks.*/replicas","value":1}])",
       "is not to be done"},
      {kJob, kube::kJobs, "", kJson, R"([{"op":"add","path":"/spec/tasks/-/replicas","value":1}])",
       "is not to be done"},
      {kJob, kube::kJobs, "", kJson, R"([{"op":"add","path":"xspec/minAvailable","value":1}])", "is not to be done"},
      {kJob, kube::kJobs, "", kJson, R"([7])", "is not to be done"},
      // These rows have other types of patches, or other kinds of objects.
      {kJob, kube::kSecrets, "", kJson, "[]", "patch.type: SERVICE_KIND_JOB does not patch secrets by TYPE_JSON"},
      {kJob, kube::kPods, "", v1::Patch::TYPE_STRATEGIC, "{}", "does not patch pods by TYPE_STRATEGIC"},
      {kJob, kube::kPods, "status", kMerge, "{}", "does not patch pods/status"},
      {kJob, kube::kServices, "", kMerge, "{}", "does not patch services"},
      {kJob, kube::kNetworkPolicies, "", kMerge, "{}", "does not patch networkpolicies"},
      {kGroup, kube::kPods, "", kJson, "[]", "does not patch pods by TYPE_JSON"},
      {kQueue, kube::kQueues, "status", kMerge, "{}", "does not patch queues/status by TYPE_MERGE"},
  };
  for (const Row& row : rows) Expect(row);
}

}  // namespace
}  // namespace basalt::gateway
