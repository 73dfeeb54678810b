#include "gateway/route/cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "common/kube/names.h"
#include "gateway/route/object_ref.h"
#include "gateway/route/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.

constexpr WatchIndex kJobs = 0, kGroups = 1, kJobPods = 2, kPlainPods = 3, kQueues = 4;

class CacheTest : public ::testing::Test, public CacheListener {
 protected:
  void OnState(ObjectId id) override {
    const kube::v1::Object object = cache.Read(id);
    log.push_back(fmt::format("state {}@{}", RefOf(object).name, RefOf(object).resource_version));
  }
  void OnDeparture(ObjectId, const Departure& gone) override {
    seen = gone.seen_version;
    log.push_back(fmt::format("{} {} {}@{}", gone.reason == v1::Tombstone::REASON_LEFT ? "left" : "deleted",
                              gone.service == v1::SERVICE_KIND_UNSPECIFIED ? "*" : gone.routing_key, gone.uid,
                              RefOf(*gone.last).resource_version));
  }
  void OnHeldBack(ObjectId id) override { log.push_back(fmt::format("held back {}", RefOf(cache.Read(id)).uid)); }
  void OnWatch(WatchIndex watch) override {
    const WatchInfo& info = cache.watches()[watch];
    log.push_back(fmt::format("mark {} {}@{}", info.id, static_cast<int>(info.state), info.resource_version));
  }
  std::string Take() {
    std::string text;
    for (const std::string& line : log) text += (text.empty() ? "" : ", ") + line;
    log.clear();
    return text;
  }

  std::vector<std::string> log;
  int64_t seen = 0;  // The seen_version of the last Departure.
  Cache cache{{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job", "pods/scheduler=volcano",
               "queues.scheduling.volcano.sh"},
              *this};
};

TEST_F(CacheTest, ALowerOrEqualVersionChangesNothing) {
  cache.Apply(kJobs, Job("j", 5));
  EXPECT_EQ(Take(), "state j@5, mark jobs.batch.volcano.sh 0@5");
  cache.Apply(kJobs, Job("j", 4));
  cache.Apply(kJobs, Job("j", 5));
  EXPECT_EQ(Take(), "");
  cache.Apply(kJobs, Job("j", 6));
  EXPECT_EQ(Take(), "state j@6, mark jobs.batch.volcano.sh 0@6");
  EXPECT_EQ(cache.size(), 1u);
}

TEST_F(CacheTest, EveryStateKeepsItsRoutingKeysAndItsBytes) {
  const auto expect = [&](WatchIndex watch, const std::string& uid, const kube::v1::Object& object) {
    const ObjectId id = cache.Find(watch, uid);
    ASSERT_NE(id, kNoObject);
    for (const Route& route : Routes(object)) EXPECT_EQ(cache.RoutingKeyOf(id, route.service), route.key);
    EXPECT_EQ(cache.Serialized(id), object.SerializeAsString());
  };
  // The keys are a prefix of the object's own key, equal to it, or unrelated to it. The states grow and shrink.
  for (const size_t size : {1, 40, 400, 3}) {
    const auto version = static_cast<int64_t>(1000 + cache.watches()[kJobPods].resource_version);
    kube::v1::Object pod = JobPod("train", "train-worker-0", version);
    pod.mutable_pod()->set_reason(std::string(size, 'r'));
    cache.Apply(kJobPods, pod);
    expect(kJobPods, "uid-train-worker-0", pod);
    kube::v1::Object group = PodGroup("train-uid", version, std::string(size, 'q'), "train");
    cache.Apply(kGroups, group);
    expect(kGroups, "uid-train-uid", group);
  }
}

struct LastGone : CacheListener {
  void OnState(ObjectId) override {}
  void OnDeparture(ObjectId, const Departure& gone) override { pod = gone.last->pod(); }
  void OnHeldBack(ObjectId) override {}
  void OnWatch(WatchIndex) override {}
  kube::v1::Pod pod;
};

