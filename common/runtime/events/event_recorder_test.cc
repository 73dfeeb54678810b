#include "common/runtime/events/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/runtime/testing/scripted_context.h"

namespace basalt::runtime {
namespace {

using testing::Done;
using ::testing::HasSubstr;
using testing::Refused;

// Does nothing: the test itself is the controller.
class Nothing : public Controller {
 public:
  absl::StatusOr<std::vector<KnownObject>> OpenSlot(uint32_t) override { return std::vector<KnownObject>(); }
  void CloseSlot(uint32_t) override {}
  void OnState(std::string_view, const std::string&, kube::v1::Object&&) override {}
  void OnGone(std::string_view, const Gone&) override {}
  void OnShared(const std::string&, const kube::v1::Object&, bool) override {}
  void Decide(std::string_view, kv::WriteBatch&) override {}
  void Act(std::string_view) override {}
};

class EventRecorderTest : public ::testing::Test {
 protected:
  bool Record() {
    return recorder_.Record("team/web", events_["uid-1"],
                            {.api_version = "v1",
                             .kind = "Pod",
                             .ns = "team",
                             .name = "web-1",
                             .uid = "uid-1",
                             .warning = true,
                             .reason = "PodGroupError",
                             .message = "the queue is closed",
                             .component = "test"});
  }
  void Answer(WriteOutcome outcome) { context_.Answer(std::move(outcome), controller_); }
  void AnswerFound(const std::string& json) {
    gateway::v1::GetResponse response;
    response.mutable_object()->mutable_generic()->mutable_meta()->set_uid("event-uid");
    response.mutable_object()->mutable_generic()->set_json(json);
    context_.Answer(std::move(response), controller_);
  }

  testing::ScriptedContext context_;
  Nothing controller_;
  std::map<std::string, ObjectEvents> events_;  // By the UID of the object.
  EventRecorder recorder_{context_, [this](const std::string& key, const std::string& uid) -> ObjectEvents* {
                            EXPECT_EQ(key, "team/web");
                            const auto it = events_.find(uid);
                            return it == events_.end() ? nullptr : &it->second;
                          }};
};

TEST_F(EventRecorderTest, AnEventFromBeforeIsReadAndCountedOn) {
  EXPECT_TRUE(Record());
  EXPECT_FALSE(Record()) << "the series has begun";
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_EQ(context_.writes.front().key, "team/web");
  EXPECT_TRUE(context_.writes.front().request.has_create());
  Answer(Refused(409, "AlreadyExists"));
  ASSERT_EQ(context_.gets.size(), 1U);
  AnswerFound(R"({"count":4})");
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_EQ(context_.writes.front().request.patch().uid(), "event-uid");
  EXPECT_THAT(context_.writes.front().request.patch().body(), HasSubstr(R"("count":6)"));
  Answer(Done());
  EXPECT_TRUE(context_.writes.empty());
}

TEST_F(EventRecorderTest, ARepeatIsWrittenAfterTheInterval) {
  Record();
  Answer(Done());
  context_.Advance(EventRecorder::kInterval - absl::Seconds(1));
  EXPECT_FALSE(Record());
  EXPECT_TRUE(context_.gets.empty());
  context_.Advance(absl::Seconds(1));
  EXPECT_FALSE(Record());
  ASSERT_EQ(context_.gets.size(), 1U);
  AnswerFound(R"({"count":1})");
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_THAT(context_.writes.front().request.patch().body(), HasSubstr(R"("count":3)"));
}

TEST_F(EventRecorderTest, NothingFollowsOnceTheObjectIsGone) {
  Record();
  events_.clear();
  Answer(Refused(409, "AlreadyExists"));
  EXPECT_TRUE(context_.gets.empty());
  Record();
  Answer(Refused(409, "AlreadyExists"));
  ASSERT_EQ(context_.gets.size(), 1U);
  events_.clear();
  AnswerFound(R"({"count":1})");
  EXPECT_TRUE(context_.writes.empty());
}

}  // namespace
}  // namespace basalt::runtime
