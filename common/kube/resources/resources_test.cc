#include "common/kube/resources/resources.h"

#include <gtest/gtest.h>

namespace basalt::kube {
namespace {

using Texts = std::map<std::string, std::string>;

Texts ToTexts(const ResourceMap& map) {
  Texts texts;
  for (const auto& [name, value] : map) texts[name] = value.Text();
  return texts;
}

struct Case {
  std::string name;
  std::string spec;
  Texts usage;  // Does not contain the two counts.
  RequestDefaults defaults = RequestDefaults::kAsStored;
};

class PodQuotaUsageTest : public testing::TestWithParam<Case> {};

TEST_P(PodQuotaUsageTest, FollowsTheTable) {
  const auto usage = PodQuotaUsage(json::parse(GetParam().spec), GetParam().defaults);
  ASSERT_TRUE(usage.ok()) << usage.status();
  Texts wanted = GetParam().usage;
  wanted["pods"] = "1";
  wanted["count/pods"] = "1";
  EXPECT_EQ(ToTexts(*usage), wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PodQuotaUsageTest,
    testing::Values(
        Case{"BestEffort", R"({"containers":[{"name":"c"}]})", {}},
        Case{"NullsAreAbsent",
             R"({"containers":[{"resources":null},{"resources":{"requests":null}}],"initContainers":null})",
             {}},
        // The following cases are those of job spec, appendix B.
        Case{"TwoContainers",
             R"({"containers":[
                 {"resources":{"requests":{"cpu":"1","memory":"1000Mi","nvidia.com/gpu":"1","hugepages-test":"2000"},
                               "limits":{"cpu":"1","memory":"1000Mi","nvidia.com/gpu":"1","hugepages-test":"2000"}}},
                 {"resources":{"requests":{"cpu":1,"memory":"1000Mi","nvidia.com/gpu":1,"hugepages-test":2000},
                               "limits":{"cpu":1,"memory":"1000Mi","nvidia.com/gpu":1,"hugepages-test":2000}}}]})",
             {{"cpu", "2"},
              {"requests.cpu", "2"},
              {"limits.cpu", "2"},
              {"memory", "2000Mi"},
              {"requests.memory", "2000Mi"},
              {"limits.memory", "2000Mi"},
              {"nvidia.com/gpu", "2"},
              {"requests.nvidia.com/gpu", "2"},
              {"hugepages-test", "4k"},
              {"requests.hugepages-test", "4k"}}},
        Case{"InitContainersPeak",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
                 "initContainers":[{"resources":{"requests":{"cpu":"3"}}},{"resources":{"requests":{"cpu":"2","memory":"1Gi"}}}]})",
             {{"cpu", "3"}, {"requests.cpu", "3"}, {"memory", "1Gi"}, {"requests.memory", "1Gi"}}},
        // The sidecar counts with the containers, and with every init container after the sidecar.
        Case{"SidecarsCountTwice",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
                 "initContainers":[{"resources":{"requests":{"cpu":"3"}}},
                   {"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}},
                   {"resources":{"requests":{"cpu":"1500m"}}}]})",
             {{"cpu", "3500m"}, {"requests.cpu", "3500m"}}},
        Case{
            "PodLevelReplaces",
            R"({"containers":[{"resources":{"requests":{"cpu":"1","ephemeral-storage":"1Gi"},"limits":{"memory":"1Gi"}}}],
                 "resources":{"requests":{"cpu":"5","ephemeral-storage":"9Gi"},"limits":{"memory":"2Gi"}}})",
            {{"cpu", "5"},
             {"requests.cpu", "5"},
             {"ephemeral-storage", "1Gi"},
             {"requests.ephemeral-storage", "1Gi"},
             {"limits.memory", "2Gi"}}},
        Case{"OverheadRaisesLimitsOnlyWhereThereAreAny",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}],
                 "overhead":{"cpu":"100m","memory":"64Mi"}})",
             {{"cpu", "1100m"},
              {"requests.cpu", "1100m"},
              {"limits.cpu", "2100m"},
              {"memory", "64Mi"},
              {"requests.memory", "64Mi"}}},
        Case{
            "OtherNamesAreDropped",
            R"({"containers":[{"resources":{"requests":{"storage":"1Gi","attachable-volumes-x":"1","foo.kubernetes.io/x":"1",
                 "requests.a.b/c":"1","deviceclass.resource.kubernetes.io/gpu":"2"}}}]})",
            {{"requests.deviceclass.resource.kubernetes.io/gpu", "2"}}},
        Case{"LimitsImplyNothingOnAStoredPod",
             R"({"containers":[{"resources":{"limits":{"cpu":"2"}}}]})",
             {{"limits.cpu", "2"}}},
        Case{"LimitsImplyRequestsInATemplate",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2","nvidia.com/gpu":"1"}}}]})",
             {{"cpu", "1"},
              {"requests.cpu", "1"},
              {"limits.cpu", "2"},
              {"nvidia.com/gpu", "1"},
              {"requests.nvidia.com/gpu", "1"}},
             RequestDefaults::kLimitsAsRequests}),
    [](const auto& row) { return row.param.name; });

TEST(PodQuotaUsageTest, ABadQuantityIsNamed) {
  const auto usage = PodQuotaUsage(json::parse(R"({"containers":[{},{"resources":{"limits":{"memory":"1Qi"}}}]})"),
                                   RequestDefaults::kAsStored);
  ASSERT_EQ(usage.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(usage.status().message()).find("containers[1].resources.limits.memory"), std::string::npos)
      << usage.status();
}

// This is the worked example of podgroup spec 6.4.
TEST(PodQuotaUsageTest, SumsEntryByEntry) {
  const auto usage = PodQuotaUsage(
      json::parse(R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"2Gi","nvidia.com/gpu":"1"},
                      "limits":{"cpu":"2","nvidia.com/gpu":"1"}}}]})"),
      RequestDefaults::kAsStored);
  ASSERT_TRUE(usage.ok());
  ResourceMap sum;
  AddTo(sum, *usage, 2);
  EXPECT_EQ(ToTexts(sum), (Texts{{"count/pods", "2"},
                                 {"pods", "2"},
                                 {"cpu", "2"},
                                 {"requests.cpu", "2"},
                                 {"limits.cpu", "4"},
                                 {"memory", "4Gi"},
                                 {"requests.memory", "4Gi"},
                                 {"requests.nvidia.com/gpu", "2"},
                                 {"nvidia.com/gpu", "2"}}));
}

}  // namespace
}  // namespace basalt::kube
