#include "common/reconcile/effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace basalt {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

// Has the members of the runtime's outcomes.
struct Outcome {
  enum class Kind { kDone, kRefused, kNotSent, kUnknown };
  struct Error {
    int code() const { return number; }
    std::string_view reason() const { return text; }
    int number = 0;
    std::string_view text;
  };
  Kind kind;
  Error error;
};

TEST(AnswerTest, IsReadFromKindCodeAndReason) {
  struct Case {
    const char* what;
    Outcome outcome;
    Answer expected;
  };
  const Case cases[] = {
      {"a success", {Outcome::Kind::kDone, {}}, Answer::kDone},
      {"a name that is taken", {Outcome::Kind::kRefused, {409, "AlreadyExists"}}, Answer::kAlreadyExists},
      {"a precondition or a quota", {Outcome::Kind::kRefused, {409, "Conflict"}}, Answer::kConflict},
      {"a 409 that gives no reason", {Outcome::Kind::kRefused, {409, ""}}, Answer::kConflict},
      {"a missing object", {Outcome::Kind::kRefused, {404, "NotFound"}}, Answer::kNotFound},
      {"a value that is not taken", {Outcome::Kind::kRefused, {422, "Invalid"}}, Answer::kInvalid},
      {"a missing right", {Outcome::Kind::kRefused, {403, "Forbidden"}}, Answer::kForbidden},
      {"an overload", {Outcome::Kind::kRefused, {429, "TooManyRequests"}}, Answer::kRefused},
      {"a server in trouble", {Outcome::Kind::kRefused, {500, "AlreadyExists"}}, Answer::kRefused},
      {"no gateway", {Outcome::Kind::kNotSent, {}}, Answer::kNotSent},
      {"no answer", {Outcome::Kind::kUnknown, {}}, Answer::kUnknown},
  };
  for (const Case& test : cases) EXPECT_EQ(AnswerOf(test.outcome), test.expected) << test.what;
}

TEST(AnswerTest, IsReadFromTheStatusOfACall) {
  struct Case {
    const char* what;
    absl::StatusCode code;
    Answer expected;
  };
  const Case cases[] = {
      {"a success", absl::StatusCode::kOk, Answer::kDone},
      {"a name that is taken", absl::StatusCode::kAlreadyExists, Answer::kAlreadyExists},
      {"a missing object", absl::StatusCode::kNotFound, Answer::kNotFound},
      {"a state that does not fit", absl::StatusCode::kFailedPrecondition, Answer::kConflict},
      {"a value that is not taken", absl::StatusCode::kInvalidArgument, Answer::kInvalid},
      {"a missing right", absl::StatusCode::kPermissionDenied, Answer::kForbidden},
      {"a peer that is not reached", absl::StatusCode::kUnavailable, Answer::kNotSent},
      {"a limit that is reached", absl::StatusCode::kResourceExhausted, Answer::kNotSent},
      {"no answer in time", absl::StatusCode::kDeadlineExceeded, Answer::kUnknown},
      {"a stream that ended", absl::StatusCode::kUnknown, Answer::kUnknown},
      {"a peer in trouble", absl::StatusCode::kInternal, Answer::kUnknown},
  };
  for (const Case& test : cases) EXPECT_EQ(AnswerOfCall(absl::Status(test.code, "")), test.expected) << test.what;
}

