#include "kubesim/actors/cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubesim/actors/testing.h"

namespace basalt::actors {
namespace {

constexpr char kGroups[] = "podgroups.scheduling.volcano.sh";
constexpr char kQueues[] = "queues.scheduling.volcano.sh";

class ClusterTest : public ClusterFixture {
 protected:
  void Start(ClusterOptions options = {}) {
    StartCluster(std::move(options));
    ASSERT_TRUE(Until([&] { return Get(kQueues, "", "default") != nullptr; }));
    OpenQueue("default");
    time_.Advance(absl::Seconds(1));
  }

  void Do(std::string method, std::string target, const json::value& body, std::string_view type = kJsonType) {
    ClusterFixture::Do(std::move(method), std::move(target), ToText(body), type);
  }

  void OpenQueue(const std::string& name, const char* state = "Open") {
    Do("PATCH", fmt::format("/apis/scheduling.volcano.sh/v1beta1/queues/{}/status", name),
       json::object{{"status", json::object{{"state", state}}}}, kMergePatchType);
  }

  void MakeGroup(const std::string& name, int min_member, json::object more = {}) {
    json::object spec{{"minMember", min_member}, {"queue", "default"}};
    for (const auto& entry : more) spec[entry.key()] = entry.value();
    Do("POST", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups",
       json::object{{"apiVersion", "scheduling.volcano.sh/v1beta1"},
                    {"kind", "PodGroup"},
                    {"metadata", json::object{{"name", name}, {"namespace", "default"}}},
                    {"spec", spec}});
  }

  void MakePod(const std::string& name, const std::string& group, std::string_view script, const char* cpu = "1",
               const char* restart = "Never", const char* scheduler = "volcano") {
    json::object annotations;
    if (!group.empty()) annotations["scheduling.k8s.io/group-name"] = group;
    annotations["volcano.sh/task-spec"] = name.substr(0, name.find('-'));
    Do("POST", "/api/v1/namespaces/default/pods",
       json::object{
           {"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata", json::object{{"name", name}, {"namespace", "default"}, {"annotations", annotations}}},
           {"spec", json::object{
                        {"restartPolicy", restart},
                        {"schedulerName", scheduler},
                        {"containers", json::array{json::object{
                                           {"name", "c"},
                                           {"image", "busybox"},
                                           {"command", json::array{"sh", "-c", json::string(script)}},
                                           {"resources", json::object{{"requests", json::object{{"cpu", cpu}}}}}}}}}}});
  }

  std::shared_ptr<const json::value> Get(std::string_view resource, std::string_view space, std::string_view name) {
    return server_->Get(resource, space, name);
  }
  std::string PodPhase(const std::string& name) {
    const auto pod = Get("pods", "default", name);
    if (pod == nullptr) return "gone";
    const json::value* phase = FindPath(*pod, {"status", "phase"});
    return phase == nullptr ? "none" : std::string(phase->as_string());
  }
  json::value GroupStatus(const std::string& name) {
    const auto group = Get(kGroups, "default", name);
    const json::value* status = group == nullptr ? nullptr : Find(*group, "status");
    return status == nullptr ? json::value(json::object()) : *status;
  }
  std::string GroupPhase(const std::string& name) { return std::string(FindString(GroupStatus(name), "phase")); }
  std::string LastMessage(const std::string& name) { return MemberOfCondition(name, "message"); }
  std::string LastReason(const std::string& name) { return MemberOfCondition(name, "reason"); }
  std::string MemberOfCondition(const std::string& name, std::string_view member) {
    const json::value status = GroupStatus(name);
    const json::value* conditions = Find(status, "conditions");
    return conditions == nullptr ? "" : std::string(FindString(conditions->get_array()[0], member));
  }
  int CountLogged(std::string_view verb, std::string_view resource, std::string_view subresource = "") {
    int n = 0;
    for (const auto& entry : server_->log()) {
      n += entry.verb == verb && entry.resource == resource && entry.subresource == subresource && entry.status < 300 &&
           !entry.dropped_request;
    }
    return n;
  }
};

TEST_F(ClusterTest, RegistersNodesAndQueues) {
  Start();
  const auto node = Get("nodes", "", "node-3");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(FindPath(*node, {"status", "allocatable", "cpu"})->as_string(), "64");
  const auto root = Get(kQueues, "", "root");
  ASSERT_NE(root, nullptr);
  EXPECT_FALSE(FindPath(*root, {"spec", "reclaimable"})->as_bool());
}

TEST_F(ClusterTest, AGangRunsFromPendingToCompleted) {
  Start();
  MakeGroup("g", 2, {{"minResources", json::object{{"cpu", "2"}}}});
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Inqueue"; }));
  MakePod("a-0", "g", "sleep 5");
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(PodPhase("a-0"), "Pending");  // One pod alone is not bound.
  EXPECT_EQ(GroupPhase("g"), "Inqueue");
  MakePod("a-1", "g", "sleep 7; exit 3");
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Running"; }));
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "Succeeded" && PodPhase("a-1") == "Failed"; }));
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Completed"; }));
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(FindInt(GroupStatus("g"), "succeeded"), 1);
  EXPECT_EQ(FindInt(GroupStatus("g"), "failed"), 1);
  EXPECT_EQ(FindInt(GroupStatus("g"), "running"), 0);
  EXPECT_TRUE(cluster_->scheduler()->idle());
  EXPECT_TRUE(cluster_->nodes()->idle());
}

