#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kApi = "leaderworkerset.x-k8s.io/v1";

// Returns labels of a pod of the first replica, without an index if `index` is empty. `more` are further lines of its
// metadata, and then its members.
std::string Index(std::string_view index, std::string_view more = "") {
  return fmt::format("  labels: {{leaderworkerset.sigs.k8s.io/group-index: \"0\"{}}}\n{}",
                     index.empty() ? "" : fmt::format(", leaderworkerset.sigs.k8s.io/worker-index: \"{}\"", index),
                     more);
}
std::string OwnSize(std::string_view size) {
  return fmt::format("  annotations: {{leaderworkerset.sigs.k8s.io/size: \"{}\"}}\n", size);
}
Objects SetOf(std::string_view spec, std::string_view pod, std::string_view metadata = "") {
  return Objects(PodOf("p", "apps/v1", "StatefulSet", "s", pod) +
                 ObjectOf("apps/v1", "StatefulSet", "s", OwnedBy(kApi, "LeaderWorkerSet", "l")) +
                 ObjectOf(kApi, "LeaderWorkerSet", "l", fmt::format("{}spec: {}\n", metadata, spec)));
}
// There are no segments if `segment` is 0. `policy` is the type of the subgroup policy.
std::string Spec(int size, int segment, std::string_view policy = "", std::string_view startup = "") {
  std::string sub_groups;
  if (segment != 0) {
    sub_groups = fmt::format(", subGroupPolicy: {{subGroupSize: {}{}}}", segment,
                             policy.empty() ? "" : fmt::format(", subGroupPolicyType: {}", policy));
  }
  return fmt::format("{{{}leaderWorkerTemplate: {{size: {}{}}}}}",
                     startup.empty() ? "" : fmt::format("startupPolicy: {}, ", startup), size, sub_groups);
}
std::string Text(std::string_view spec, std::string_view pod) { return SetOf(spec, pod).Text(); }

TEST(LeaderWorkerSetTest, EachReplicaIsAGroupOfLeaderAndWorkers) {
  struct Case {
    const char* what;
    std::string spec;
    std::string pod;
    const char* expected;
  };
  const std::string other = "  labels: {leaderworkerset.sigs.k8s.io/group-index: \"7\"}\n";
  const std::string odd = "  labels: {leaderworkerset.sigs.k8s.io/group-index: x}\n";
  const Case cases[] = {
      {"the leader", Spec(3, 0), Index("0"), "pg-l-leaderworkerset-l-group-0 3: leader{1} workers{2}; in leader"},
      {"a worker", Spec(3, 0), Index("2"), "pg-l-leaderworkerset-l-group-0 3: leader{1} workers{2}; in workers"},
      {"a pod without an index", Spec(3, 0), other,
       "pg-l-leaderworkerset-l-group-7 3: leader{1} workers{2}; in workers"},
      {"a group index that is none", Spec(3, 0), odd, "pg-l-leaderworkerset-l 3: leader{1} workers{2}; in workers"},
      {"a pod without labels", Spec(3, 0), "", "pg-l-leaderworkerset-l 3: leader{1} workers{2}; in workers"},
      {"a leader alone", Spec(1, 0), Index("0"), "pg-l-leaderworkerset-l-group-0 1: leader{1}; in leader"},
      {"a pod that fits no leaf (G43)", Spec(1, 0), Index(""),
       "pg-l-leaderworkerset-l-group-0 1: leader{1} default{0}"},
      {"a replica of an older size (G44)", Spec(3, 0), Index("4", OwnSize("5")),
       "pg-l-leaderworkerset-l-group-0 5: leader{1} workers{4}; in workers"},
      {"an older size that is no integer", Spec(3, 0), Index("2", OwnSize("x")),
       "pg-l-leaderworkerset-l-group-0 3: leader{1} workers{2}; in workers"},
  };
  for (const Case& test : cases) EXPECT_EQ(Text(test.spec, test.pod), test.expected) << test.what;
  const GroupOwner owner = SetOf(Spec(3, 0), Index("0")).Of().owner;
  EXPECT_EQ(owner, (GroupOwner{std::string(kApi), "LeaderWorkerSet", "l", "leaderworkerset-l"}));
}

