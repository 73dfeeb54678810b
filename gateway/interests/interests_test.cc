// Tests interests of replicas in single objects, through a hub: what is watched, what is read, and which replicas are
// notified.
#include "gateway/interests/interests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/kube/fake_kube_access.h"
#include "gateway/server/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

constexpr char kClaim[] = "v1/persistentvolumeclaims ns/claim";

std::shared_ptr<const kube::v1::Object> Claim(int64_t resource_version, const std::string& name = "claim") {
  kube::v1::Object object;
  kube::v1::ObjectMeta& meta = *object.mutable_generic()->mutable_meta();
  meta.set_namespace_("ns");
  meta.set_name(name);
  meta.set_uid("u");
  meta.set_resource_version(resource_version);
  return std::make_shared<const kube::v1::Object>(std::move(object));
}

v1::GetResponse Found(int64_t resource_version, const std::string& name) {
  v1::GetResponse response;
  *response.mutable_object() = *Claim(resource_version, name);
  return response;
}

class InterestsTest : public HubBench<> {
 protected:
  InterestsTest()
      : HubBench({"jobs.batch.volcano.sh"},
                 {.cluster = "c", .version = "1", .interests = {.max_watches = 2, .period = absl::Seconds(10)}}) {
    hub.Lead({});
    time.RunDueTasks();
  }
  FakeReplica& Attach(const std::string& name) { return Settle(name); }
  void Ask(FakeReplica& replica, const std::string& name = "claim", bool withdraw = false) {
    v1::AttachRequest request;
    v1::Interest& interest = *request.mutable_interest();
    interest.set_watch("persistentvolumeclaims");
    interest.set_namespace_("ns");
    interest.set_name(name);
    interest.set_withdraw(withdraw);
    replica.Say(request);
  }
  void Withdraw(FakeReplica& replica, const std::string& name = "claim") { Ask(replica, name, /*withdraw=*/true); }
  void See(const std::string& watched, absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen) {
    ASSERT_TRUE(kube.watched.contains(watched));
    kube.watched[watched](std::move(seen));
    time.RunDueTasks();
  }
  void AnswerGet(absl::StatusOr<v1::GetResponse> answer) {
    ASSERT_THAT(kube.gets, SizeIs(1));
    std::exchange(kube.gets, {}).front().second(std::move(answer));
    time.RunDueTasks();
  }
};

TEST_F(InterestsTest, AnObjectUnderWatchIsReportedUntilItIsWithdrawn) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  EXPECT_EQ(a.TakeText(), "") << "nobody knows yet";
  See(kClaim, nullptr);
  EXPECT_EQ(a.TakeText(), "deleted ns/claim claim@0");
  See(kClaim, Claim(5));
  EXPECT_EQ(a.TakeText(), "ns/claim claim@5");
  See(kClaim, Claim(5));
  EXPECT_EQ(a.TakeText(), "") << "a list anew that says the same";
  See(kClaim, nullptr);
  EXPECT_EQ(a.TakeText(), "deleted ns/claim claim@0");
  Withdraw(a);
  EXPECT_THAT(kube.watched, IsEmpty());
  time.Advance(absl::Minutes(1));
  EXPECT_THAT(kube.gets, IsEmpty());
}

TEST_F(InterestsTest, TwoReplicasShareOneWatchWhichEndsWithTheLast) {
  FakeReplica& a = Attach("r-0");
  FakeReplica& b = Attach("r-1");
  Ask(a);
  See(kClaim, nullptr);
  a.TakeText();
  Ask(b);
  EXPECT_EQ(b.TakeText(), "deleted ns/claim claim@0") << "what is known is told at once";
  See(kClaim, Claim(5));
  EXPECT_EQ(a.TakeText(), "ns/claim claim@5");
  EXPECT_EQ(b.TakeText(), "ns/claim claim@5");
  Withdraw(a);
  See(kClaim, Claim(6));
  EXPECT_EQ(a.TakeText(), "");
  EXPECT_EQ(b.TakeText(), "ns/claim claim@6");
  b.Close(absl::OkStatus());
  time.RunDueTasks();
  EXPECT_THAT(kube.watched, IsEmpty());
}