TEST_F(ClusterTest, AGangThatDoesNotFitWaitsWholeUntilRoomIsFreed) {
  ClusterOptions options;
  options.nodes.nodes = 1;
  options.nodes.cpu = "3";
  Start(std::move(options));
  MakeGroup("first", 2);
  MakePod("a-0", "first", "sleep 60");
  MakePod("a-1", "first", "sleep 60");
  ASSERT_TRUE(Until([&] { return GroupPhase("first") == "Running"; }));
  MakeGroup("second", 2);
  MakePod("b-0", "second", "sleep 1");
  MakePod("b-1", "second", "sleep 1");
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(GroupPhase("second"), "Inqueue");
  EXPECT_EQ(PodPhase("b-0"), "Pending");
  EXPECT_EQ(
      LastMessage("second"),
      "1/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; Pending: 1 Schedulable, "
      "1 Unschedulable. Origin reason is b-1: 0/1 nodes are unavailable: 1 Insufficient cpu.");
  EXPECT_EQ(LastReason("second"), "NotEnoughResources");
  const int binds = CountLogged("create", "pods", "binding");
  EXPECT_EQ(binds, 2);
  ASSERT_TRUE(Until([&] { return GroupPhase("second") == "Completed"; }));
}

TEST_F(ClusterTest, TheTasksAGangNeedsComeBeforeThoseThatItCanSpare) {
  ClusterOptions options;
  options.nodes.nodes = 1;
  options.nodes.cpu = "3";
  Start(std::move(options));
  MakeGroup("g", 3, {{"minTaskMember", json::object{{"master", 1}, {"worker", 2}}}});
  for (int i = 0; i < 5; ++i) MakePod(fmt::format("worker-{}", i), "g", "sleep 600");
  MakePod("master-0", "g", "sleep 600");
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Running"; }));
  EXPECT_EQ(PodPhase("master-0"), "Running");
  EXPECT_EQ(PodPhase("worker-1"), "Running");
  EXPECT_EQ(PodPhase("worker-2"), "Pending");
}

TEST_F(ClusterTest, AGangThatLacksOneTaskBindsNothingAndCountsThatTask) {
  ClusterOptions options;
  options.nodes.nodes = 1;
  options.nodes.cpu = "6";
  Start(std::move(options));
  MakeGroup("g", 3, {{"minTaskMember", json::object{{"master", 1}, {"worker", 2}}}});
  for (int i = 0; i < 5; ++i) MakePod(fmt::format("worker-{}", i), "g", "sleep 600");
  MakePod("master-0", "g", "sleep 600", "7");
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(CountLogged("create", "pods", "binding"), 0);
  EXPECT_EQ(LastMessage("g"),
            "1/6 tasks in gang unschedulable: pod group is not ready, 3 minAvailable, 6 Pending; Pending: "
            "1 Unschedulable, 2 Schedulable, 3 Undetermined. Origin reason is master-0: 0/1 nodes are unavailable: "
            "1 Insufficient cpu.");
  MakeGroup("other", 6);
  for (int i = 0; i < 6; ++i) MakePod(fmt::format("other-{}", i), "other", "sleep 1");
  ASSERT_TRUE(Until([&] { return GroupPhase("other") == "Completed"; }));
  EXPECT_EQ(PodPhase("worker-0"), "Pending");
}