TEST(LeaderWorkerSetTest, UntilALeaderThatHasToBeReadyHasANodeItIsAlone) {
  struct Case {
    const char* what;
    std::string spec;
    std::string pod;
    const char* expected;
  };
  const std::string bound = "spec: {nodeName: node-1}\n";
  const Case cases[] = {
      {"the leader", Spec(3, 0, "", "LeaderReady"), Index("0"), "1: leader{1}; in leader"},
      {"the leader with a node", Spec(3, 0, "", "LeaderReady"), Index("0", bound),
       "3: leader{1} workers{2}; in leader"},
      {"a worker", Spec(3, 0, "", "LeaderReady"), Index("1"), "3: leader{1} workers{2}; in workers"},
      {"a worker of another size", Spec(3, 0, "", "LeaderReady"), Index("1", OwnSize("4")),
       "4: leader{1} workers{3}; in workers"},
      {"the other policy", Spec(3, 0, "", "LeaderCreated"), Index("0"), "3: leader{1} workers{2}; in leader"},
      {"with segments (G11)", Spec(5, 2, "", "LeaderReady"), Index("0"),
       "1: segment-0{sub 2} segment-1{0} leader{segment-0, 1} workers{segment-0, 0}; in leader"},
      {"with segments, the leader beside them (G11)", Spec(5, 2, "LeaderExcluded", "LeaderReady"), Index("0"),
       "1: leader{1} segment-0{0} segment-1{0}; in leader"},
      {"with segments and a node", Spec(5, 2, "", "LeaderReady"), Index("0", bound),
       "5: segment-0{sub 2} segment-1{2} leader{segment-0, 1} workers{segment-0, 2}; in leader"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Text(test.spec, test.pod), std::string("pg-l-leaderworkerset-l-group-0 ") + test.expected) << test.what;
  }
}

TEST(LeaderWorkerSetTest, SegmentsFollowThePolicy) {
  struct Case {
    const char* what;
    std::string spec;
    const char* index;
    const char* expected;
  };
  const char* const divisible = "5: segment-0{sub 2} segment-1{2} leader{segment-0, 1} workers{segment-0, 2}; in ";
  const char* const other = "4: segment-0{sub 2} segment-1{2} leader{segment-0, 1} workers{segment-0, 1}; in ";
  const auto in = [](const char* groups, const char* leaf) { return std::string(groups) + leaf; };
  const std::pair<Case, std::string> cases[] = {
      {{"leader", Spec(5, 2), "0", nullptr}, in(divisible, "leader")},
      {{"workers of its segment", Spec(5, 2), "1", nullptr}, in(divisible, "workers")},
      {{"workers of its segment", Spec(5, 2), "2", nullptr}, in(divisible, "workers")},
      {{"the next segment", Spec(5, 2), "3", nullptr}, in(divisible, "segment-1")},
      {{"the next segment", Spec(5, 2, "LeaderWorker"), "4", nullptr}, in(divisible, "segment-1")},
      {{"leader among the segment", Spec(4, 2), "0", nullptr}, in(other, "leader")},
      {{"worker beside it", Spec(4, 2), "1", nullptr}, in(other, "workers")},
      {{"next segment", Spec(4, 2), "2", nullptr}, in(other, "segment-1")},
      {{"a remainder", Spec(6, 4), "5", nullptr},
       "6: segment-0{sub 2} segment-1{2} leader{segment-0, 1} workers{segment-0, 3}; in segment-1"},
      {{"one segment of all", Spec(4, 4), "3", nullptr},
       "4: segment-0{sub 2} leader{segment-0, 1} workers{segment-0, 3}; in workers"},
      {{"one segment beside the leader (G12)", Spec(3, 2), "2", nullptr},
       "3: segment-0{sub 2} leader{segment-0, 1} workers{segment-0, 2}; in workers"},
      {{"excluded leader", Spec(5, 2, "LeaderExcluded"), "0", nullptr},
       "5: leader{1} segment-0{2} segment-1{2}; in leader"},
      {{"worker of the first segment", Spec(5, 2, "LeaderExcluded"), "2", nullptr},
       "5: leader{1} segment-0{2} segment-1{2}; in segment-0"},
      {{"worker of the last segment", Spec(5, 2, "LeaderExcluded"), "4", nullptr},
       "5: leader{1} segment-0{2} segment-1{2}; in segment-1"},
      {{"another policy of one segment", Spec(3, 2, "Odd"), "0", nullptr}, "3: segment-0{3}; in segment-0"},
      {{"another policy of two segments", Spec(5, 2, "Odd"), "0", nullptr},
       "5: segment-0{2} segment-1{2}; in segment-0"},
      {{"excluded leader of one segment (G12)", Spec(3, 2, "LeaderExcluded"), "1", nullptr},
       "3: leader{1} segment-0{2}; in segment-0"},
      {{"another policy", Spec(4, 2, "Other"), "0", nullptr}, "4: segment-0{2} segment-1{2}; in segment-0"},
      {{"another policy", Spec(5, 2, "Other"), "3", nullptr}, "5: segment-0{2} segment-1{2}; in segment-1"},
  };
  for (const auto& [test, expected] : cases) {
    EXPECT_EQ(Text(test.spec, Index(test.index)), "pg-l-leaderworkerset-l-group-0 " + expected)
        << test.what << " " << test.index;
  }
}

