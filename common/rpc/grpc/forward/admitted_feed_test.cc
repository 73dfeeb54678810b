// When a watch of a user begins and ends, under simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/pod_group_part.grpc.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/rpc/grpc/forward/serve.h"
#include "common/rpc/grpc/user_access_fixture.h"
#include "common/testing/status_matchers.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::StatusIs;
using podgroup::v1::PodGroupPartService;
using podgroup::v1::WatchPartRequest;
using podgroup::v1::WatchPartResponse;
using podgroup::v1::WatchPodGroupsRequest;
using podgroup::v1::WatchPodGroupsResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct WatchedGroups {
  using Request = WatchPodGroupsRequest;
  using Response = WatchPodGroupsResponse;
  using PartRequest = WatchPartRequest;
  using PartResponse = WatchPartResponse;
  static constexpr std::string_view kOtherGroup = kube::kKaiPodGroups.group;
  static bool IsOfOtherGroup(const Response& response) {
    return response.pod_group().profile() == podgroup::v1::PROFILE_KAI;
  }
  static void MoveObject(PartResponse& message, Response& response) {
    response.mutable_pod_group()->Swap(message.mutable_pod_group());
  }
};

template <typename Message>
class ListedFeed final : public Feed<Message> {
 public:
  explicit ListedFeed(std::deque<Message>& messages) : messages_(messages) {}
  bool Take(Message* message) override {
    if (messages_.empty()) return false;
    *message = std::move(messages_.front());
    messages_.pop_front();
    return true;
  }
  std::optional<absl::Status> End() override { return std::nullopt; }

 private:
  std::deque<Message>& messages_;
};

class AdmittedFeedTest : public UserAccessFixture {
 protected:
  using Watch = AdmittedFeed<WatchedGroups>;

  static WatchPodGroupsResponse MakeState(const std::string& name, podgroup::v1::Profile profile) {
    WatchPodGroupsResponse response;
    response.mutable_pod_group()->mutable_object()->mutable_meta()->set_name(name);
    response.mutable_pod_group()->set_profile(profile);
    return response;
  }
  Watch MakeWatch(const Client& client, Watch::Open open) {
    return Watch(loop, *access, client, {.ns = "team-a", .name = ""}, std::move(open), [this] { ++notices; });
  }
  // Makes a watch that publishes `messages`.
  Watch MakeWatch(const Client& client) {
    return MakeWatch(client, [this](const std::function<void()>&) {
      ++begun;
      return std::make_unique<ListedFeed<WatchPodGroupsResponse>>(messages);
    });
  }
  static std::vector<std::string> NamesOf(Watch& watch) {
    std::vector<std::string> names;
    WatchPodGroupsResponse response;
    for (; watch.Take(&response); response.Clear()) names.push_back(response.pod_group().object().meta().name());
    return names;
  }

  std::deque<WatchPodGroupsResponse> messages{MakeState("x", podgroup::v1::PROFILE_UNSPECIFIED),
                                              MakeState("k", podgroup::v1::PROFILE_KAI)};
  int begun = 0;
  int notices = 0;
};

TEST_F(AdmittedFeedTest, AWatchBeginsOnceTheReviewsHaveAllowedIt) {
  allowed = {"watch team-a/"};
  holds_reviews = true;
  Watch watch = MakeWatch(User("ann"));
  time.RunDueTasks();
  AnswerReviews();  // The review of the other API group is still open.
  watch.Tick();
  EXPECT_EQ(begun, 0);
  EXPECT_THAT(NamesOf(watch), IsEmpty());
  EXPECT_EQ(watch.End(), std::nullopt);
  EXPECT_EQ(notices, 0);
  AnswerReviews();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(notices, 1);
  EXPECT_THAT(NamesOf(watch), ElementsAre("x"));
  EXPECT_EQ(watch.End(), std::nullopt);
}

TEST_F(AdmittedFeedTest, AWatchThatTheReviewDoesNotAllowNeverBegins) {
  const struct {
    absl::Status answer;
    absl::StatusCode end;
    const char* why;
  } cases[] = {
      {absl::OkStatus(), absl::StatusCode::kPermissionDenied, "user 'ann' may not watch podgroups"},
      {absl::UnavailableError("no gateway"), absl::StatusCode::kUnavailable, "no gateway"},
      {absl::UnauthenticatedError("over"), absl::StatusCode::kUnauthenticated, "over"},
  };
  for (const auto& test : cases) {
    answer = test.answer;
    notices = 0;
    Watch watch = MakeWatch(User("ann"));
    time.RunDueTasks();
    EXPECT_EQ(notices, 1);
    EXPECT_THAT(NamesOf(watch), IsEmpty());
    EXPECT_THAT(watch.End().value_or(absl::OkStatus()), StatusIs(test.end, HasSubstr(test.why)));
    allowed = {"watch team-a/"};
    time.Advance(absl::Minutes(1));
    watch.Tick();
    EXPECT_EQ(begun, 0) << "a right that comes later begins no watch that has ended";
    allowed.clear();
  }
}