TEST_F(ClusterTest, AQueuesCapabilityAndStateHoldGroupsBack) {
  Start();
  Do("PATCH", "/apis/scheduling.volcano.sh/v1beta1/queues/default",
     json::object{{"spec", json::object{{"capability", json::object{{"cpu", "2"}}}}}}, kMergePatchType);
  MakeGroup("large", 3, {{"minResources", json::object{{"cpu", "3"}}}});
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(GroupPhase("large"), "Pending");
  MakeGroup(
      "fits", 1,
      {{"minResources", json::object{{"cpu", "1"}, {"requests.cpu", "1"}, {"limits.cpu", "9"}, {"count/pods", 1}}}});
  ASSERT_TRUE(Until([&] { return GroupPhase("fits") == "Inqueue"; }));
  OpenQueue("default", "Closed");
  MakePod("a-0", "fits", "true");
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(PodPhase("a-0"), "Pending");
  OpenQueue("default", "Open");
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "Succeeded"; }));
  MakeGroup("stray", 1, {{"queue", "unknown"}});
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(GroupPhase("stray"), "");  // The group has no status.
}

// A group that was let in while the queue was open stays in, but its pods wait like those of a group that is not let
// in.
TEST_F(ClusterTest, AQueueThatIsNotOpenNeitherLetsGroupsInNorPlacesTheirPods) {
  Start();
  const json::object minimum{{"minResources", json::object{{"cpu", "1"}}}};
  int round = 0;
  for (const char* state : {"Closing", "Closed", "Unknown"}) {
    SCOPED_TRACE(state);
    const std::string before = fmt::format("before-{}", ++round);
    const std::string after = fmt::format("after-{}", round);
    MakeGroup(before, 1, minimum);
    ASSERT_TRUE(Until([&] { return GroupPhase(before) == "Inqueue"; }));
    OpenQueue("default", state);
    MakeGroup(after, 1, minimum);
    MakePod(before + "-0", before, "true");
    MakePod(after + "-0", after, "true");
    time_.Advance(absl::Seconds(5));
    EXPECT_EQ(GroupPhase(before), "Inqueue");
    EXPECT_EQ(GroupPhase(after), "Pending");
    for (const std::string& group : {before, after}) {
      EXPECT_EQ(PodPhase(group + "-0"), "Pending");
      EXPECT_THAT(LastMessage(group), ::testing::HasSubstr(fmt::format("its state is <{}>", state)));
    }
    OpenQueue("default", "Open");
    for (const std::string& group : {before, after}) {
      EXPECT_TRUE(Until([&] { return PodPhase(group + "-0") == "Succeeded"; })) << group << ": " << GroupPhase(group);
    }
  }
}

TEST_F(ClusterTest, TaskMinimumsHoldBackAGangThatHasEnoughPodsOfTheWrongTask) {
  Start();
  MakeGroup("g", 2, {{"minTaskMember", json::object{{"master", 1}, {"worker", 1}}}});
  MakePod("worker-0", "g", "sleep 5");
  MakePod("worker-1", "g", "sleep 5");
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(PodPhase("worker-0"), "Pending");
  MakePod("master-0", "g", "sleep 5");
  ASSERT_TRUE(Until([&] { return PodPhase("worker-1") == "Running" && PodPhase("master-0") == "Running"; }));
}

TEST_F(ClusterTest, GracefulDeletionStopsAPodAndFreesItsName) {
  Start();
  MakeGroup("g", 1);
  MakePod("a-0", "g", "sleep 600");
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Running"; }));
  Do("DELETE", "/api/v1/namespaces/default/pods/a-0", json::object());
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "gone"; }));
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Pending"; }));
}

