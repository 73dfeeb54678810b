// Owners of pods that replicas ask for, over a scripted Kubernetes.
#include "gateway/server/owner_interests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/server/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kWatch[] = "objects/example.com/v1/Thing";
constexpr char kSearch[] = "v1/Thing.example.com";
constexpr char kKind[] = "v1/things";

kube::v1::Object Thing(int64_t version, const std::string& json = "{}", const std::string& name = "a",
                       const std::string& uid = "u1", const std::string& ns = "ns") {
  kube::v1::Object object;
  kube::v1::ObjectMeta& meta = *object.mutable_generic()->mutable_meta();
  meta.set_namespace_(ns);
  meta.set_name(name);
  meta.set_uid(uid);
  meta.set_resource_version(version);
  object.mutable_generic()->set_json(json);
  return object;
}

class OwnerInterestsTest : public ::testing::Test {
 protected:
  OwnerInterestsTest() {
    hub.cache().Replace(0, {}, 10);
    hub.Lead({});
    time.RunDueTasks();
  }
  ~OwnerInterestsTest() override {
    for (auto& replica : replicas) replica->Close(absl::OkStatus());
    time.RunDueTasks();
    replicas.clear();
    time.RunDueTasks();
  }
  FakeReplica& Attach(const std::string& name, v1::ServiceKind service = v1::SERVICE_KIND_POD_GROUP) {
    replicas.push_back(std::make_unique<FakeReplica>(time, loop, hub, MemberOf(service, name)));
    replicas.back()->SayHello();
    time.Advance(absl::Seconds(1));
    for (const auto& replica : replicas) replica->items.clear();  // All are told who is there.
    return *replicas.back();
  }
  static void Ask(FakeReplica& replica, const std::string& name = "a", bool withdraw = false,
                  const std::string& watch = kWatch) {
    v1::AttachRequest request;
    v1::Interest& interest = *request.mutable_interest();
    interest.set_watch(watch);
    interest.set_namespace_("ns");
    interest.set_name(name);
    interest.set_withdraw(withdraw);
    replica.Say(request);
  }
  void Serve(bool is_namespaced = true, const std::string& search = kSearch) {
    ASSERT_TRUE(kube.searched.contains(search)) << search;
    KindFound found = kube.searched[search];
    found({.version = "v1", .plural = "things", .is_namespaced = is_namespaced});
    time.RunDueTasks();
  }
  KindListener& Kind() { return *kube.watched_kinds.at(kKind); }
  void Replace(std::vector<kube::v1::Object> objects) {
    Kind().OnReplaced(std::move(objects));
    time.RunDueTasks();
  }
  void State(kube::v1::Object object) {
    Kind().OnState(std::move(object));
    time.RunDueTasks();
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  FakeKubeAccess kube;
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  MemoryAssignmentStore store{loop};
  Hub hub{loop, kube, store, *metrics, {"jobs.batch.volcano.sh"}, {.cluster = "c", .version = "1"}};
  std::vector<std::unique_ptr<FakeReplica>> replicas;
};

TEST_F(OwnerInterestsTest, AnObjectIsToldOnceItsKindIsListedAndWhenItChanges) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  Serve();
  EXPECT_EQ(a.TakeText(), "") << "nobody knows yet";
  Replace({Thing(5), Thing(6, "{}", "other", "u2")});
  EXPECT_EQ(a.TakeText(), "ns/a a@5") << "the other one is asked for by nobody";
  State(Thing(7, R"({"spec":{"replicas":2}})"));
  EXPECT_EQ(a.TakeText(), "ns/a a@7");
  State(Thing(6, R"({"spec":{"replicas":1}})"));
  EXPECT_EQ(a.TakeText(), "") << "an older state";
  State(Thing(8, R"({"spec":{"replicas":2}})"));
  EXPECT_EQ(a.TakeText(), "") << "nothing that rules read has changed";
  Kind().OnGone(Thing(9));
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "deleted ns/a a@0");
}

TEST_F(OwnerInterestsTest, ObjectsOfOneKindShareOneWatch) {
  FakeReplica& a = Attach("r-0");
  FakeReplica& b = Attach("r-1");
  Ask(a);
  Ask(b, "b");
  Serve();
  Replace({Thing(5), Thing(6, "{}", "b", "u2")});
  EXPECT_EQ(a.TakeText(), "ns/a a@5");
  EXPECT_EQ(b.TakeText(), "ns/b b@6");
  Ask(b);
  EXPECT_EQ(b.TakeText(), "ns/a a@5") << "what is known is told at once";
  Ask(a, "none");
  EXPECT_EQ(a.TakeText(), "deleted ns/none none@0");
  EXPECT_THAT(kube.watched_kinds, SizeIs(1));
}

TEST_F(OwnerInterestsTest, AListAnewTellsWhatHasChanged) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  Ask(a, "b");
  Serve();
  Replace({Thing(5), Thing(6, "{}", "b", "u2")});
  a.TakeText();
  Replace({Thing(7)});
  EXPECT_EQ(a.TakeText(), "deleted ns/b b@0");
  Replace({Thing(8, "{}", "a", "u3")});
  EXPECT_EQ(a.TakeText(), "ns/a a@8") << "another object of that name";
}

