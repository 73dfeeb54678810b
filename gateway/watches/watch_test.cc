#include "gateway/watches/watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "gateway/kube/fake_kube_access.h"
#include "gateway/kube/testing.h"

namespace basalt::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class WatchTest : public ::testing::Test, public CacheListener {
 protected:
  void OnState(ObjectId) override { ++states; }
  void OnDeparture(ObjectId, const Departure&) override { ++departures; }
  void OnHeldBack(ObjectId) override {}
  void OnWatch(WatchIndex) override {}
  // Returns the target of the watch; index 0 is the API server's.
  obs::Health::Target Target() const { return health.Targets().at(1); }
  obs::Health::Target Server() const { return health.Targets().at(0); }
  // Starts the watch and gives this answer to its first list.
  void StartWith(int status, std::string_view body) {
    watch.Start();
    time.RunDueTasks();
    client.last().Answer(status, body);
    time.RunDueTasks();
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  ScriptedClient client;
  SeededRandom random{1};
  ApiClock clock{loop};
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  obs::Health health{&time};
  Cache cache{{"queues.scheduling.volcano.sh"}, *this};
  ReflectorOptions options = {.watch = "queues.scheduling.volcano.sh",
                              .path = "/apis/scheduling.volcano.sh/v1beta1/queues",
                              .kind = ObjectKind::kQueue,
                              .streaming_list = ReflectorOptions::StreamingList::kOff};
  testing::FakeKubeAccess kube;
  Readiness readiness{loop, *metrics, health};
  Unreadable unreadable{kube, *metrics};
  Watch watch{{loop, client, random, clock, *metrics, readiness, unreadable, cache}, 0, options};
  int states = 0, departures = 0;
};

TEST_F(WatchTest, ReflectedObjectsAreInTheCacheAndReadinessNamesTheWatch) {
  EXPECT_EQ(Target().name, "watch queues.scheduling.volcano.sh");
  EXPECT_FALSE(Target().ready);
  watch.Start();
  time.RunDueTasks();
  client.last().Answer(
      200, R"({"metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a","uid":"1","resourceVersion":"4"}},
               {"metadata":{"name":"b","uid":"2","resourceVersion":"5"}}]})");
  time.RunDueTasks();
  EXPECT_TRUE(Target().ready);
  EXPECT_EQ(states, 2);
  EXPECT_EQ(cache.watches()[0].resource_version, 10);

  client.last().Head(200);
  client.last().Chunk(R"({"type":"DELETED","object":{"metadata":{"name":"a","uid":"1","resourceVersion":"12"}}})"
                      "\n"
                      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}})"
                      "\n");
  EXPECT_EQ(departures, 1);
  EXPECT_EQ(cache.watches()[0].resource_version, 20);
  EXPECT_EQ(cache.watches()[0].objects, 1);
  EXPECT_THAT(metrics->Text(),
              HasSubstr("basalt_gateway_watch_events_total{watch=\"queues.scheduling.volcano.sh\"} 1"));
}

constexpr char kEmptyList[] = R"({"metadata":{"resourceVersion":"10"},"items":[]})";

TEST_F(WatchTest, AKindThatIsNotServedIsAbsentAndReadyAndSaysHowToGetIt) {
  StartWith(404, "404 page not found");
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_ABSENT);
  EXPECT_TRUE(Target().ready);
  EXPECT_EQ(Target().state, "absent");
  EXPECT_THAT(Target().cure, HasSubstr("kubectl apply -f deploy/crds"));
  EXPECT_EQ(client.last().request().target, "/apis/scheduling.volcano.sh");
  client.last().Answer(404, "404 page not found");
  EXPECT_EQ(Target().state, "absent");
  EXPECT_TRUE(health.IsReady());
  // The kind is requested again, and found without a restart.
  time.Advance(absl::Minutes(1));
  bool listed = false;
  for (size_t i = 0; i < client.started(); ++i) {
    if (!client.at(i).open() || client.at(i).request().target == "/apis/scheduling.volcano.sh") continue;
    client.at(i).Answer(200, kEmptyList);
    listed = true;
    break;
  }
  time.RunDueTasks();
  EXPECT_TRUE(listed);
  EXPECT_EQ(Target().state, "listed");
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_READY);
}

