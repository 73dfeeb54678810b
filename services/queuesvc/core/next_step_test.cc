#include "services/queuesvc/core/next_step.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace basalt::queuesvc {
namespace {

using Kind = QueueStep::Kind;

struct Row {
  std::string what;
  std::string name;
  std::string state;
  std::string parent;
  int64_t pod_groups;
  Kind kind;
  QueueState next = QueueState::kEmpty;
};

TEST(NextStepTest, AQueueThatIsThere) {
  using S = QueueState;
  const Row rows[] = {
      {"a new one has no parent yet", "q", "", "", 0, Kind::kSetParent},
      {"root never has", "root", "", "", 0, Kind::kApplyState, S::kOpen},
      {"a new one is opened", "q", "", "root", 0, Kind::kApplyState, S::kOpen},
      {"an open one stays so", "q", "Open", "root", 0, Kind::kNothing},
      {"one that closes waits for its groups", "q", "Closing", "root", 1, Kind::kNothing},
      {"and is closed without", "q", "Closing", "root", 0, Kind::kApplyState, S::kClosed},
      {"a closed one stays so with groups", "q", "Closed", "root", 1, Kind::kNothing},
      {"Unknown is left by commands alone", "q", "Unknown", "root", 0, Kind::kNothing},
      {"a state that there is not", "q", "Ajar", "root", 0, Kind::kInvalid},
      {"is left as it is", "q", "Ajar", "", 0, Kind::kInvalid},
      // Where Volcano's webhook refuses writes of the spec, the parent waits, and nothing waits for the parent.
      {"one without a parent closes", "q", "Closing", "", 1, Kind::kNothing},
      {"and is closed", "q", "Closing", "", 0, Kind::kApplyState, S::kClosed},
      {"and gets a parent then", "q", "Closed", "", 0, Kind::kSetParent},
      {"one that is Unknown gets none", "q", "Unknown", "", 0, Kind::kNothing},
  };
  for (const Row& row : rows) {
    kube::v1::Queue queue;
    queue.set_state(row.state);
    queue.set_parent(row.parent);
    const QueueStep step = NextStep({.name = row.name, .queue = &queue, .pod_groups = row.pod_groups});
    EXPECT_EQ(step.kind, row.kind) << row.what;
    EXPECT_EQ(step.state, row.next) << row.what;
    queue.mutable_meta()->set_deletion_ms(1);
    EXPECT_EQ(NextStep({.name = row.name, .queue = &queue, .pod_groups = row.pod_groups}).kind, Kind::kNothing)
        << row.what << ", and it is being deleted";
  }
}

// Returns "apply Closed", "mark true", "done: …", "refused: …", "waits: …", or nothing.
std::string TextOf(const QueueStep& step) {
  switch (step.kind) {
    case Kind::kNothing:
      return step.cause.empty() ? "" : "waits: " + step.cause;
    case Kind::kInvalid:
      return "invalid";
    case Kind::kCreate:
      return "create";
    case Kind::kSetParent:
      return "set parent";
    case Kind::kApplyState:
      return fmt::format("apply {}", FormatQueueState(step.state));
    case Kind::kApplyCounts:
      return "apply counts";
    case Kind::kSetClosedByParent:
      return fmt::format("mark {}", step.closed_by_parent);
    case Kind::kEndCommand:
      return fmt::format("{}: {}", step.is_refused ? "refused" : "done", step.cause);
  }
  return "?";
}

void SetMark(const std::string& mark, kube::v1::Queue& queue) {
  if (mark.empty()) return;
  kube::v1::KeyValue& annotation = *queue.mutable_meta()->add_annotations();
  annotation.set_key("volcano.sh/closed-by-parent");
  annotation.set_value(mark);
}

TEST(NextStepTest, AQueueFollowsItsParent) {
  struct {
    std::string parent, state, mark;
    int64_t pod_groups;
    std::string expected;
  } rows[] = {
      {"Closed", "Open", "", 0, "mark true"},
      {"Closed", "Open", "false", 0, "mark true"},
      {"Closed", "Open", "true", 0, "apply Closed"},
      {"Closed", "Open", "true", 2, "apply Closing"},
      {"Closing", "Open", "true", 0, "apply Closed"},
      {"Closed", "", "", 0, "mark true"},  // The queue is not opened first.
      {"Closed", "", "true", 0, "apply Closed"},
      {"Closed", "Unknown", "true", 0, "apply Closed"},
      {"Closed", "Unknown", "", 0, "mark true"},
      {"Closed", "Closing", "true", 0, "apply Closed"},
      {"Closed", "Closed", "", 0, ""},  // Somebody had closed the queue before.
      {"Open", "Closed", "", 0, ""},
      {"Open", "Closed", "false", 0, ""},
      {"Open", "Closed", "true", 0, "apply Open"},
      {"Open", "Closing", "true", 1, "apply Open"},
      {"Open", "Open", "true", 0, "mark false"},
      {"Open", "Unknown", "true", 0, ""},
      {"Open", "Open", "", 0, ""},
      {"Unknown", "Open", "", 0, ""},
      {"Unknown", "Closed", "true", 0, ""},
      {"", "Closed", "true", 0, ""},  // A new parent, which will be opened.
  };
  for (const auto& row : rows) {
    kube::v1::Queue parent;
    parent.mutable_meta()->set_name("p");
    parent.set_state(row.parent);
    kube::v1::Queue queue;
    queue.set_parent("p");
    queue.set_state(row.state);
    SetMark(row.mark, queue);
    const QueueFacts facts{.name = "q", .queue = &queue, .parent = &parent, .pod_groups = row.pod_groups};
    EXPECT_EQ(TextOf(NextStep(facts)), row.expected)
        << "parent '" << row.parent << "', queue '" << row.state << "', mark '" << row.mark << "'";
  }
}

TEST(NextStepTest, ACommandIsCarriedOutByStateAndParent) {
  struct {
    std::string action, state, mark, parent;
    int64_t pod_groups;
    std::string expected;
  } rows[] = {
      // Every cell of the table of states and actions, to its end.
      {"CloseQueue", "Open", "", "Open", 0, "apply Closed"},
      {"CloseQueue", "Open", "", "Open", 3, "apply Closing"},
      {"CloseQueue", "", "", "Open", 0, "apply Closed"},
      {"CloseQueue", "Unknown", "", "Open", 1, "apply Closing"},
      // A queue that somebody closes is not opened with its parent.
      {"CloseQueue", "Open", "true", "Open", 0, "apply Closed"},
      {"CloseQueue", "Unknown", "true", "Open", 0, "apply Closed"},
      {"CloseQueue", "Closed", "true", "Open", 0, "mark false"},
      {"CloseQueue", "Closing", "true", "Unknown", 1, "mark false"},
      {"CloseQueue", "Closed", "false", "Open", 0, "done: command ns/c: the queue is Closed"},
      {"CloseQueue", "Closed", "", "Open", 1, "done: command ns/c: the queue is Closed"},
      {"CloseQueue", "Closing", "", "Open", 1, "done: command ns/c: the queue is Closing"},
      {"OpenQueue", "Closed", "", "Open", 0, "apply Open"},
      {"OpenQueue", "Closing", "", "Open", 2, "apply Open"},
      {"OpenQueue", "Unknown", "", "Open", 0, "apply Open"},
      {"OpenQueue", "", "", "Open", 0, "apply Open"},
      {"OpenQueue", "Open", "", "Open", 0, "mark false"},
      {"OpenQueue", "Open", "true", "Open", 0, "mark false"},
      {"OpenQueue", "Open", "false", "Open", 0, "done: command ns/c: the queue is open"},
      {"SyncQueue", "Open", "", "Open", 0, "done: command ns/c: SyncQueue"},
      // Below a queue that is closed.
      {"OpenQueue", "Closed", "true", "Closed", 0,
       "waits: command ns/c: parent p is Closed, and has to be opened first"},
      {"OpenQueue", "Closing", "true", "Closing", 0, "apply Closed"},  // The command waits, and the rest goes on.
      {"OpenQueue", "Closed", "", "Unknown", 0, "apply Open"},
      {"CloseQueue", "Closed", "true", "Closed", 0, "mark false"},
      {"CloseQueue", "Closing", "true", "Closing", 1, "mark false"},
      {"CloseQueue", "Open", "true", "Closed", 0, "apply Closed"},  // The next step removes the mark.
      {"CloseQueue", "Closed", "false", "Closed", 0, "done: command ns/c: the queue is Closed"},
      // Unknown actions.
      {"DrainQueue", "Open", "", "Open", 0,
       "refused: command ns/c: action 'DrainQueue' is none of a queue: OpenQueue, CloseQueue, SyncQueue"},
      {"", "Open", "", "Open", 0,
       "refused: command ns/c: action '' is none of a queue: OpenQueue, CloseQueue, SyncQueue"},
  };
  for (const auto& row : rows) {
    kube::v1::Queue parent;
    parent.mutable_meta()->set_name("p");
    parent.set_state(row.parent);
    kube::v1::Queue queue;
    queue.set_parent("p");
    queue.set_state(row.state);
    queue.mutable_meta()->set_uid("u");
    SetMark(row.mark, queue);
    kube::v1::Command command;
    command.mutable_meta()->set_namespace_("ns");
    command.mutable_meta()->set_name("c");
    command.set_action(row.action);
    command.mutable_target()->set_uid("u");
    QueueFacts facts{
        .name = "q", .queue = &queue, .parent = &parent, .command = &command, .pod_groups = row.pod_groups};
    const std::string what = fmt::format("{} of a queue that is '{}' below '{}'", row.action, row.state, row.parent);
    EXPECT_EQ(TextOf(NextStep(facts)), row.expected) << what;
    command.mutable_target()->clear_uid();
    EXPECT_EQ(TextOf(NextStep(facts)), row.expected) << what << ", which names no UID";
    facts.is_recorded = true;
    EXPECT_EQ(TextOf(NextStep(facts)), "done: ") << what << ", and history has its end";
    facts.is_recorded = false;
    command.mutable_target()->set_uid("another");
    EXPECT_EQ(TextOf(NextStep(facts)), "refused: command ns/c: its target is a queue of that name that is gone")
        << what;
  }
}

TEST(NextStepTest, ACommandForAQueueThatNothingIsDoneWithIsRefused) {
  kube::v1::Command command;
  command.mutable_meta()->set_namespace_("ns");
  command.mutable_meta()->set_name("c");
  command.set_action("OpenQueue");
  for (const char* parent : {"", "root"}) {
    kube::v1::Queue queue;
    queue.set_parent(parent);
    queue.set_state("Ajar");
    QueueFacts facts{.name = "q", .queue = &queue, .command = &command};
    EXPECT_EQ(TextOf(NextStep(facts)),
              "refused: command ns/c: 'Ajar' in status.state is no state of a queue, and has to be mended first");
    queue.mutable_meta()->set_deletion_ms(1);
    EXPECT_EQ(TextOf(NextStep(facts)), "refused: command ns/c: the queue is being deleted");
    queue.set_state("Closed");
    EXPECT_EQ(TextOf(NextStep(facts)), "refused: command ns/c: the queue is being deleted");
    facts.is_recorded = true;
    EXPECT_EQ(TextOf(NextStep(facts)), "done: ");
  }
}

// A Command to open a queue whose parent is closed.
class OpenBelowClosedTest : public ::testing::Test {
 protected:
  OpenBelowClosedTest() {
    parent_.mutable_meta()->set_name("p");
    parent_.set_state("Closed");
    queue_.set_parent("p");
    queue_.set_state("Closed");
    command_.set_action("OpenQueue");
  }

