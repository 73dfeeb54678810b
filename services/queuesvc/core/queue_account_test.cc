#include "services/queuesvc/core/queue_account.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::queuesvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Entry = QueueAccount::Entry;

const QueueStep kNothing;
const QueueStep kOpen{
    .kind = QueueStep::Kind::kApplyState, .state = QueueState::kOpen, .cause = "a new queue is opened"};
const QueueStep kClosed{.kind = QueueStep::Kind::kApplyState, .state = QueueState::kClosed};
const QueueStep kCounts{.kind = QueueStep::Kind::kApplyCounts};
const QueueStep kClosing{.kind = QueueStep::Kind::kApplyState, .state = QueueState::kClosing};
const QueueStep kSetParent{.kind = QueueStep::Kind::kSetParent};

std::string TextOf(const Entry& entry) {
  std::string text = Entry::Kind_Name(entry.kind()).substr(5);
  if (entry.from_state() != entry.to_state()) text += fmt::format(" {}>{}", entry.from_state(), entry.to_state());
  if (entry.has_refusal()) text += " " + entry.refusal().message();
  if (entry.end_ms() != 0) text += fmt::format(" until {}", entry.end_ms());
  return text;
}

std::vector<std::string> TextsOf(const std::vector<Entry>& entries) {
  std::vector<std::string> texts;
  for (const Entry& entry : entries) texts.push_back(TextOf(entry));
  return texts;
}

gateway::v1::KubeError Refusal(const std::string& message) {
  gateway::v1::KubeError error;
  error.set_code(403);
  error.set_reason("Forbidden");
  error.set_message(message);
  return error;
}

class QueueAccountTest : public ::testing::Test {
 protected:
  QueueAccountTest() {
    record_.set_uid("u");
    queue_.set_parent("root");
  }
  // Makes one pass over the queue in `state`, in which `step` follows.
  QueueAccount Look(const std::string& state, const QueueStep& step, bool is_sent = true) {
    QueueAccount account(record_, counts_, ++now_ms_);
    queue_.set_state(state);
    account.See(queue_);
    account.Decide(step, is_sent);
    return account;
  }
  QueueAccount Refuse(const std::string& message, const QueueStep& step) {
    QueueAccount account(record_, counts_, ++now_ms_);
    account.NoteRefused(Refusal(message));
    account.See(queue_);
    account.Decide(step, /*is_sent=*/false);
    return account;
  }

  storage::v1::QueueRecord record_;
  kube::v1::Queue queue_;
  queue::v1::PodGroupCounts counts_;
  int64_t now_ms_ = 1000;
};

TEST_F(QueueAccountTest, ADecisionIsRecordedWhenItIsMadeAndToldOnceItIsSeen) {
  const QueueAccount decided = Look("", kOpen);
  EXPECT_TRUE(decided.changed());
  EXPECT_THAT(decided.entries(), IsEmpty());
  EXPECT_EQ(TextOf(record_.pending()), "STATE_CHANGED >Open");
  EXPECT_EQ(record_.pending().cause(), "a new queue is opened");
  EXPECT_EQ(record_.pending().time_ms(), 1001);
  const QueueAccount seen = Look("Open", kNothing);
  ASSERT_THAT(TextsOf(seen.entries()), ElementsAre("STATE_CHANGED >Open"));
  EXPECT_TRUE(seen.entries()[0].committed());
  EXPECT_EQ(seen.entries()[0].time_ms(), 1001) << "when it was decided";
  EXPECT_FALSE(record_.has_pending());
  EXPECT_EQ(record_.state(), "Open");
}

TEST_F(QueueAccountTest, WhereNothingIsDecidedNothingChanges) {
  Look("", kOpen);
  EXPECT_FALSE(Look("", kOpen).changed()) << "it is decided once, however often it is tried";
  Look("Open", kNothing);
  EXPECT_FALSE(Look("Open", kNothing).changed());
}