TEST_F(WatchTest, AGroupInOtherVersionsIsNotReadyAndNamesThem) {
  StartWith(404, "404 page not found");
  client.last().Answer(200, R"({"kind":"APIGroup","versions":[{"version":"v1"},{"version":"v1alpha1"}]})");
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_ABSENT) << "nothing else waits for it";
  EXPECT_FALSE(Target().ready);
  EXPECT_EQ(Target().state, "version");
  EXPECT_THAT(Target().why, HasSubstr("as v1, v1alpha1, not as v1beta1"));
  EXPECT_THAT(metrics->Text(),
              HasSubstr(R"(gateway_target{state="version",target="watch queues.scheduling.volcano.sh"} 1)"));
}

TEST_F(WatchTest, AForbiddenKindIsNotReadyAndSaysWhyAndWhatToGrant) {
  StartWith(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no list for you"})");
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_FORBIDDEN);
  EXPECT_FALSE(Target().ready);
  EXPECT_EQ(Target().state, "forbidden");
  EXPECT_EQ(Target().why, "no list for you");
  EXPECT_THAT(Target().cure, HasSubstr("grant list and watch on queues.scheduling.volcano.sh"));
  EXPECT_TRUE(Server().ready) << "it does answer";
  EXPECT_THAT(
      metrics->Text(),
      HasSubstr(R"(basalt_gateway_watch_errors_total{reason="forbidden",watch="queues.scheduling.volcano.sh"} 1)"));
  time.Advance(absl::Minutes(1));
  client.last().Answer(200, kEmptyList);
  time.RunDueTasks();
  EXPECT_TRUE(health.IsReady());
}

TEST_F(WatchTest, WhileTheServerIsAwayReadinessSaysWhatFails) {
  watch.Start();
  time.RunDueTasks();
  client.last().End(absl::UnavailableError("connection refused"));
  time.RunDueTasks();
  EXPECT_THAT(Target().why, HasSubstr("connection refused"));
  EXPECT_EQ(Target().state, "unreachable");
  EXPECT_EQ(Server().state, "unreachable");
  EXPECT_FALSE(cache.watches()[0].resolved());
}

TEST_F(WatchTest, AfterTenMinutesWithoutAServerItGoesOnByItselfFromWhereItWas) {
  StartWith(200, kEmptyList);
  EXPECT_TRUE(health.IsReady());
  const absl::Time gone = time.Now();
  client.last().End(absl::UnknownError("connection reset"));
  while (time.Now() < gone + absl::Minutes(10)) {
    time.Advance(absl::Seconds(1));
    if (client.last().open()) client.last().End(absl::UnavailableError("connection refused"));
    const bool patient = time.Now() < gone + readiness.options().patience;
    EXPECT_EQ(health.IsReady(), patient) << time.Now() - gone;
  }
  EXPECT_EQ(Server().state, "unreachable");
  EXPECT_THAT(Server().cure, HasSubstr("see that the API server runs"));
  EXPECT_EQ(Target().state, "listed") << "what is known is still good";
  time.Advance(absl::Minutes(1));
  ASSERT_TRUE(client.last().open());
  EXPECT_EQ(client.last().Query("resourceVersion"), "10");
  client.last().Head(200);
  EXPECT_TRUE(health.IsReady());
  EXPECT_LT(client.started(), 60u) << "attempts become rare";
}

TEST_F(WatchTest, ARevokedTokenIsToldAtOnce) {
  StartWith(200, kEmptyList);
  client.last().Answer(401, R"({"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"})");
  time.RunDueTasks();
  EXPECT_EQ(Server().state, "unauthorized");
  EXPECT_FALSE(health.IsReady());
  EXPECT_THAT(Server().cure, HasSubstr("nothing has to be restarted"));
  time.Advance(absl::Seconds(1));
  client.last().Head(200);
  EXPECT_TRUE(health.IsReady());
}