TEST_F(InterestsTest, OverTheBoundItIsReadUntilThereIsRoom) {
  FakeReplica& a = Attach("r-0");
  for (const char* name : {"x", "y", "z"}) Ask(a, name);
  EXPECT_THAT(kube.watched, SizeIs(2));
  v1::GetResponse absent;
  absent.mutable_error()->set_code(404);
  AnswerGet(absent);
  EXPECT_EQ(a.TakeText(), "deleted ns/z z@0");
  time.Advance(absl::Seconds(10));
  AnswerGet(Found(5, "z"));
  EXPECT_EQ(a.TakeText(), "ns/z z@5");
  time.Advance(absl::Seconds(10));
  AnswerGet(absl::UnavailableError("away"));
  EXPECT_EQ(a.TakeText(), "");
  Withdraw(a, "x");
  time.Advance(absl::Seconds(10));
  EXPECT_THAT(kube.gets, IsEmpty());
  See("v1/persistentvolumeclaims ns/z", Claim(6, "z"));
  EXPECT_EQ(a.TakeText(), "ns/z z@6");
  time.Advance(absl::Minutes(1));
  EXPECT_THAT(kube.gets, IsEmpty());
}

TEST_F(InterestsTest, HoweverManyAreReadTheServerIsAskedSoOften) {
  FakeReplica& a = Attach("r-0");
  for (int i = 0; i < 2002; ++i) Ask(a, fmt::format("claim-{}", i));
  size_t asked = 0;
  v1::GetResponse absent;
  absent.mutable_error()->set_code(404);
  const auto answer = [&] {
    for (auto& [request, done] : std::exchange(kube.gets, {})) {
      ++asked;
      done(absent);
    }
  };
  answer();
  EXPECT_EQ(asked, 2000u) << "the first time at once";
  asked = 0;
  for (int second = 0; second < 300; ++second) {
    const size_t before = asked;
    time.Advance(absl::Seconds(1));
    answer();
    ASSERT_LE(asked - before, 21u) << second;
  }
  EXPECT_GE(asked, 4000u);
}

TEST_F(InterestsTest, AnObjectThatMustNotBeWatchedIsReadUntilItMayBe) {
  FakeReplica& a = Attach("r-0");
  Ask(a);
  See(kClaim, absl::PermissionDeniedError("no list for you"));
  AnswerGet(Found(5, "claim"));
  EXPECT_EQ(a.TakeText(), "ns/claim claim@5");
  time.Advance(absl::Seconds(10));
  ASSERT_THAT(kube.gets, SizeIs(1));
  See(kClaim, Claim(7));
  EXPECT_EQ(a.TakeText(), "ns/claim claim@7");
  AnswerGet(Found(6, "claim"));
  EXPECT_EQ(a.TakeText(), "") << "an answer from before";
  time.Advance(absl::Minutes(1));
  EXPECT_THAT(kube.gets, IsEmpty());
}

TEST_F(InterestsTest, AKindThatIsNotServedHasNoObjectsUntilItIsFound) {
  FakeReplica& a = Attach("r-0");
  FakeReplica& b = Attach("r-1");
  for (const char* name : {"claim", "x"}) Ask(a, name);
  Ask(b);
  a.TakeText();
  See(kClaim, absl::NotFoundError("404"));
  EXPECT_EQ(a.TakeText(), "deleted ns/claim claim@0 | deleted ns/x x@0");
  EXPECT_EQ(b.TakeText(), "deleted ns/claim claim@0");
  EXPECT_FALSE(a.closed.has_value() || b.closed.has_value());
  Ask(a, "y");
  EXPECT_EQ(a.TakeText(), "deleted ns/y y@0") << "so much is known";
  time.Advance(absl::Hours(1));
  EXPECT_THAT(kube.gets, IsEmpty());
  EXPECT_THAT(kube.watched, IsEmpty());
  ASSERT_THAT(kube.searched, ElementsAre(Key("persistentvolumeclaims again"))) << "one look for all of them";

  kube.searched.begin()->second({.version = "v1"});
  EXPECT_THAT(kube.watched, SizeIs(2));
  EXPECT_THAT(kube.gets, SizeIs(1)) << "beyond the bound, as ever";
  See(kClaim, Claim(5));
  EXPECT_EQ(a.TakeText(), "ns/claim claim@5");
}