TEST_F(QueueAccountTest, AParentIsToldOnceItIsThere) {
  queue_.clear_parent();
  Look("", kSetParent);
  EXPECT_EQ(record_.pending().kind(), Entry::KIND_PARENT_SET);
  queue_.set_parent("root");
  EXPECT_THAT(TextsOf(Look("", kOpen).entries()), ElementsAre("PARENT_SET"));
  EXPECT_EQ(TextOf(record_.pending()), "STATE_CHANGED >Open");
}

TEST_F(QueueAccountTest, AParentThatSomebodyElseSetIsNotOurDecision) {
  queue_.clear_parent();
  Look("", kSetParent);
  queue_.set_parent("team");
  EXPECT_THAT(Look("", kOpen).entries(), IsEmpty());
  EXPECT_EQ(TextOf(record_.pending()), "STATE_CHANGED >Open");
}

TEST_F(QueueAccountTest, AStateThatWasNotMeantIsSomebodyElses) {
  record_.set_state("Closing");
  Look("Closing", kClosed);
  const QueueAccount seen = Look("Open", kNothing);
  EXPECT_THAT(TextsOf(seen.entries()), ElementsAre("STATE_OBSERVED Closing>Open"));
  EXPECT_EQ(seen.entries()[0].cause(), "somebody else wrote it");
  EXPECT_FALSE(record_.has_pending()) << "what was meant is over";
}

TEST_F(QueueAccountTest, ADecisionThatIsTakenBackIsNotTold) {
  record_.set_state("Closing");
  Look("Closing", kClosed);
  EXPECT_TRUE(record_.has_pending());
  EXPECT_THAT(Look("Closing", kCounts).entries(), IsEmpty()) << "a group came: counts alone are written";
  EXPECT_FALSE(record_.has_pending());
}

TEST_F(QueueAccountTest, AParentThatIsDecidedStaysSoWhileCountsAreWrittenBesideIt) {
  record_.set_state("Open");
  queue_.clear_parent();
  Look("Open", kSetParent);
  const int64_t decided = record_.pending().sequence();
  Look("Open", kCounts);
  Look("Open", kSetParent);
  EXPECT_EQ(record_.pending().sequence(), decided);
}

TEST_F(QueueAccountTest, TheLastWrittenCountsAreKeptWithoutAnEntry) {
  record_.set_state("Open");
  for (int running = 1; running <= 3; ++running) {
    counts_.set_running(running);
    const QueueAccount account = Look("Open", kCounts);
    EXPECT_TRUE(account.changed());
    EXPECT_THAT(account.entries(), IsEmpty());
    EXPECT_EQ(record_.counts().running(), running);
    EXPECT_EQ(record_.counts_ms(), now_ms_);
    EXPECT_FALSE(Look("Open", kCounts).changed()) << "the same again";
  }
  counts_.set_running(4);
  EXPECT_FALSE(Look("Open", kCounts, /*is_sent=*/false).changed()) << "they wait for their time";
  EXPECT_EQ(record_.counts().running(), 3);
}

TEST_F(QueueAccountTest, ARefusalIsToldOnceInTheServersWordsUntilItEnds) {
  Look("", kOpen);
  EXPECT_THAT(TextsOf(Refuse("no", kOpen).entries()), ElementsAre("REFUSED >Open no"));
  for (int i = 0; i < 5; ++i) {
    const QueueAccount again = Refuse("no", kOpen);
    EXPECT_FALSE(again.changed());
    EXPECT_THAT(again.entries(), IsEmpty());
  }
  QueueAccount accepted(record_, counts_, 2000);
  accepted.NoteAccepted();
  EXPECT_THAT(TextsOf(accepted.replaced()), ElementsAre("REFUSED >Open no until 2000"));
  EXPECT_FALSE(record_.has_refused());
  EXPECT_THAT(TextsOf(Refuse("no", kOpen).entries()), ElementsAre("REFUSED >Open no")) << "it begins anew";
}