TEST_F(WatchTest, AWatchThatKeepsFailingIsReportedWhenItLasts) {
  StartWith(200, kEmptyList);
  const absl::Time start = time.Now();
  while (time.Now() < start + absl::Minutes(1)) {
    if (client.last().open()) client.last().Answer(500, "conversion webhook failed");
    time.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(Target().state, "failing");
  EXPECT_THAT(Target().why, HasSubstr("conversion webhook failed"));
  EXPECT_TRUE(Server().ready) << "others are answered";
  time.Advance(absl::Minutes(1));
  client.last().Answer(200, kEmptyList);
  time.RunDueTasks();
  EXPECT_TRUE(health.IsReady());
}

TEST_F(WatchTest, AnObjectThatCannotBeReadIsToldOnItselfAndHoldsNothingUp) {
  StartWith(200, R"({"metadata":{"resourceVersion":"10"},"items":[
      {"metadata":{"name":"a","uid":"1","resourceVersion":"4"},"spec":{"weight":4294967297}},
      {"metadata":{"name":"b","uid":"2","resourceVersion":"5"}}]})");
  EXPECT_EQ(states, 2);
  EXPECT_TRUE(Target().ready);
  EXPECT_THAT(metrics->Text(),
              HasSubstr(R"(gateway_undecodable_total{field="spec.weight",watch="queues.scheduling.volcano.sh"} 1)"));
  ASSERT_EQ(kube.writes.size(), 1u);
  const v1::WriteRequest& event = kube.writes[0].first;
  EXPECT_EQ(event.resource().plural(), "events");
  EXPECT_EQ(event.namespace_(), "default");
  EXPECT_THAT(event.create().body(), HasSubstr(R"("kind":"Queue","name":"a","uid":"1")"));
  EXPECT_THAT(event.create().body(), HasSubstr("spec.weight: 4294967297 is not between"));
  client.last().Head(200);
  client.last().Chunk(
      R"({"type":"MODIFIED","object":{"metadata":{"name":"a","uid":"1","resourceVersion":"12"},"spec":{"weight":4294967297}}})"
      "\n");
  EXPECT_EQ(states, 3);
  EXPECT_EQ(kube.writes.size(), 1u) << "told once";
}

class WorkloadWatchTest : public WatchTest {
 protected:
  static std::string Workload(const char* type, int64_t version, const char* scheduler, int replicas) {
    return fmt::format(
        R"({{"type":"{}","object":{{"metadata":{{"namespace":"ns","name":"web","uid":"u","resourceVersion":"{}"}},)"
        R"("spec":{{"replicas":{},"template":{{"spec":{{"schedulerName":"{}"}}}}}},"status":{{"replicas":{}}}}}}})"
        "\n",
        type, version, replicas, scheduler, version);
  }
  // The items of a list do not contain their kind.
  void Begin(const char* items) {
    workloads.Start();
    time.RunDueTasks();
    client.last().Answer(200, fmt::format(R"({{"metadata":{{"resourceVersion":"10"}},"items":[{}]}})", items));
    time.RunDueTasks();
    client.last().Head(200);
  }
  kube::v1::Workload Known() { return cache.Read(cache.Find(0, "u")).workload(); }

  ReflectorOptions workload_options = {.watch = "workloads/replicasets",
                                       .path = "/apis/apps/v1/replicasets",
                                       .kind = ObjectKind::kWorkload,
                                       .schedulers = {"volcano", "kai"},
                                       .streaming_list = ReflectorOptions::StreamingList::kOff};
  Watch workloads{{loop, client, random, clock, *metrics, readiness, unreadable, cache}, 0, workload_options};
};

TEST_F(WorkloadWatchTest, OnlyThoseForOurSchedulersAreKnownAndOnlyWhatIsReadIsNews) {
  Begin(R"({"metadata":{"namespace":"ns","name":"web","uid":"u","resourceVersion":"4"},
           "spec":{"replicas":2,"template":{"spec":{"schedulerName":"kai"}}}},
          {"metadata":{"namespace":"ns","name":"other","uid":"o","resourceVersion":"5"},
           "spec":{"replicas":2,"template":{"spec":{"schedulerName":"default-scheduler"}}}})");
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(Known().api_version() + " " + Known().kind(), "apps/v1 ReplicaSet");
  EXPECT_EQ(states, 1);
  client.last().Chunk(Workload("MODIFIED", 12, "kai", 2));
  EXPECT_EQ(states, 1) << "its status alone is another";
  EXPECT_EQ(cache.watches()[0].resource_version, 12);
  client.last().Chunk(Workload("MODIFIED", 13, "kai", 0));
  EXPECT_EQ(states, 2);
  EXPECT_EQ(Known().replicas(), 0);
  EXPECT_EQ(Known().kind(), "ReplicaSet");
}

TEST_F(WorkloadWatchTest, OneWhoseTemplateNamesAnotherSchedulerLeaves) {
  Begin("");
  client.last().Chunk(Workload("ADDED", 11, "volcano", 1));
  EXPECT_EQ(states, 1);
  EXPECT_EQ(departures, 0);
  client.last().Chunk(Workload("MODIFIED", 12, "default-scheduler", 1));
  EXPECT_EQ(departures, 1);
  client.last().Chunk(Workload("MODIFIED", 13, "default-scheduler", 3));
  EXPECT_EQ(departures, 1);
  client.last().Chunk(Workload("MODIFIED", 14, "volcano", 3));
  EXPECT_EQ(cache.SlotOfId(cache.Find(0, "u"), v1::SERVICE_KIND_POD_GROUP), SlotOf("ns/podgroup-u"));
  client.last().Chunk(Workload("DELETED", 15, "volcano", 3));
  EXPECT_EQ(departures, 2);
  EXPECT_EQ(cache.size(), 0U);
}