// These kinds have versions that the API server has to name. Whether a service may ask for them is the hub's matter.
class KindsOfInterestsTest : public ::testing::Test {
 protected:
  KindsOfInterestsTest() { bench.Attach(); }

  void Add(const std::string& name) { interests.Add(*bench.session, {"things.example.com", "ns", name}); }
  void Withdraw(const std::string& name) { interests.Withdraw(*bench.session, {"things.example.com", "ns", name}); }
  void Find(const std::string& search, const std::string& version) {
    ASSERT_TRUE(kube.searched.contains(search));
    kube.searched[search]({.version = version});
  }
  void See(const std::string& watched, absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen) {
    ASSERT_TRUE(kube.watched.contains(watched));
    kube.watched[watched](std::move(seen));
    bench.time.RunDueTasks();
  }
  std::string TakeLog() { return std::exchange(log, ""); }

  Bench bench;
  FakeKubeAccess kube;
  std::string log;
  Interests interests{bench.loop, kube, {}, [this](Session&, const InterestKey& key, const auto& object) {
                        log += fmt::format("{}@{} ", key.name, object ? RefOf(*object).resource_version : 0);
                      }};
};

TEST_F(KindsOfInterestsTest, AGroupThatNobodyServesIsLookedForOnceForAllItsObjects) {
  for (const char* name : {"a", "b"}) Add(name);
  EXPECT_EQ(TakeLog(), "");
  ASSERT_THAT(kube.searched, ElementsAre(Key("things.example.com")));
  Find("things.example.com", "");
  EXPECT_EQ(TakeLog(), "a@0 b@0 ");
  Add("c");
  EXPECT_EQ(TakeLog(), "c@0 ");
  EXPECT_THAT(kube.watched, IsEmpty());
  Find("things.example.com", "v1beta1");
  EXPECT_THAT(kube.watched,
              ElementsAre(Key("v1beta1/things ns/a"), Key("v1beta1/things ns/b"), Key("v1beta1/things ns/c")));
  See("v1beta1/things ns/b", Claim(5, "b"));
  EXPECT_EQ(TakeLog(), "b@5 ");
  EXPECT_THAT(kube.gets, IsEmpty());
}

TEST_F(KindsOfInterestsTest, AKindThatChangesItsVersionIsFoundAgain) {
  Add("a");
  Find("things.example.com", "v1beta1");
  See("v1beta1/things ns/a", Claim(5, "a"));
  EXPECT_EQ(TakeLog(), "a@5 ");
  for (const char* version : {"v1", "v2"}) {
    See(std::string(kube.watched.begin()->first), absl::NotFoundError("404"));
    EXPECT_EQ(TakeLog(), "a@0 ");
    EXPECT_THAT(kube.watched, IsEmpty());
    Find("things.example.com again", version);
    EXPECT_THAT(kube.watched, ElementsAre(Key(fmt::format("{}/things ns/a", version))));
    See(std::string(kube.watched.begin()->first), Claim(5, "a"));
    EXPECT_EQ(TakeLog(), "a@5 ");
  }
}

TEST_F(KindsOfInterestsTest, NobodyLooksForAKindOnceTheLastHasWithdrawn) {
  for (const char* name : {"a", "b"}) Add(name);
  Withdraw("a");
  EXPECT_THAT(kube.searched, SizeIs(1));
  Withdraw("b");
  EXPECT_THAT(kube.searched, IsEmpty());
  Add("a");
  EXPECT_THAT(kube.searched, SizeIs(1));
  EXPECT_EQ(TakeLog(), "") << "what was known before is forgotten";
  interests.Forget(*bench.session);
  EXPECT_THAT(kube.searched, IsEmpty());
}

}  // namespace
}  // namespace basalt::gateway