TEST_F(QueueAccountTest, OtherWordsAreAnotherRefusal) {
  Look("", kOpen);
  Refuse("no", kOpen);
  const QueueAccount other = Refuse("never", kOpen);
  EXPECT_THAT(TextsOf(other.entries()), ElementsAre("REFUSED >Open never"));
  EXPECT_THAT(TextsOf(other.replaced()), ElementsAre(fmt::format("REFUSED >Open no until {}", now_ms_)));
}

TEST_F(QueueAccountTest, ARefusalEndsWhereNothingIsToBeWrittenAnyMore) {
  Look("", kOpen);
  Refuse("no", kOpen);
  const QueueAccount seen = Look("Open", kNothing);
  EXPECT_EQ(seen.replaced().size(), 1U);
  EXPECT_FALSE(record_.has_refused());
}

TEST_F(QueueAccountTest, TheEndOfACommandIsRecordedOnceAndKeptWhileItExists) {
  kube::v1::Command command;
  command.mutable_meta()->set_uid("c");
  const auto look = [&](bool is_refused) {
    QueueAccount account(record_, counts_, ++now_ms_);
    account.EndCommand({.kind = QueueStep::Kind::kEndCommand, .cause = "why", .is_refused = is_refused}, command);
    account.KeepEndedOf([](const std::string& uid) { return uid == "another" || uid == "c"; });
    return account;
  };
  EXPECT_FALSE(QueueAccount::IsEnded(record_, command));
  const QueueAccount first = look(/*is_refused=*/true);
  ASSERT_THAT(TextsOf(first.entries()), ElementsAre("COMMAND_REFUSED"));
  EXPECT_EQ(first.entries()[0].cause(), "why");
  EXPECT_TRUE(first.changed());
  EXPECT_TRUE(QueueAccount::IsEnded(record_, command));
  const QueueAccount again = look(/*is_refused=*/true);
  EXPECT_THAT(again.entries(), IsEmpty());
  EXPECT_FALSE(again.changed());
  QueueAccount later(record_, counts_, ++now_ms_);
  later.KeepEndedOf([](const std::string&) { return false; });
  EXPECT_TRUE(later.changed());
  EXPECT_FALSE(QueueAccount::IsEnded(record_, command));
  EXPECT_THAT(TextsOf(look(/*is_refused=*/false).entries()), ElementsAre("COMMAND_DONE"));
}

TEST_F(QueueAccountTest, NumbersGrowAlsoWithinAMillisecondAndAfterTheRecordWasLost) {
  QueueAccount account(record_, counts_, 5000);
  account.NoteCreated();
  queue_.set_state("Closed");
  account.See(queue_);
  ASSERT_THAT(TextsOf(account.entries()), ElementsAre("CREATED", "STATE_OBSERVED >Closed"));
  EXPECT_EQ(account.entries()[0].sequence(), 5000);
  EXPECT_EQ(account.entries()[1].sequence(), 5001);
  storage::v1::QueueRecord anew;
  QueueAccount later(anew, counts_, 6000);
  later.NoteCreated();
  EXPECT_EQ(later.entries()[0].sequence(), 6000);
}

TEST_F(QueueAccountTest, AWarningIsRecordedOnceUntilItChanges) {
  const auto note = [this](std::string_view warning) {
    QueueAccount account(record_, counts_, ++now_ms_);
    account.NoteSpec(warning);
    return account;
  };
  EXPECT_FALSE(note("").changed());
  const QueueAccount first = note("spec.parent: no");
  EXPECT_TRUE(first.changed());
  EXPECT_THAT(TextsOf(first.entries()), ElementsAre("SPEC_WARNING"));
  EXPECT_EQ(first.entries().front().cause(), "spec.parent: no");
  EXPECT_FALSE(note("spec.parent: no").changed());
  EXPECT_THAT(TextsOf(note("spec.weight: no").entries()), ElementsAre("SPEC_WARNING"));
  const QueueAccount mended = note("");
  EXPECT_TRUE(mended.changed());
  EXPECT_THAT(mended.entries(), IsEmpty());
  EXPECT_THAT(TextsOf(note("spec.parent: no").entries()), ElementsAre("SPEC_WARNING"));
}

}  // namespace
}  // namespace basalt::queuesvc