TEST_F(WorkloadWatchTest, AnotherSchedulersIsNobodysAlsoWhenItGoes) {
  Begin("");
  for (const char* type : {"ADDED", "MODIFIED", "DELETED"}) client.last().Chunk(Workload(type, 11, "mine", 1));
  EXPECT_EQ(states, 0);
  EXPECT_EQ(departures, 0);
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(cache.watches()[0].resource_version, 11);
}

// Groups then do not follow the owners of their pods, and all else goes on.
TEST_F(WorkloadWatchTest, OneThatIsForbiddenHoldsNobodyBackAndIsNotReady) {
  workloads.Start();
  time.RunDueTasks();
  time.Advance(absl::Seconds(31));  // A refusal is not believed at once.
  client.last().Answer(403, R"({"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden","message":"no"})");
  time.RunDueTasks();
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_ABSENT);
}

TEST(WatchesTest, PodWatchesAreDisjointBySelector) {
  const auto watches = WatchesFor({{"volcano", "other"}, {"kai"}}, true);
  ASSERT_EQ(watches.size(), 17u);
  std::vector<std::string> paths;
  for (size_t i = 0; i < 5; ++i) paths.push_back(watches[i].path);
  EXPECT_THAT(paths, ElementsAre(EndsWith("/jobs"), EndsWith("/commands"), EndsWith("/podgroups"), EndsWith("/queues"),
                                 EndsWith("/priorityclasses")));
  EXPECT_EQ(watches[5].watch, "pods/job");
  EXPECT_EQ(watches[5].label_selector, "volcano.sh/job-name");
  EXPECT_EQ(watches[6].watch, "pods/scheduler=volcano");
  EXPECT_EQ(watches[6].field_selector, "spec.schedulerName=volcano");
  EXPECT_EQ(watches[7].watch, "pods/scheduler=other");
  EXPECT_EQ(watches[7].field_selector, "spec.schedulerName=other");
  EXPECT_EQ(watches[7].label_selector, "!volcano.sh/job-name");
  EXPECT_EQ(watches[8].watch, "pods/scheduler=kai");
  EXPECT_EQ(watches[8].field_selector, "spec.schedulerName=kai");
  EXPECT_EQ(watches[8].label_selector, "!volcano.sh/job-name");
  EXPECT_EQ(watches[9].path, "/apis/scheduling.run.ai/v2alpha2/podgroups");
  EXPECT_EQ(watches[10].path, "/apis/scheduling.run.ai/v2/queues");
  EXPECT_EQ(watches[11].path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
  EXPECT_EQ(watches[11].field_selector, "metadata.name=podgroups.scheduling.run.ai") << "no other definition";
  EXPECT_EQ(watches[12].path, "/apis/run.ai/v1alpha1/kartas");
  EXPECT_EQ(watches[13].path, "/apis/apps/v1/replicasets");
  EXPECT_EQ(watches[16].watch, "workloads/jobs");
  EXPECT_EQ(watches[16].path, "/apis/batch/v1/jobs");
  EXPECT_EQ(watches[14].schedulers, (std::vector<std::string>{"volcano", "other"})) << "groups of KAI's read owners";
}

TEST(WatchesTest, WithoutASchedulerOfKaiNothingOfKaiIsWatched) {
  for (const ReflectorOptions& watch : WatchesFor({{"volcano"}, {}}, true)) {
    EXPECT_EQ(watch.path.find("run.ai"), std::string::npos) << watch.watch;
  }
}

TEST(WatchesTest, TheRichProfileReadsOwnersAndKartasAndNoWorkloads) {
  std::vector<std::string> ids;
  for (const ReflectorOptions& watch : WatchesFor({{"volcano"}, {}, /*is_rich=*/true}, true))
    ids.push_back(watch.watch);
  EXPECT_THAT(ids,
              ::testing::IsSupersetOf({"kartas.run.ai", "customresourcedefinitions/podgroups.scheduling.volcano.sh"}));
  EXPECT_THAT(ids, ::testing::Each(::testing::Not(::testing::StartsWith("workloads/"))));
}

}  // namespace
}  // namespace basalt::gateway
