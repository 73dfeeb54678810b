// Tests owners of pods that replicas request, over a scripted Kubernetes.
#include "gateway/interests/owner_interests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/kube/fake_kube_access.h"
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

class OwnerInterestsTest : public HubBench<> {
 protected:
  OwnerInterestsTest() {
    hub.Lead({});
    time.RunDueTasks();
  }
  FakeReplica& Attach(const std::string& name, v1::ServiceKind service = v1::SERVICE_KIND_POD_GROUP) {
    return Settle(name, service);
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
  // Returns a replica that has requested an object of a kind that is served.
  FakeReplica& Served() {
    FakeReplica& replica = Attach("r-0");
    Ask(replica);
    Serve();
    return replica;
  }
  KindListener& Kind() { return *kube.watched_kinds.at(kKind); }
  // The list is as of the newest object's version, unless another version is given.
  void Replace(std::vector<kube::v1::Object> objects, int64_t version = 0) {
    for (const kube::v1::Object& object : objects) version = std::max(version, RefOf(object).resource_version);
    Kind().OnReplaced(std::move(objects), version);
    time.RunDueTasks();
  }
  // Answers the only read under way.
  void AnswerRead(const std::string& key, absl::StatusOr<ReadObject> answer) {
    ASSERT_EQ(kube.kind_reads.size(), 1u);
    EXPECT_EQ(kube.kind_reads.front().first, key);
    auto done = std::move(kube.kind_reads.front().second);
    kube.kind_reads.clear();
    done(std::move(answer));
    time.RunDueTasks();
  }
  static ReadObject There(kube::v1::Object object, int64_t version) {
    return {.object = std::make_shared<const kube::v1::Object>(std::move(object)), .version = version};
  }
  static ReadObject Absent(int64_t version) { return {.object = nullptr, .version = version}; }
  void State(kube::v1::Object object) {
    Kind().OnState(std::move(object));
    time.RunDueTasks();
  }
};

TEST_F(OwnerInterestsTest, AnObjectIsToldOnceItsKindIsListedAndWhenItChanges) {
  FakeReplica& a = Served();
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
  EXPECT_EQ(b.TakeText(), "ns/a a@5") << "a known object is sent at once";
  EXPECT_THAT(kube.watched_kinds, SizeIs(1));
}

TEST_F(OwnerInterestsTest, ObjectsThatNobodyAsksForAreNotKept) {
  FakeReplica& a = Served();
  EXPECT_TRUE(Kind().Wants("ns", "a"));
  EXPECT_FALSE(Kind().Wants("ns", "foreign"));
  EXPECT_FALSE(Kind().Wants("other", "a"));
  Replace({Thing(5), Thing(6, "{}", "foreign", "u2")});
  for (int64_t version = 7; version < 100; ++version) State(Thing(version, "{}", "foreign", "u2"));
  EXPECT_EQ(hub.owner_interests().kept().objects, 1u);
  Ask(a, "a", /*withdraw=*/true);
  EXPECT_EQ(hub.owner_interests().kept().objects, 1u) << "a replica that starts again asks for it again";
  time.Advance(OwnerInterests::kKept);
  EXPECT_EQ(hub.owner_interests().kept().objects, 0u);
  EXPECT_FALSE(Kind().Wants("ns", "a"));
}

TEST_F(OwnerInterestsTest, AnObjectThatIsAskedForAfterTheListIsRead) {
  FakeReplica& a = Served();
  Replace({Thing(5)}, 9);
  a.TakeText();
  Ask(a, "later");
  EXPECT_EQ(a.TakeText(), "") << "nobody knows yet";
  AnswerRead("ns/later", There(Thing(3, "{}", "later", "u2"), 12));
  EXPECT_EQ(a.TakeText(), "ns/later later@3");
  Ask(a, "none");
  AnswerRead("ns/none", Absent(13));
  EXPECT_EQ(a.TakeText(), "deleted ns/none none@0");
}

// The watch may be behind a read or ahead of it: the newer state holds.
TEST_F(OwnerInterestsTest, AReadAndTheWatchAreNeverTakenForNewerThanTheyAre) {
  FakeReplica& a = Served();
  Replace({Thing(5)}, 9);
  a.TakeText();
  Ask(a, "b");
  State(Thing(20, R"({"spec":2})", "b"));
  EXPECT_EQ(a.TakeText(), "ns/b b@20");
  AnswerRead("ns/b", There(Thing(15, R"({"spec":1})", "b"), 19));
  EXPECT_EQ(a.TakeText(), "") << "the watch was ahead";
  Ask(a, "c");
  AnswerRead("ns/c", Absent(40));
  EXPECT_EQ(a.TakeText(), "deleted ns/c c@0");
  State(Thing(30, "{}", "c"));
  Kind().OnGone(Thing(35, "{}", "c"));
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "") << "the watch shows a life that was over by then";
  State(Thing(50, "{}", "c", "u9"));
  EXPECT_EQ(a.TakeText(), "ns/c c@50");
  Ask(a, "d");
  Kind().OnGone(Thing(60, "{}", "d"));
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "deleted ns/d d@0");
  AnswerRead("ns/d", There(Thing(55, "{}", "d"), 58));
  EXPECT_EQ(a.TakeText(), "") << "it is deleted since";
}