TEST(LeaderWorkerSetTest, AnOldReplicaKeepsTheLayoutOfItsSize) {
  const std::string expected =
      "pg-l-leaderworkerset-l-group-0 8: segment-0{sub 2} segment-1{2} segment-2{2} segment-3{2} leader{segment-0, 1} "
      "workers{segment-0, 1}; in segment-3";
  EXPECT_EQ(Text(Spec(4, 2), Index("7", OwnSize("8"))), expected);  // G44
  EXPECT_EQ(Text(Spec(4, 2, "", "LeaderReady"), Index("7", OwnSize("8"))), expected);
  EXPECT_THAT(Text(Spec(4, 2), Index("7")),
              AllOf(HasSubstr("error: Pod default/p"), HasSubstr("leaderworkerset.sigs.k8s.io/worker-index")));
  EXPECT_THAT(Text(Spec(4, 0), Index("4")), HasSubstr("error: Pod default/p"));
}

TEST(LeaderWorkerSetTest, ALayoutThatIsImpossibleIsAnError) {
  struct Case {
    const char* what;
    std::string spec;
    std::string pod;
    const char* expected;  // A part of the error.
  };
  const Case cases[] = {
      {"no size", "{leaderWorkerTemplate: {}}", Index("0"), "spec.leaderWorkerTemplate.size"},
      {"size of 0", Spec(0, 0), Index("0"), "spec.leaderWorkerTemplate.size"},
      {"size that is a text", "{leaderWorkerTemplate: {size: \"3\"}}", Index("0"), "spec.leaderWorkerTemplate.size"},
      {"unknown startup policy", Spec(3, 0, "", "Sometimes"), Index("0"), "spec.startupPolicy"},
      {"negative index", Spec(3, 0), Index("-1"), "worker-index"},
      {"index that is none", Spec(3, 0), Index("x"), "worker-index"},
      {"negative index with segments", Spec(5, 2), Index("-1"), "worker-index"},
      {"index that is none with segments", Spec(5, 2), Index("x"), "worker-index"},
      {"no index with segments", Spec(5, 2), Index(""), "worker-index"},
      {"segments of one", Spec(5, 1), Index("0"), "segments"},
      {"negative segments", Spec(5, -2), Index("0"), "segments"},
      {"segments above the size", Spec(5, 6), Index("0"), "segments"},
      {"the leader excluded, and workers left over", Spec(4, 2, "LeaderExcluded"), Index("0"), "LeaderExcluded"},
      {"too many segments", Spec(20'002, 2), Index("0"), "10000"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(Text(test.spec, test.pod), AllOf(HasSubstr("error: "), HasSubstr(test.expected))) << test.what;
  }
}

TEST(LeaderWorkerSetTest, TenThousandSegmentsAreLaidOut) {
  const Grouping grouping = SetOf(Spec(20'000, 2), Index("19999")).Of();
  EXPECT_EQ(grouping.sub_groups.size(), 10'002U);
  EXPECT_EQ(grouping.minimum, (Minimum{20'000}));
  EXPECT_EQ(grouping.pod_sub_group, "segment-9999");
}

TEST(LeaderWorkerSetTest, TheSizeOfSegmentsMayStandInAnnotations) {
  const std::string of_template =
      "{leaderWorkerTemplate: {size: 5, workerTemplate: {metadata: {annotations: {kai.scheduler/segment-size: "
      "\"4\"}}}}}";
  const std::string of_set = "  annotations: {kai.scheduler/segment-size: \"2\"}\n";
  const std::string two = "5: segment-0{sub 2} segment-1{2} leader{segment-0, 1} workers{segment-0, 2}; in leader";
  const std::string four = "5: segment-0{sub 2} leader{segment-0, 1} workers{segment-0, 4}; in leader";
  EXPECT_EQ(SetOf(Spec(5, 0), Index("0"), of_set).Text(), "pg-l-leaderworkerset-l-group-0 " + two);
  EXPECT_EQ(SetOf(of_template, Index("0")).Text(), "pg-l-leaderworkerset-l-group-0 " + four);
  EXPECT_EQ(SetOf(of_template, Index("0"), of_set).Text(), "pg-l-leaderworkerset-l-group-0 " + two);
  EXPECT_EQ(SetOf(of_template, Index("0"), "  annotations: {kai.scheduler/segment-size: \"\"}\n").Text(),
            "pg-l-leaderworkerset-l-group-0 " + four)
      << "an empty text says nothing (G54)";
  EXPECT_EQ(SetOf(Spec(5, 4), Index("0"), of_set).Text(), "pg-l-leaderworkerset-l-group-0 " + four);
  for (const std::string size : {"x", "1", "0", "6"}) {
    EXPECT_THAT(
        SetOf(Spec(5, 0), Index("0"), fmt::format("  annotations: {{kai.scheduler/segment-size: \"{}\"}}\n", size))
            .Text(),
        HasSubstr("error: LeaderWorkerSet default/l"))
        << size;
  }
}

TEST(LeaderWorkerSetTest, SegmentsHaveATopologyWhereThereIsAWorkerTemplate) {
  const auto spec = [](std::string_view annotations) {
    return fmt::format(
        "{{leaderWorkerTemplate: {{size: 5, subGroupPolicy: {{subGroupSize: 2, subGroupPolicyType: LeaderExcluded}}, "
        "workerTemplate: {{metadata: {{annotations: {{{}}}}}}}}}}}",
        annotations);
  };
  const std::string level = "kai.scheduler/segment-topology-required-placement: rack";
  const std::string of_set = "  annotations: {kai.scheduler/topology: t}\n";
  EXPECT_THAT(SetOf(spec(level), Index("0"), of_set).Text(),
              HasSubstr("leader{1} segment-0{2 @t/rack/} segment-1{2 @t/rack/}"));
  EXPECT_THAT(SetOf(spec(level + ", kai.scheduler/topology: u"), Index("0"), of_set).Text(),
              HasSubstr("leader{1} segment-0{2 @u/rack/} segment-1{2 @u/rack/}"));
  EXPECT_THAT(SetOf(spec(level), Index("0")).Text(), HasSubstr("leader{1} segment-0{2} segment-1{2}"));
  EXPECT_THAT(SetOf(Spec(5, 2, "LeaderExcluded"), Index("0", "  annotations: {" + level + "}\n"), of_set).Text(),
              HasSubstr("leader{1} segment-0{2} segment-1{2}"));
}

}  // namespace
}  // namespace basalt::pgsvc::testing