TEST_F(AdmittedFeedTest, AWatchThatIsGoneBeforeItsReviewBeginsNothing) {
  allowed = {"watch team-a/"};
  holds_reviews = true;
  {
    const Watch watch = MakeWatch(User("ann"));
    time.RunDueTasks();
    AnswerReviews();
  }
  AnswerReviews();
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(notices, 0);
}

TEST_F(AdmittedFeedTest, ObjectsOfTheOtherGroupAreToldToThoseWhoMayWatchThem) {
  allowed = {"watch team-a/", "watch team-a/ of scheduling.run.ai"};
  Watch watch = MakeWatch(User("ann"));
  time.RunDueTasks();
  EXPECT_THAT(NamesOf(watch), ElementsAre("x", "k"));
}

TEST_F(AdmittedFeedTest, AWatchThatTellsNothingEndsWithItsTokenBeforeAndAfterTheReview) {
  allowed = {"watch team-a/"};
  messages.clear();
  for (const bool is_reviewed : {true, false}) {
    holds_reviews = !is_reviewed;
    Watch watch = MakeWatch(User(is_reviewed ? "ann" : "bob", absl::Minutes(5)));
    time.Advance(absl::Minutes(5));
    notices = 0;
    watch.Tick();
    EXPECT_EQ(notices, 1);
    EXPECT_THAT(watch.End().value_or(absl::OkStatus()), StatusIs(absl::StatusCode::kUnauthenticated));
  }
}

TEST_F(AdmittedFeedTest, AWatchEndsWithItsTokenAndTheNextOneGoesOnFromThere) {
  allowed = {"watch team-a/"};
  std::deque<WatchPartResponse> parts;
  WatchPartRequest asked_part;
  const auto forwarder = std::make_shared<Forwarder<PodGroupPartService>>(loop, members);
  const auto open = [&](const std::string& token) {
    WatchPodGroupsRequest request;
    request.set_namespace_("team-a");
    request.set_name("x");
    request.set_token(token);
    const auto local = [&](const WatchPartRequest& part, const std::function<void()>&) {
      asked_part = part;
      return std::make_unique<ListedFeed<WatchPartResponse>>(parts);
    };
    return OpenWatchOfAll<WatchedGroups>(loop, members, forwarder, request, local,
                                         [](auto& stub, auto... arguments) { stub.async()->WatchPart(arguments...); });
  };
  const auto publish = [&](int64_t revision) {
    WatchPartResponse& part = parts.emplace_back();
    part.set_type(WatchPartResponse::TYPE_STATE);
    part.mutable_position()->set_slot(SlotOf(kube::ObjectKey("team-a", "x")));
    part.mutable_position()->set_incarnation(7);
    part.mutable_position()->set_revision(revision);
  };
  std::string token;
  {
    Watch watch = MakeWatch(User("ann", absl::Minutes(5)), open(""));
    time.RunDueTasks();
    EXPECT_THAT(asked_part.since(), IsEmpty());
    publish(3);
    WatchPodGroupsResponse response;
    ASSERT_TRUE(watch.Take(&response));
    token = response.token();
    time.Advance(absl::Minutes(5) - absl::Milliseconds(1));
    watch.Tick();
    EXPECT_EQ(watch.End(), std::nullopt);
    time.Advance(absl::Milliseconds(1));
    notices = 0;
    watch.Tick();
    EXPECT_GT(notices, 0);
    publish(4);
    response.Clear();
    EXPECT_FALSE(watch.Take(&response)) << "nothing is told after the end of the token";
    EXPECT_THAT(watch.End().value_or(absl::OkStatus()),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("log in and resume")));
  }
  Watch next = MakeWatch(User("ann", absl::Minutes(5)), open(token));
  time.RunDueTasks();
  ASSERT_THAT(asked_part.since(), SizeIs(1));
  EXPECT_EQ(asked_part.since(0).incarnation(), 7u);
  EXPECT_EQ(asked_part.since(0).revision(), 3);
  WatchPodGroupsResponse response;
  ASSERT_TRUE(next.Take(&response));
  EXPECT_EQ(response.type(), WatchPodGroupsResponse::TYPE_STATE);
}

}  // namespace
}  // namespace basalt::rpc