// A list that comes in pages lacks an object that is requested after its page came by.
TEST_F(OwnerInterestsTest, AnObjectThatTheListDoesNotHaveIsReadBeforeItCountsAsAbsent) {
  FakeReplica& a = Served();
  Replace({}, 9);
  EXPECT_EQ(a.TakeText(), "");
  AnswerRead("ns/a", There(Thing(5), 12));
  EXPECT_EQ(a.TakeText(), "ns/a a@5");
  Replace({}, 12);
  EXPECT_EQ(a.TakeText(), "") << "that list is no newer than the read";
  Replace({}, 13);
  EXPECT_EQ(a.TakeText(), "deleted ns/a a@0");
}

TEST_F(OwnerInterestsTest, FewReadsAreUnderWayAtATimeAndAFailedOneIsRepeated) {
  FakeReplica& a = Served();
  Replace({Thing(5)});
  a.TakeText();
  const size_t asked = OwnerInterests::kMostReads + 4;
  for (size_t i = 0; i < asked; ++i) Ask(a, fmt::format("n{}", i));
  ASSERT_THAT(kube.kind_reads, SizeIs(OwnerInterests::kMostReads));
  auto reads = std::exchange(kube.kind_reads, {});
  for (auto& [key, done] : reads) done(absl::UnavailableError("no connection"));
  EXPECT_THAT(kube.kind_reads, IsEmpty());
  time.Advance(OwnerInterests::kReadAgain);
  while (!kube.kind_reads.empty()) {
    ASSERT_LE(kube.kind_reads.size(), OwnerInterests::kMostReads);
    auto done = std::move(kube.kind_reads.front().second);
    kube.kind_reads.pop_front();
    done(Absent(9));
  }
  time.RunDueTasks();
  for (size_t i = 0; i < asked; ++i) {
    EXPECT_THAT(a.items, ::testing::Contains(fmt::format("deleted ns/n{0} n{0}@0", i)));
  }
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

TEST_F(OwnerInterestsTest, AKindThatIsNotServedHasNoObjectsUntilItIs) {
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
  FakeReplica& a = Served();
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
  FakeReplica& a = Served();
  Replace({Thing(5)});
  a.TakeText();
  Ask(a, "a", /*withdraw=*/true);
  State(Thing(6, R"({"spec":{}})"));
  EXPECT_EQ(a.TakeText(), "") << "nobody asks";
  Ask(a);
  EXPECT_EQ(a.TakeText(), "ns/a a@6") << "the object is still kept";
  Ask(a, "a", /*withdraw=*/true);
  time.Advance(OwnerInterests::kLinger - absl::Seconds(1));
  Ask(a);
  AnswerRead("ns/a", There(Thing(6), 8));
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
  AnswerRead("ns/gone", Absent(5));
  a.TakeText();
  Kind().OnForbidden("no");
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "ns/gone gone@0") << "nobody knows whether it is there by now";
  Ask(a, "new");
  EXPECT_EQ(a.TakeText(), "ns/new new@0");
  Replace({Thing(5)}, 9);
  EXPECT_EQ(a.TakeText(), "ns/a a@5 | deleted ns/gone gone@0");
  AnswerRead("ns/new", Absent(9));
  EXPECT_EQ(a.TakeText(), "deleted ns/new new@0");
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
TEST_F(OwnerInterestsTest, AForbiddenKindIsUnreadableAndEndsNoStream) {
  FakeReplica& a = Attach("r-0");
  for (const char* watch : {"objects/v1/Secret", "objects/v1/Foo_Bar", "objects/../../x"}) {
    Ask(a, "token", false, watch);
    EXPECT_EQ(a.TakeText(), "ns/token token@0") << watch;
    Ask(a, "token", true, watch);
  }
}

TEST_F(OwnerInterestsTest, AReplicaHasItsShareOfTheKinds) {
  const auto kind = [](size_t i) { return fmt::format("objects/example.com/v1/Kind{}", i); };
  FakeReplica& greedy = Attach("r-0");
  for (size_t i = 0; i <= OwnerInterests::kMostKindsOfOne; ++i) Ask(greedy, "x", false, kind(i));
  EXPECT_EQ(greedy.TakeText(), "ns/x x@0") << "the one too many";
  EXPECT_FALSE(greedy.closed.has_value());
  EXPECT_THAT(kube.searched, SizeIs(OwnerInterests::kMostKindsOfOne));
  Ask(greedy, "y", false, kind(0));
  EXPECT_EQ(greedy.TakeText(), "") << "of a kind that it has, it may ask for more";
  FakeReplica& other = Attach("r-1");
  Ask(other, "x", false, kind(1000));
  EXPECT_EQ(other.TakeText(), "") << "the others have theirs";
  Ask(greedy, "x", true, kind(1));
  Ask(greedy, "x", false, kind(OwnerInterests::kMostKindsOfOne));
  EXPECT_EQ(greedy.TakeText(), "") << "what is withdrawn is given back";
}

TEST_F(OwnerInterestsTest, KindsThatNobodyAsksForAnyMoreMakeRoom) {
  const auto kind = [](size_t i) { return fmt::format("objects/example.com/v1/Kind{}", i); };
  size_t next = 0;
  for (const char* name : {"r-0", "r-1"}) {
    FakeReplica& replica = Attach(name);
    for (size_t i = 0; i < OwnerInterests::kMostKindsOfOne; ++i) Ask(replica, "x", false, kind(next++));
  }
  FakeReplica& late = Attach("r-2");
  Ask(late, "x", false, kind(next++));
  EXPECT_EQ(late.TakeText(), "ns/x x@0") << "there are as many as there may be";
  replicas[0]->Close(absl::OkStatus());
  time.RunDueTasks();
  for (size_t i = 0; i < 10; ++i) Ask(late, "x", false, kind(next++));
  EXPECT_EQ(late.TakeText(), "") << "those of a replica that is gone make room";
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