TEST(EffectPolicyTest, GivesEachAnswerItsOwnMeaning) {
  const EffectPolicy policy{.done = Meaning::kAwaited,
                            .already_exists = Meaning::kLook,
                            .not_found = Meaning::kSucceeded,
                            .conflict = Meaning::kHeld,
                            .invalid = Meaning::kTryAgain,
                            .refused = Meaning::kRefused,
                            .not_sent = Meaning::kHeld,
                            .unknown = Meaning::kLook};
  struct Case {
    Answer answer;
    Meaning named;
    Meaning unnamed;
  };
  const Case cases[] = {
      {Answer::kDone, Meaning::kAwaited, Meaning::kSucceeded},
      {Answer::kAlreadyExists, Meaning::kLook, Meaning::kRefused},
      {Answer::kNotFound, Meaning::kSucceeded, Meaning::kRefused},
      {Answer::kConflict, Meaning::kHeld, Meaning::kRefused},
      {Answer::kInvalid, Meaning::kTryAgain, Meaning::kRefused},
      {Answer::kRefused, Meaning::kRefused, Meaning::kRefused},
      {Answer::kNotSent, Meaning::kHeld, Meaning::kTryAgain},
      {Answer::kUnknown, Meaning::kLook, Meaning::kTryAgain},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(MeaningOf(test.answer, policy), test.named) << static_cast<int>(test.answer);
    EXPECT_EQ(MeaningOf(test.answer, EffectPolicy{}), test.unnamed) << static_cast<int>(test.answer);
  }
}

TEST(EffectTest, IsOverAndBacksOffAsItsMeaningSays) {
  struct Case {
    Meaning meaning;
    bool is_over;
    bool blocks;
    bool has_failed;
  };
  // Each answer comes after one failure.
  const Case cases[] = {
      {Meaning::kSucceeded, true, false, false}, {Meaning::kAwaited, false, true, true},
      {Meaning::kLook, false, true, true},       {Meaning::kHeld, true, true, true},
      {Meaning::kTryAgain, true, true, true},    {Meaning::kRefused, true, true, true},
  };
  for (const Case& test : cases) {
    SeededRandom random(1);
    const EffectPolicy policy{.done = test.meaning};
    Effect one;
    EffectSet many;
    one.retry().Fail(kNow, random);
    many.retry().Fail(kNow, random);
    ASSERT_TRUE(one.Begin());
    ASSERT_TRUE(many.Begin("a"));
    EXPECT_EQ(one.End(Answer::kDone, policy, kNow, random), test.meaning);
    EXPECT_EQ(many.End("a", Answer::kDone, policy, kNow, random), test.meaning);
    EXPECT_EQ(one.under_way(), !test.is_over);
    EXPECT_EQ(many.contains("a"), !test.is_over);
    for (const Retry* retry : {&one.retry(), &many.retry()}) {
      EXPECT_EQ(retry->Blocks(kNow), test.blocks);
      EXPECT_EQ(retry->since().has_value(), test.has_failed);
    }
  }
}

TEST(EffectTest, BeginsOnceAtATime) {
  Effect one;
  EXPECT_TRUE(one.Begin());
  EXPECT_FALSE(one.Begin());
  EffectSet many;
  EXPECT_TRUE(many.Begin("a"));
  EXPECT_FALSE(many.Begin("a"));
  EXPECT_TRUE(many.Begin("b"));
  EXPECT_EQ(many.size(), 2U);
  many.Forget("a");
  EXPECT_EQ(many.size(), 1U);
  EXPECT_THAT(many.names(), ::testing::ElementsAre("b"));
  EXPECT_TRUE(many.Begin("a"));
  EXPECT_FALSE(many.empty());
}

TEST(OutdatedVersionTest, BlocksTheVersionThatHasMetAnotherOneAlone) {
  OutdatedVersion outdated;
  EXPECT_FALSE(outdated.Blocks(0)) << "a write without a version meets no other one";
  EXPECT_FALSE(outdated.Blocks(7));
  outdated.Record(7);
  EXPECT_TRUE(outdated.Blocks(7));
  EXPECT_FALSE(outdated.Blocks(8));
  outdated.Forget();
  EXPECT_FALSE(outdated.Blocks(7));
}

TEST(WhileThereTest, DropsTheAnswerOfAnOwnerThatIsGone) {
  auto owner = std::make_unique<std::string>();
  const auto append = [](std::string& to, std::string answer) { to += answer; };
  auto answered = WhileThere([&owner] { return owner.get(); }, append);
  answered(std::string("a"));
  EXPECT_EQ(*owner, "a");
  owner.reset();
  answered(std::string("b"));
  owner = std::make_unique<std::string>();
  answered(std::string("c"));
  EXPECT_EQ(*owner, "c");
}

}  // namespace
}  // namespace basalt
