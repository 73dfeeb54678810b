#include "common/kube/requests.h"

#include <gtest/gtest.h>

#include <string>

#include "common/kube/names.h"

namespace basalt::kube {
namespace {

TEST(RequestsTest, ARequestSaysWhichObjectItIsAbout) {
  const gateway::v1::WriteRequest write = WriteOf(kPodGroups, "default", "train");
  EXPECT_EQ(write.resource().group(), "scheduling.volcano.sh");
  EXPECT_EQ(write.resource().version(), "v1beta1");
  EXPECT_EQ(write.resource().plural(), "podgroups");
  EXPECT_EQ(write.namespace_(), "default");
  EXPECT_EQ(write.name(), "train");
  EXPECT_EQ(write.operation_case(), gateway::v1::WriteRequest::OPERATION_NOT_SET);
  const gateway::v1::GetRequest get = GetOf(kQueues, "", "root");
  EXPECT_EQ(get.resource().plural(), "queues");
  EXPECT_EQ(get.namespace_(), "");
  EXPECT_EQ(get.name(), "root");
}

TEST(RequestsTest, AnAnnotationIsSetOnTheObjectOfThatUid) {
  gateway::v1::WriteRequest request = WriteOf(kPods, "default", "train-0");
  SetAnnotation("example.com/mark", "uid-1", request);
  EXPECT_EQ(request.patch().type(), gateway::v1::Patch::TYPE_MERGE);
  EXPECT_EQ(request.patch().body(), R"({"metadata":{"annotations":{"example.com/mark":"true"}}})");
  EXPECT_EQ(request.patch().uid(), "uid-1");
  EXPECT_EQ(request.patch().field_manager(), kFieldManager);
}

TEST(KindsTest, AWorkloadIsKnownByGroupVersionAndKind) {
  for (const Kind& kind : kWorkloadKinds) {
    const std::string api_version = std::string(kind.group) + "/" + std::string(kind.version);
    EXPECT_EQ(FindWorkloadKind(api_version, kind.name), &kind);
    EXPECT_EQ(FindWorkloadKind(api_version, "Deployment"), nullptr);
    EXPECT_EQ(FindWorkloadKind(api_version + "beta1", kind.name), nullptr);
    EXPECT_EQ(FindWorkloadKind("batch.volcano.sh/v1alpha1", kind.name), nullptr);
    EXPECT_EQ(FindWorkloadKind("v1", kind.name), nullptr);
    EXPECT_EQ(FindWorkloadKind("", kind.name), nullptr);
  }
}

// The gateway's ids of watches and the API versions in bodies agree with the table of kinds.
TEST(KindsTest, NamesOnTheWireAgreeWithTheKinds) {
  const auto watch_of = [](const Kind& kind) { return std::string(kind.plural) + "." + std::string(kind.group); };
  EXPECT_EQ(watch_of(kJobs), kWatchJobs);
  EXPECT_EQ(watch_of(kCommands), kWatchCommands);
  EXPECT_EQ(watch_of(kPodGroups), kWatchPodGroups);
  EXPECT_EQ(watch_of(kQueues), kWatchQueues);
  EXPECT_EQ(watch_of(kPriorityClasses), kWatchPriorityClasses);
  const auto api_version_of = [](const Kind& kind) {
    return std::string(kind.group) + "/" + std::string(kind.version);
  };
  EXPECT_EQ(api_version_of(kJobs), kJobApiVersion);
  EXPECT_EQ(api_version_of(kCommands), kCommandApiVersion);
  EXPECT_EQ(api_version_of(kPodGroups), kSchedulingApiVersion);
  EXPECT_EQ(api_version_of(kQueues), kSchedulingApiVersion);
}

}  // namespace
}  // namespace basalt::kube