// "Failed, then deleted" may be one state by the time of a read: its two times preserve the observed order.
TEST(CacheOrderTest, WhetherAPodFailedBeforeItsDeletionStaysKnownInWhatFollows) {
  constexpr auto kRunning = kube::v1::POD_PHASE_RUNNING;
  constexpr auto kFailed = kube::v1::POD_PHASE_FAILED;
  const auto pod = [](int64_t rv, kube::v1::PodPhase phase, int64_t finished_ms, int64_t deletion_ms) {
    kube::v1::Object object = JobPod("j", "p", rv);
    object.mutable_pod()->set_phase(phase);
    object.mutable_pod()->set_finished_ms(finished_ms);
    object.mutable_pod()->set_deletion_ms(deletion_ms);
    return object;
  };
  const auto failed_first = [](const kube::v1::Pod& of) {
    return of.finished_ms() != 0 && of.finished_ms() < of.deletion_ms();
  };
  const auto after = [&](const kube::v1::Object& before, const kube::v1::Object& then) {
    LastGone gone;
    Cache cache{{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job"}, gone};
    cache.Apply(kJobPods, before);
    cache.Apply(kJobPods, then);
    const bool as_state = failed_first(cache.Read(cache.Find(kJobPods, "uid-p")).pod());
    kube::v1::Object end = then;
    end.mutable_pod()->set_resource_version(9);
    cache.Remove(kJobPods, end);
    EXPECT_EQ(failed_first(gone.pod), as_state);
    return as_state;
  };
  EXPECT_TRUE(after(pod(5, kFailed, 4000, 0), pod(6, kFailed, 4000, 4000)));
  EXPECT_TRUE(after(pod(5, kFailed, 4000, 4001), pod(6, kFailed, 4000, 4000)));
  EXPECT_TRUE(after(pod(5, kFailed, 0, 0), pod(6, kFailed, 0, 4000))) << "by whoever does not tell when";
  EXPECT_FALSE(after(pod(5, kFailed, 4000, 4000), pod(6, kFailed, 4000, 4000)));
  // The clocks of nodes decide only where no state in between was observed.
  EXPECT_FALSE(after(pod(5, kRunning, 0, 4000), pod(6, kFailed, 3000, 4000)));
  EXPECT_FALSE(after(pod(5, kRunning, 2000, 4000), pod(6, kFailed, 3000, 4000))) << "one container ended earlier";
  EXPECT_TRUE(after(pod(5, kRunning, 0, 0), pod(6, kFailed, 3000, 4000)));
  EXPECT_FALSE(after(pod(5, kRunning, 0, 0), pod(6, kFailed, 4000, 4000)));

  // The pod failed and then went, with no state observed in between.
  LastGone gone;
  Cache cache{{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job"}, gone};
  cache.Apply(kJobPods, pod(5, kFailed, 4000, 0));
  cache.Remove(kJobPods, pod(6, kFailed, 4000, 4000));
  EXPECT_TRUE(failed_first(gone.pod));
}

// The eviction API, for example, also marks a pod that has failed before: the observed states decide whether the pod
// failed by itself.
TEST(CacheOrderTest, WhetherAPodFailedBeforeItsDisruptionIsWhatWasSeen) {
  constexpr auto kRunning = kube::v1::POD_PHASE_RUNNING;
  constexpr auto kFailed = kube::v1::POD_PHASE_FAILED;
  const auto pod = [](int64_t rv, kube::v1::PodPhase phase, int64_t finished_ms, int64_t disruption_ms,
                      int64_t deletion_ms = 0) {
    kube::v1::Object object = JobPod("j", "p", rv);
    object.mutable_pod()->set_phase(phase);
    object.mutable_pod()->set_finished_ms(finished_ms);
    object.mutable_pod()->set_deletion_ms(deletion_ms);
    if (disruption_ms < 0) return object;
    object.mutable_pod()->set_disruption_reason("EvictionByEvictionAPI");
    object.mutable_pod()->set_disruption_ms(disruption_ms);
    return object;
  };
  struct Row {
    const char* what;
    std::vector<kube::v1::Object> states;
    bool failed_first;
  };
  const int64_t none = -1;
  const Row rows[] = {
      {"marked, then failed", {pod(5, kRunning, 0, 4000), pod(6, kFailed, 4000, 4000)}, false},
      {"the same by a clock that is slow", {pod(5, kRunning, 0, 9000), pod(6, kFailed, 4000, 9000)}, false},
      {"both at once, by a clock that is slow", {pod(5, kRunning, 0, none), pod(6, kFailed, 4000, 9000)}, false},
      {"nothing was seen before", {pod(6, kFailed, 4000, 9000)}, false},
      {"failed, then marked", {pod(5, kFailed, 4000, none), pod(6, kFailed, 4000, 4000)}, true},
      {"the same by a clock that is fast", {pod(5, kFailed, 9000, none), pod(6, kFailed, 9000, 4000)}, true},
      {"the same where neither says when", {pod(5, kFailed, 0, none), pod(6, kFailed, 0, 0)}, true},
      {"a third state changes nothing",
       {pod(5, kFailed, 9000, none), pod(6, kFailed, 9000, 4000), pod(7, kFailed, 9000, 4000)},
       true},
      {"nor does a deletion", {pod(5, kFailed, 9000, none), pod(6, kFailed, 9000, 4000, 4000)}, true},
      {"nor one that follows",
       {pod(5, kRunning, 0, 9000), pod(6, kFailed, 4000, 9000), pod(7, kFailed, 4000, 9000, 9000)},
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    LastGone gone;
    Cache cache{{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job"}, gone};
    for (const kube::v1::Object& state : row.states) cache.Apply(kJobPods, state);
    const kube::v1::Pod last = cache.Read(cache.Find(kJobPods, "uid-p")).pod();
    EXPECT_EQ(last.finished_ms() != 0 && last.finished_ms() < last.disruption_ms(), row.failed_first);
  }
}

// A node's clock says nothing about when the API server received the request.
TEST(CacheOrderTest, TheOrderOfAPodsTimesIsMendedByThatOfItsNode) {
  kube::v1::Object running = JobPod("j", "p", 5);
  running.mutable_pod()->set_phase(kube::v1::POD_PHASE_RUNNING);
  running.mutable_pod()->set_deletion_ms(3'600'000);
  kube::v1::Object failed = JobPod("j", "p", 6);
  failed.mutable_pod()->set_phase(kube::v1::POD_PHASE_FAILED);
  failed.mutable_pod()->set_finished_ms(1000);
  failed.mutable_pod()->set_deletion_ms(3'600'000);
  LastGone gone;
  Cache cache{{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job"}, gone};
  cache.Apply(kJobPods, running);
  cache.Apply(kJobPods, failed);
  const kube::v1::Pod last = cache.Read(cache.Find(kJobPods, "uid-p")).pod();
  EXPECT_EQ(last.deletion_ms(), 3'600'000);
  EXPECT_EQ(last.finished_ms(), 3'600'000);
}

TEST_F(CacheTest, ARelistReplacesTheContentAtOnce) {
  cache.Apply(kJobs, Job("a", 1));
  cache.Apply(kJobs, Job("b", 2));
  cache.Apply(kQueues, Queue("q", 3));
  Take();
  cache.Replace(kJobs, {Job("b", 2), Job("c", 4)}, 9);
  EXPECT_EQ(Take(), "deleted ns/a uid-a@9, state c@4, mark jobs.batch.volcano.sh 1@9");
  EXPECT_EQ(cache.watches()[kJobs].objects, 2);
  EXPECT_EQ(cache.size(), 3u);
}

// Only the versions at which two objects of one name were observed show which of them came first.
TEST_F(CacheTest, ADepartureTellsTheVersionAtWhichTheObjectWasSeenLast) {
  cache.Apply(kJobs, Job("j", 5, "one"));
  cache.Apply(kJobs, Job("j", 8, "two"));
  EXPECT_EQ(seen, 5) << "its name is another one's";
  cache.Replace(kJobs, {}, 20);
  EXPECT_EQ(seen, 8) << "a list lacks it";
  cache.Apply(kJobs, Job("j", 21, "three"));
  cache.Remove(kJobs, Job("j", 23, "three"));
  EXPECT_EQ(seen, 23) << "the deletion itself was seen";
  cache.Apply(kGroups, PodGroup("g", 30, "red", "j"));
  cache.Apply(kGroups, PodGroup("g", 31, "blue", "j"));
  EXPECT_EQ(seen, 31) << "it was seen to leave";
}

TEST_F(CacheTest, ARelistKeepsWhatAWriteMadeAfterIt) {
  cache.Replace(kJobPods, {}, 10);
  cache.MergeWritten(JobPod("j", "p", 15));
  Take();
  cache.Replace(kJobPods, {}, 12);
  EXPECT_EQ(Take(), "mark pods/job 1@12");
  cache.Replace(kJobPods, {}, 15);
  EXPECT_EQ(Take(), "deleted ns/j uid-p@15, mark pods/job 1@15");
}

TEST_F(CacheTest, AnotherUidUnderTheNameComesAfterTheEndOfTheFirst) {
  cache.Apply(kJobs, Job("j", 5, "one"));
  Take();
  cache.Apply(kJobs, Job("j", 8, "two"));
  EXPECT_EQ(Take(), "deleted ns/j one@8, state j@8, mark jobs.batch.volcano.sh 0@8");
  EXPECT_EQ(cache.UidOf("jobs.", "ns", "j"), "two");
}

// No API server gives one UID to two names, or an empty UID: the cache stays consistent all the same.
TEST_F(CacheTest, AnotherNameUnderTheUidComesAfterTheEndOfTheFirst) {
  cache.Apply(kJobs, Job("j", 5, "one"));
  Take();
  cache.Apply(kJobs, Job("k", 8, "one"));
  EXPECT_EQ(Take(), "deleted ns/j one@8, state k@8, mark jobs.batch.volcano.sh 0@8");
  EXPECT_EQ(cache.UidOf("jobs.", "ns", "j"), "");
  EXPECT_EQ(cache.UidOf("jobs.", "ns", "k"), "one");
  cache.Remove(kJobs, Job("k", 9, "one"));
  EXPECT_EQ(cache.size(), 0U);
}

// An answer has shown the next object of the name while the watch lags behind both objects.
class CacheHoldsBackTest : public CacheTest {
 protected:
  CacheHoldsBackTest() {
    cache.Replace(kJobPods, {}, 5);
    cache.MergeWritten(JobPod("j", "p", 16, "two"));
    Take();
    cache.Apply(kJobPods, JobPod("j", "p", 7, "one"));
    EXPECT_EQ(Take(), "held back two, state p@7, mark pods/job 1@7");
    EXPECT_TRUE(cache.IsHeldBack(cache.Find(kJobPods, "two")));
    EXPECT_EQ(cache.UidOf("pods/", "ns", "p"), "one");
  }
};

TEST_F(CacheHoldsBackTest, UntilTheOlderOneEnds) {
  cache.Apply(kJobPods, JobPod("j", "p", 8, "one"));
  EXPECT_EQ(Take(), "state p@8, mark pods/job 1@8");
  cache.Remove(kJobPods, JobPod("j", "p", 9, "one"));
  EXPECT_EQ(Take(), "deleted ns/j one@9, state p@16, mark pods/job 1@9");
  EXPECT_FALSE(cache.IsHeldBack(cache.Find(kJobPods, "two")));
  EXPECT_EQ(cache.UidOf("pods/", "ns", "p"), "two");
  cache.Apply(kJobPods, JobPod("j", "p", 16, "two"));
  EXPECT_EQ(Take(), "mark pods/job 1@16");
}

TEST_F(CacheHoldsBackTest, AlsoBehindOneBetweenTheTwo) {
  cache.Apply(kJobPods, JobPod("j", "p", 10, "between"));
  EXPECT_EQ(Take(), "deleted ns/j one@10, state p@16, held back two, state p@10, mark pods/job 1@10");
  cache.Remove(kJobPods, JobPod("j", "p", 12, "between"));
  EXPECT_EQ(Take(), "deleted ns/j between@12, state p@16, mark pods/job 1@12");
}

TEST_F(CacheHoldsBackTest, TheOlderOneEndsWhereTheWatchHasComeToTheNext) {
  cache.Apply(kJobPods, JobPod("j", "p", 18, "two"));
  EXPECT_EQ(Take(), "deleted ns/j one@18, state p@16, state p@18, mark pods/job 1@18");
}

// Replicas may have received the newer pod before it was held back.
TEST_F(CacheHoldsBackTest, ItsEndIsToldWhereAListLacksIt) {
  cache.Replace(kJobPods, {}, 30);
  EXPECT_EQ(Take(), "deleted ns/j one@30, state p@16, deleted ns/j two@30, mark pods/job 1@30");
  EXPECT_EQ(cache.size(), 0U);
  cache.Apply(kJobPods, JobPod("j", "p", 31, "three"));
  EXPECT_EQ(Take(), "state p@31, mark pods/job 1@31");
}

TEST_F(CacheHoldsBackTest, ItsEndMayBeToldBeforeThatOfTheOlderOne) {
  cache.Remove(kJobPods, JobPod("j", "p", 20, "two"));
  EXPECT_EQ(Take(), "deleted ns/j two@20, mark pods/job 1@20");
  cache.Remove(kJobPods, JobPod("j", "p", 21, "one"));
  EXPECT_EQ(Take(), "deleted ns/j one@21, mark pods/job 1@21");
}

TEST_F(CacheHoldsBackTest, ItLeavesItsSlotWhereItsRouteHasChangedMeanwhile) {
  cache.Replace(kJobPods, {JobPod("k", "p", 28, "two")}, 30);
  EXPECT_EQ(Take(), "deleted ns/j one@30, state p@16, left ns/j two@28, state p@28, mark pods/job 1@30");
}

TEST_F(CacheTest, AChangeOfQueueLeavesTheOldSlotFirst) {
  cache.Apply(kGroups, PodGroup("g", 5, "red", "j"));
  Take();
  cache.Apply(kGroups, PodGroup("g", 6, "blue", "j"));
  EXPECT_EQ(Take(), "left red uid-g@6, state g@6, mark podgroups.scheduling.volcano.sh 0@6");
  const uint32_t blue = SlotOf("blue");
  ASSERT_EQ(cache.Members(v1::SERVICE_KIND_QUEUE, blue).size(), 1u);
  EXPECT_TRUE(cache.Members(v1::SERVICE_KIND_QUEUE, SlotOf("red")).empty());
  EXPECT_EQ(cache.Members(v1::SERVICE_KIND_JOB, SlotOf("ns/j")).size(), 1u);
}

TEST_F(CacheTest, ADeletionIsToldToEveryRouteWithTheLastState) {
  cache.Apply(kGroups, PodGroup("g", 5, "red", "j"));
  Take();
  cache.Remove(kGroups, PodGroup("g", 7, "red", "j"));
  EXPECT_EQ(Take(),
            "deleted ns/j uid-g@7, deleted ns/g uid-g@7, deleted red uid-g@7, "
            "mark podgroups.scheduling.volcano.sh 0@7");
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_TRUE(cache.Members(v1::SERVICE_KIND_JOB, SlotOf("ns/j")).empty());
}

TEST_F(CacheTest, ADeletionOfWhatWasNeverCachedIsToldOnce) {
  cache.Remove(kJobPods, JobPod("j", "p", 7));
  EXPECT_EQ(Take(), "deleted ns/j uid-p@7, mark pods/job 0@7");
  cache.Remove(kJobPods, JobPod("j", "p", 7));
  EXPECT_EQ(Take(), "");
}

TEST_F(CacheTest, APodThatAnotherWatchShowsHasLeft) {
  cache.Apply(kPlainPods, PlainPod("p", 5));
  cache.Apply(kJobPods, JobPod("j", "p", 6));
  Take();
  cache.Remove(kPlainPods, PlainPod("p", 6));
  EXPECT_EQ(Take(), "left ns/podgroup-uid-p uid-p@6, mark pods/scheduler=volcano 0@6");
  cache.Remove(kJobPods, JobPod("j", "p", 8));
  EXPECT_EQ(Take(), "deleted ns/j uid-p@8, mark pods/job 0@8");
}

TEST_F(CacheTest, APodThatNoLongerMatchesHasLeft) {
  cache.Apply(kJobPods, JobPod("j", "p", 5));
  Take();
  kube::v1::Object last = JobPod("j", "p", 6);
  last.mutable_pod()->clear_job_name();
  cache.Remove(kJobPods, last);
  EXPECT_EQ(Take(), "left ns/j uid-p@6, mark pods/job 0@6");
}

TEST_F(CacheTest, AnAnswerIsMergedOnlyWhereItsWatchHasNotBeenFurther) {
  cache.MergeWritten(Job("early", 3));
  EXPECT_EQ(Take(), "") << "not listed yet";
  cache.Replace(kJobs, {Job("j", 4, "one")}, 10);
  Take();
  cache.MergeWritten(Job("late", 9));
  EXPECT_EQ(Take(), "") << "the watch may have told its deletion";
  cache.MergeWritten(Job("j", 12, "two"));
  EXPECT_EQ(Take(), "") << "the first one's end comes first";
  cache.MergeWritten(Job("j", 12, "one"));
  EXPECT_EQ(Take(), "state j@12");
  cache.Apply(kJobs, Job("j", 12, "one"));
  EXPECT_EQ(Take(), "mark jobs.batch.volcano.sh 1@12") << "the watch's own report is the same state";
}

TEST_F(CacheTest, BroadcastObjectsAreMembersOfEverybody) {
  cache.Apply(kQueues, Queue("a", 1));
  cache.Apply(kQueues, Queue("b", 2));
  cache.Remove(kQueues, Queue("a", 3));
  ASSERT_EQ(cache.Members(v1::SERVICE_KIND_JOB, kBroadcastSlot).size(), 1u);
  EXPECT_EQ(RefOf(cache.Read(cache.Members(v1::SERVICE_KIND_JOB, kBroadcastSlot)[0])).name, "b");
}

TEST_F(CacheTest, NotBeingAllowedToLookIsNotADeletion) {
  cache.Replace(kJobs, {Job("j", 4)}, 10);
  Take();
  cache.SetState(kJobs, v1::Mark::STATE_FORBIDDEN);
  EXPECT_EQ(Take(), "mark jobs.batch.volcano.sh 3@10");
  EXPECT_EQ(cache.size(), 1u);
}

TEST_F(CacheTest, MembersOfASlotStayWholeThroughManyChanges) {
  for (int i = 0; i < 500; ++i) cache.Apply(kJobPods, JobPod("j", fmt::format("p{}", i), i + 1));
  for (int i = 0; i < 500; i += 2) cache.Remove(kJobPods, JobPod("j", fmt::format("p{}", i), 1000 + i));
  for (int i = 0; i < 100; ++i) cache.Apply(kJobPods, JobPod("j", fmt::format("n{}", i), 2000 + i));
  EXPECT_EQ(cache.size(), 350u);
  const auto& members = cache.Members(v1::SERVICE_KIND_JOB, SlotOf("ns/j"));
  std::set<std::string> names;
  for (const ObjectId id : members) names.insert(std::string(RefOf(cache.Read(id)).name));
  EXPECT_EQ(names.size(), 350u);
  EXPECT_TRUE(names.contains("p499"));
  EXPECT_FALSE(names.contains("p498"));
}

}  // namespace
}  // namespace basalt::gateway
