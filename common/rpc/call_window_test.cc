#include "common/rpc/call_window.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::rpc {
namespace {

using Ids = std::vector<uint64_t>;

// A call's data is its id.
class Window : public CallWindow<uint64_t> {
 public:
  using CallWindow::CallWindow;
  absl::StatusCode Ask(uint64_t id, size_t bytes = 1) { return Add(id, bytes, id).code(); }
  // Ends the turn and returns the next message.
  Ids Turn() {
    EndTurn();
    return NextMessage();
  }
};

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

TEST(CallWindowTest, CallsOfOneTurnAreOneMessageInTheirOrder) {
  Window window{CallBounds()};
  for (const uint64_t id : {1, 2, 5}) EXPECT_EQ(window.Ask(id), kOk);
  EXPECT_EQ(window.NextMessage(), Ids()) << "the turn goes on";
  window.EndTurn();
  EXPECT_EQ(window.Ask(6), kOk);
  EXPECT_EQ(window.NextMessage(), (Ids{1, 2, 5})) << "what came after the turn waits for the end of its own";
  EXPECT_EQ(window.NextMessage(), Ids());
  EXPECT_FALSE(window.AllSent());
  EXPECT_EQ(window.Turn(), Ids{6});
  EXPECT_TRUE(window.AllSent());
}

TEST(CallWindowTest, MessagesAreAsLargeAsTheBoundsAllow) {
  struct Case {
    std::string what;
    CallBounds bounds;
    std::vector<size_t> bytes;  // Sizes of the calls 1, 2, 3 …
    std::vector<Ids> messages;  // The messages that may be sent before a call is answered.
  };
  const std::vector<Case> cases = {
      {"no bounds", {}, {1, 1, 1}, {{1, 2, 3}}},
      {"calls of a message", {.message_calls = 2}, {1, 1, 1}, {{1, 2}, {3}}},
      {"bytes of a message", {.message_bytes = 10}, {4, 6, 1}, {{1, 2}, {3}}},
      {"a call over the bytes of a message goes alone", {.message_bytes = 10}, {1, 11, 1}, {{1}, {2}, {3}}},
      {"calls that are sent", {.sent_calls = 2}, {1, 1, 1}, {{1, 2}}},
      {"bytes that are sent", {.sent_bytes = 10}, {4, 6, 1}, {{1, 2}}},
      {"a call over the bytes that are sent goes alone", {.sent_bytes = 10}, {11, 1}, {{1}}},
      {"and waits until it is alone", {.sent_bytes = 10}, {1, 11}, {{1}}},
      {"all of them",
       {.message_calls = 2, .message_bytes = 10, .sent_calls = 4, .sent_bytes = 20},
       {5, 6, 1, 1, 1},
       {{1}, {2, 3}, {4}}},
  };
  for (const Case& at : cases) {
    Window window(at.bounds);
    for (size_t i = 0; i < at.bytes.size(); ++i) EXPECT_EQ(window.Ask(i + 1, at.bytes[i]), kOk) << at.what;
    std::vector<Ids> messages;
    for (Ids message = window.Turn(); !message.empty(); message = window.NextMessage()) messages.push_back(message);
    EXPECT_EQ(messages, at.messages) << at.what;
  }
}

TEST(CallWindowTest, AnAnswerMakesRoomForTheNextOnce) {
  Window window({.sent_calls = 2, .sent_bytes = 10});
  for (const uint64_t id : {1, 2, 3, 4}) EXPECT_EQ(window.Ask(id, 5), kOk);
  EXPECT_EQ(window.Turn(), (Ids{1, 2}));
  window.Answered(2);
  window.Answered(2);
  window.Answered(7);
  EXPECT_EQ(window.NextMessage(), Ids{3});
  EXPECT_EQ(window.NextMessage(), Ids());
  window.Answered(1);
  window.Answered(3);
  EXPECT_EQ(window.NextMessage(), Ids{4});
  EXPECT_EQ(window.sent(), 1u);
}

TEST(CallWindowTest, ACallWithoutRoomIsRefusedAndNotKept) {
  struct Case {
    std::string what;
    CallBounds bounds;
    std::vector<size_t> bytes;
    std::vector<absl::StatusCode> answers;
  };
  const std::vector<Case> cases = {
      {"too large for a message", {.call_bytes = 10}, {11, 10}, {kExhausted, kOk}},
      {"calls", {.open_calls = 2}, {1, 1, 1}, {kOk, kOk, kExhausted}},
      {"bytes", {.open_bytes = 10}, {6, 5, 4}, {kOk, kExhausted, kOk}},
      {"alone it has its way", {.open_bytes = 10}, {11, 1}, {kOk, kExhausted}},
  };
  for (const Case& at : cases) {
    for (const bool sent : {false, true}) {
      Window window(at.bounds);
      for (size_t i = 0; i < at.bytes.size(); ++i) {
        EXPECT_EQ(window.Ask(i + 1, at.bytes[i]), at.answers[i]) << at.what << ", sent: " << sent;
        if (sent) window.Turn();
      }
    }
  }
}

TEST(CallWindowTest, ACallThatEndsMakesRoom) {
  Window window({.open_calls = 2});
  EXPECT_EQ(window.Ask(1), kOk);
  window.Turn();
  EXPECT_EQ(window.Ask(2), kOk);
  EXPECT_EQ(window.Ask(3), kExhausted);
  EXPECT_TRUE(window.Remove(2));
  EXPECT_EQ(window.Ask(4), kOk);
  EXPECT_EQ(window.Ask(5), kExhausted);
  window.Answered(1);
  EXPECT_EQ(window.Ask(6), kOk);
  EXPECT_EQ(window.Turn(), (Ids{4, 6}));
}

TEST(CallWindowTest, OnlyWhatWasNotSentIsTakenBack) {
  Window window({.message_calls = 1, .sent_calls = 1});
  for (const uint64_t id : {1, 2, 3}) EXPECT_EQ(window.Ask(id), kOk);
  EXPECT_EQ(window.Turn(), Ids{1});
  EXPECT_EQ(window.Ask(4), kOk);
  EXPECT_FALSE(window.Remove(1)) << "sent";
  EXPECT_FALSE(window.Remove(9)) << "unknown";
  EXPECT_TRUE(window.Remove(2)) << "of a turn that is over";
  EXPECT_TRUE(window.Remove(4)) << "of this turn";
  EXPECT_FALSE(window.Remove(4));
  window.Answered(1);
  EXPECT_EQ(window.NextMessage(), Ids{3});
  EXPECT_EQ(window.NextMessage(), Ids());
  EXPECT_EQ(window.Ask(5), kOk);
  EXPECT_EQ(window.Ask(6), kOk);
  EXPECT_EQ(window.TakeWaiting(), (Ids{5, 6}));
  EXPECT_TRUE(window.AllSent());
  EXPECT_EQ(window.sent(), 1u) << "3 is under way still";
}

}  // namespace
}  // namespace basalt::rpc