  kube::v1::Queue parent_;
  kube::v1::Queue queue_;
  kube::v1::Command command_;
  QueueFacts facts_{.name = "q", .queue = &queue_, .parent = &parent_, .command = &command_};
};

TEST_F(OpenBelowClosedTest, ACommandWaitsForTheParentAWhileUnlessThereIsANewerOne) {
  facts_.is_superseded = true;
  EXPECT_EQ(TextOf(NextStep(facts_)), "refused: command /: parent p is Closed, and has to be opened first");
  facts_.is_superseded = false;
  facts_.now_ms = 29'999;
  EXPECT_EQ(TextOf(NextStep(facts_)), "waits: command /: parent p is Closed, and has to be opened first");
  facts_.now_ms = 30'000;
  EXPECT_EQ(TextOf(NextStep(facts_)), "refused: command /: parent p is Closed, and has to be opened first")
      << "nothing is tried for ever";
  parent_.set_state("Open");
  EXPECT_EQ(TextOf(NextStep(facts_)), "apply Open") << "commands that can be carried out are, in their order";
}

// After an outage, the parent may be about to open by a Command that no pass could consider either.
TEST_F(OpenBelowClosedTest, ACommandWaitsFromWhenSomebodyCouldLookAtIt) {
  command_.mutable_meta()->set_creation_ms(1'000);
  facts_.command_tried_ms = 90'000;
  facts_.now_ms = 94'999;
  EXPECT_THAT(TextOf(NextStep(facts_)), ::testing::StartsWith("waits: "));
  facts_.now_ms = 95'000;
  EXPECT_THAT(TextOf(NextStep(facts_)), ::testing::StartsWith("refused: "));
}

// A definition refuses the parent if the queue already breaks one of its rules.
TEST(NextStepTest, AParentThatIsRefusedHoldsUpNothing) {
  queue::v1::PodGroupCounts counts;
  counts.set_running(1);
  kube::v1::Queue queue;
  queue.set_state("Open");
  QueueFacts facts{.name = "q", .queue = &queue, .pod_groups = 1, .counts = &counts};
  EXPECT_EQ(TextOf(NextStep(facts)), "set parent")
      << "counts that change all the time do not hold up the parent either";
  facts.parent_waits = true;
  EXPECT_EQ(TextOf(NextStep(facts)), "apply counts");
  queue.set_state("");
  EXPECT_EQ(TextOf(NextStep(facts)), "apply Open");
  queue.set_state("Open");
  kube::v1::Command command;
  command.set_action("CloseQueue");
  facts.command = &command;
  for (const bool waits : {false, true}) {
    facts.parent_waits = waits;
    EXPECT_EQ(TextOf(NextStep(facts)), "apply Closing");
  }
  facts.command = nullptr;
  queue.set_running(1);
  EXPECT_EQ(TextOf(NextStep(facts)), "set parent") << "once it is due";
}

TEST(NextStepTest, AFieldThatADefinitionDropsIsNotKept) {
  const queue::v1::PodGroupCounts none;
  kube::v1::Queue answer;
  const QueueStep parent{.kind = Kind::kSetParent};
  EXPECT_FALSE(IsKept(parent, none, answer));
  answer.set_parent("root");
  EXPECT_TRUE(IsKept(parent, none, answer));
  const QueueStep state{.kind = Kind::kApplyState, .state = QueueState::kClosed};
  EXPECT_FALSE(IsKept(state, none, answer));
  answer.set_state("Closed");
  EXPECT_TRUE(IsKept(state, none, answer));
  const QueueStep mark{.kind = Kind::kSetClosedByParent, .closed_by_parent = false};
  EXPECT_FALSE(IsKept(mark, none, answer));
  SetMark("false", answer);
  EXPECT_TRUE(IsKept(mark, none, answer));
  for (const QueueStep& step : {parent, state, mark, QueueStep{.kind = Kind::kApplyCounts}}) {
    EXPECT_NE(WrittenBy(step), "");
  }
}

// A mark whose write is refused, for example by a policy, does not hold up the Commands behind for ever.
TEST(NextStepTest, ACommandIsDoneAfterAWhileThoughItsMarkIsRefused) {
  kube::v1::Queue parent;
  parent.set_state("Open");
  kube::v1::Command command;
  for (const auto& [action, state] : {std::pair("OpenQueue", "Open"), std::pair("CloseQueue", "Closed")}) {
    kube::v1::Queue queue;
    queue.set_parent("p");
    queue.set_state(state);
    SetMark("true", queue);
    command.set_action(action);
    QueueFacts facts{.name = "q", .queue = &queue, .parent = &parent, .command = &command, .now_ms = 30'000};
    EXPECT_EQ(TextOf(NextStep(facts)), "mark false");
    facts.is_refused = true;
    facts.now_ms = 29'999;
    EXPECT_EQ(TextOf(NextStep(facts)), "mark false");
    facts.now_ms = 30'000;
    EXPECT_THAT(TextOf(NextStep(facts)), ::testing::StartsWith("done: command /: the queue is"));
  }
}

TEST(NextStepTest, RootIsNeitherClosedNorBelowAnything) {
  kube::v1::Queue root;
  root.mutable_meta()->set_name("root");
  root.set_state("Open");
  kube::v1::Command command;
  command.mutable_meta()->set_namespace_("ns");
  command.mutable_meta()->set_name("c");
  command.set_action("CloseQueue");
  EXPECT_EQ(TextOf(NextStep({.name = "root", .queue = &root, .command = &command})),
            "refused: command ns/c: root cannot be closed");
}

TEST(NextStepTest, ACommandForAQueueThatIsNotThereWaitsForTheQueueAWhile) {
  kube::v1::Command command;
  command.mutable_meta()->set_creation_ms(100'000);
  command.set_action("CloseQueue");
  QueueFacts facts{.name = "q", .command = &command, .now_ms = 129'999};
  EXPECT_EQ(TextOf(NextStep(facts)), "");
  facts.now_ms = 130'000;
  EXPECT_EQ(TextOf(NextStep(facts)), "refused: there is no queue of that name");
  facts.is_made = true;
  EXPECT_EQ(TextOf(NextStep(facts)), "create");
}

TEST(NextStepTest, AQueueThatIsMissing) {
  EXPECT_EQ(NextStep({.name = "root", .is_made = true}).kind, Kind::kCreate);
  EXPECT_EQ(NextStep({.name = "q"}).kind, Kind::kNothing);
}

TEST(NextStepTest, CountsThatTheStatusLacksAreWrittenOnceAsNought) {
  const queue::v1::PodGroupCounts none;
  kube::v1::Queue queue;
  queue.set_state("Open");
  queue.set_parent("root");
  queue.set_lacks_counts(true);
  QueueFacts facts{.name = "q", .queue = &queue, .counts = &none};
  EXPECT_EQ(NextStep(facts).kind, Kind::kApplyCounts);
  EXPECT_FALSE(IsKept(NextStep(facts), none, queue));
  queue.set_lacks_counts(false);
  EXPECT_EQ(NextStep(facts).kind, Kind::kNothing);
}

TEST(NextStepTest, EachCountThatDiffersIsWritten) {
  using Counts = queue::v1::PodGroupCounts;
  using Queue = kube::v1::Queue;
  struct Count {
    std::string what;
    void (Counts::*count)(int32_t);
    void (Queue::*say)(int32_t);
  };
  const Count rows[] = {{"pending", &Counts::set_pending, &Queue::set_pending},
                        {"inqueue", &Counts::set_inqueue, &Queue::set_inqueue},
                        {"running", &Counts::set_running, &Queue::set_running},
                        {"unknown", &Counts::set_unknown, &Queue::set_unknown},
                        {"completed", &Counts::set_completed, &Queue::set_completed}};
  for (const Count& row : rows) {
    Counts counts;
    (counts.*row.count)(2);
    Queue queue;
    queue.set_state("Open");
    queue.set_parent("root");
    QueueFacts facts{.name = "q", .queue = &queue, .pod_groups = 2, .counts = &counts};
    const QueueStep step = NextStep(facts);
    EXPECT_EQ(step.kind, Kind::kApplyCounts) << row.what;
    EXPECT_FALSE(IsKept(step, counts, queue)) << row.what;
    (queue.*row.say)(2);
    EXPECT_EQ(NextStep(facts).kind, Kind::kNothing) << row.what;
    EXPECT_TRUE(IsKept(step, counts, queue)) << row.what;
    (queue.*row.say)(3);
    facts.counts = nullptr;
    EXPECT_EQ(NextStep(facts).kind, Kind::kNothing) << row.what << ", and counts are not published";
  }
}

}  // namespace
}  // namespace basalt::queuesvc