TEST_F(ClusterTest, EvictionEndsAPod) {
  Start();
  MakeGroup("g", 1);
  MakePod("a-0", "g", "sleep 600");
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "Running"; }));
  cluster_->scheduler()->Evict("default", "a-0");
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "gone"; }));
}

TEST_F(ClusterTest, ALostNodeReportsNothingUntilItIsRestored) {
  ClusterOptions options;
  options.nodes.nodes = 1;
  Start(std::move(options));
  MakeGroup("g", 1);
  MakePod("a-0", "g", "sleep 5");
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "Running"; }));
  cluster_->nodes()->LoseNode("node-0");
  MakeGroup("h", 1);
  MakePod("b-0", "h", "true");
  time_.Advance(absl::Seconds(30));
  EXPECT_EQ(PodPhase("a-0"), "Running");
  EXPECT_EQ(PodPhase("b-0"), "Pending");
  cluster_->nodes()->RestoreNode("node-0");
  ASSERT_TRUE(Until([&] { return PodPhase("a-0") == "Succeeded" && PodPhase("b-0") == "Succeeded"; }));
}

TEST_F(ClusterTest, PlainPodsAreBoundWhereNobodyElseSchedulesThem) {
  ClusterOptions options;
  options.scheduler.plain_scheduler_names = {"default-scheduler"};
  Start(std::move(options));
  MakePod("web", "", "sleep 1", "1", "Never", "default-scheduler");
  MakePod("ungrouped", "", "sleep 1");
  ASSERT_TRUE(Until([&] { return PodPhase("web") == "Succeeded"; }));
  EXPECT_EQ(PodPhase("ungrouped"), "Pending");
}

TEST_F(ClusterTest, ABadServerDelaysButChangesNothing) {
  Start();
  using enum kubesim::FaultAction;
  const kubesim::FaultRule rules[] = {
      {.verb = "patch", .resource = "pods/status", .code = 429, .retry_after_seconds = 1, .count = 3},
      {.verb = "patch", .resource = "pods/status", .action = kDropAnswer, .count = 3},
      {.verb = "create", .resource = "pods/binding", .action = kDropAnswer, .count = 2},
      {.verb = "create", .resource = "pods/binding", .action = kDropRequest, .count = 2},
      {.verb = "update", .resource = "podgroups", .code = 409, .count = 4},
      {.verb = "update", .resource = "podgroups", .code = 500, .count = 2}};
  for (const kubesim::FaultRule& rule : rules) server_->faults().Add(rule);
  MakeGroup("g", 6);
  for (int i = 0; i < 6; ++i) {
    MakePod(fmt::format("a-{}", i), "g", "sleep 20");
    if (i == 2) server_->DropWatches();
    if (i == 4) server_->ForgetHistory();
  }
  server_->Restart();
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Completed"; }));
  time_.Advance(absl::Seconds(30));
  EXPECT_EQ(FindInt(GroupStatus("g"), "succeeded"), 6);
  EXPECT_EQ(CountLogged("create", "pods", "binding"), 6);
}

TEST_F(ClusterTest, ALargeGangIsBoundWithOneBindingAPodAndFewGroupWrites) {
  ClusterOptions options;
  options.nodes.nodes = 100;
  Start(std::move(options));
  MakeGroup("g", 2000);
  for (int i = 0; i < 2000; ++i) MakePod(fmt::format("a-{}", i), "g", "sleep 30", "100m");
  ASSERT_TRUE(Until([&] { return GroupPhase("g") == "Running" && FindInt(GroupStatus("g"), "running") == 2000; }));
  ASSERT_TRUE(Until([&] { return FindInt(GroupStatus("g"), "succeeded") == 2000; }));
  EXPECT_EQ(CountLogged("create", "pods", "binding"), 2000);
  EXPECT_LE(CountLogged("update", "podgroups"), 40);
  EXPECT_LE(CountLogged("patch", "pods", "status"), 4000);
}

}  // namespace
}  // namespace basalt::actors