TEST_F(OwnerInterestsTest, OfAKindThatIsNotServedThereIsNoObjectUntilItIs) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  KindFound found = kube.searched[kSearch];
  found({});
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "deleted ns/a a@0");
  Serve();
  Replace({Thing(5)});
  EXPECT_EQ(a.TakeText(), "ns/a a@5");
  Kind().OnNotServed();
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "deleted ns/a a@0");
  EXPECT_THAT(kube.watched_kinds, IsEmpty());
  Serve(true, std::string(kSearch) + " again");
  Replace({Thing(6)});
  EXPECT_EQ(a.TakeText(), "ns/a a@6");
}

TEST_F(OwnerInterestsTest, ThatAKindMustNotBeReadIsToldInThePlaceOfItsObjects) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  Serve();
  Kind().OnForbidden("things.example.com is forbidden");
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "ns/a a@0");
  Replace({Thing(5)});
  EXPECT_EQ(a.TakeText(), "ns/a a@5");
  Kind().OnForbidden("things.example.com is forbidden");
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "") << "not being allowed to look is no deletion";
}

TEST_F(OwnerInterestsTest, AnObjectOfTheWholeClusterIsFoundFromANamespace) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  Serve(/*is_namespaced=*/false);
  Replace({Thing(5, "{}", "a", "u1", "")});
  EXPECT_EQ(a.TakeText(), "ns/a a@5");
  State(Thing(6, R"({"spec":{}})", "a", "u1", ""));
  EXPECT_EQ(a.TakeText(), "ns/a a@6");
}

TEST_F(OwnerInterestsTest, AKindThatNobodyAsksForStaysUnderWatchForAWhile) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  Serve();
  Replace({Thing(5)});
  a.TakeText();
  Ask(a, "a", /*withdraw=*/true);
  State(Thing(6, R"({"spec":{}})"));
  EXPECT_EQ(a.TakeText(), "") << "nobody asks";
  time.Advance(OwnerInterests::kLinger - absl::Seconds(1));
  Ask(a);
  EXPECT_EQ(a.TakeText(), "ns/a a@6");
  a.Close(absl::OkStatus());
  time.Advance(OwnerInterests::kLinger - absl::Seconds(1));
  EXPECT_THAT(kube.watched_kinds, SizeIs(1));
  time.Advance(absl::Seconds(2));
  EXPECT_THAT(kube.watched_kinds, IsEmpty());
}

TEST_F(OwnerInterestsTest, AKindThatIsForbiddenAfterItWasListedIsToldSoOfWhatIsNew) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  Ask(a, "gone");
  Serve();
  Replace({Thing(5)});
  a.TakeText();
  Kind().OnForbidden("no");
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "ns/gone gone@0") << "nobody knows whether it is there by now";
  Ask(a, "new");
  EXPECT_EQ(a.TakeText(), "ns/new new@0");
  Replace({Thing(5)});
  EXPECT_EQ(a.TakeText(), "ns/a a@5 | deleted ns/gone gone@0 | deleted ns/new new@0");
}

TEST_F(OwnerInterestsTest, AKindThatCannotBeWatchedIsUnreadable) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  KindFound found = kube.searched[kSearch];
  found({.version = "v1", .plural = "things", .is_watchable = false});
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "ns/a a@0");
  EXPECT_THAT(kube.watched_kinds, IsEmpty());
}

TEST_F(OwnerInterestsTest, NothingIsToldBetweenThatAKindIsFoundAgainAndThatItIsListed) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  KindFound found = kube.searched[kSearch];
  found({});
  time.RunDueTasks();
  a.TakeText();
  Serve();
  Ask(a, "b");
  EXPECT_EQ(a.TakeText(), "") << "absence is not known yet";
}

// Every user who may create a pod chooses the owner that the pod names.
TEST_F(OwnerInterestsTest, WhatCannotBeToldIsUnreadableAndEndsNoStream) {
  FakeReplica& a = Attach("r-0");
  for (const char* watch : {"objects/v1/Secret", "objects/v1/Foo_Bar", "objects/../../x"}) {
    Ask(a, "token", false, watch);
    EXPECT_EQ(a.TakeText(), "ns/token token@0") << watch;
    Ask(a, "token", true, watch);
  }
  for (size_t i = 0; i <= OwnerInterests::kMostKinds; ++i) {
    Ask(a, "x", false, fmt::format("objects/example.com/v1/Kind{}", i));
  }
  EXPECT_EQ(a.TakeText(), "ns/x x@0") << "the one too many";
  EXPECT_FALSE(a.closed.has_value());
  EXPECT_THAT(kube.searched, SizeIs(OwnerInterests::kMostKinds));
}

TEST_F(OwnerInterestsTest, OtherServicesAreRefused) {
  FakeReplica& job = Attach("j-0", v1::SERVICE_KIND_JOB);
  Ask(job);
  ASSERT_TRUE(job.closed.has_value());
  EXPECT_EQ(job.closed->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(kube.searched, IsEmpty());
}

}  // namespace
}  // namespace basalt::gateway
