#include "services/queuesvc/core/explain_queue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/kube/timestamp.h"

namespace basalt::queuesvc {
namespace {

using queue::v1::QueueCause;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExplainQueueTest : public ::testing::Test {
 protected:
  ExplainQueueTest() {
    queue_.mutable_meta()->set_name("research");
    queue_.set_parent("root");
    root_.mutable_meta()->set_name("root");
    root_.set_state("Open");
    facts_.parent = &root_;
  }
  // Returns "PARENT queue p: message -> advice" for each cause.
  std::vector<std::string> Causes() {
    std::vector<std::string> texts;
    const queue::v1::QueueExplanation explanation = ExplainQueue(facts_);
    for (const QueueCause& cause : explanation.causes()) {
      std::string text = QueueCause::Kind_Name(cause.kind()).substr(5);
      if (!cause.subject().empty()) text += " " + cause.subject();
      text += ": " + cause.message();
      if (!cause.advice().empty()) text += " -> " + cause.advice();
      texts.push_back(text);
    }
    return texts;
  }
  void EnteredBy(const std::string& from, const std::string& to, const std::string& cause) {
    entry_.set_kind(storage::v1::QueueHistoryRecord::KIND_STATE_CHANGED);
    entry_.set_from_state(from);
    entry_.set_to_state(to);
    entry_.set_cause(cause);
    entry_.set_time_ms(7000);
    facts_.entered_by = &entry_;
  }

  kube::v1::Queue queue_;
  kube::v1::Queue root_;
  QueueStep step_;
  storage::v1::QueueHistoryRecord entry_;
  storage::v1::QueueRecord record_;
  ExplainFacts facts_{.queue = queue_, .step = step_};
};

TEST_F(ExplainQueueTest, EachStateIsSaidWithWhatFollowsForJobs) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "research is new"},         {"Open", "is Open: the scheduler admits its jobs"},
      {"Closed", "is Closed: no job"}, {"Closing", "is Closed once its pod groups are deleted"},
      {"Unknown", "until somebody"},   {"Ajar", "is 'Ajar', which is no state of a queue"},
  };
  for (const auto& [state, expected] : rows) {
    queue_.set_state(state);
    EXPECT_THAT(ExplainQueue(facts_).summary(), HasSubstr(expected));
  }
}

TEST_F(ExplainQueueTest, AnOpenQueueNeedsNothing) {
  queue_.set_state("Open");
  facts_.pod_groups = 3;
  EXPECT_THAT(Causes(), IsEmpty());
}

TEST_F(ExplainQueueTest, WhoClosedItAndWhatKeepsIt) {
  queue_.set_state("Closing");
  EnteredBy("Open", "Closing", "command default/c");
  facts_.pod_groups = 3;
  EXPECT_THAT(Causes(),
              ElementsAre("STATE: state Open -> Closing: command default/c -> basaltctl queue open research",
                          "POD_GROUPS: 3 pod groups name it, those among them whose pods are done; it is Closed once "
                          "they are deleted -> delete their jobs, or move them to another queue"));
  EXPECT_EQ(kube::ToMs(ExplainQueue(facts_).causes(0).since_time()), 7000);
  queue_.set_state("Closed");
  EXPECT_THAT(Causes().back(), HasSubstr("their pods are not placed while it is Closed"));
}

TEST_F(ExplainQueueTest, WhereThoseAboveAreClosedTheHighestOfThemIsToBeOpened) {
  kube::v1::Queue parent;
  parent.set_state("Closed");
  queue_.set_state("Closed");
  queue_.set_parent("team");
  facts_.parent = &parent;
  facts_.to_open = {"company"};
  EnteredBy("Open", "Closed", "its parent team is Closed");
  EXPECT_THAT(Causes(), ElementsAre("STATE: state Open -> Closed: its parent team is Closed",
                                    "PARENT queue team: its parent is Closed -> basaltctl queue open company; queues "
                                    "that were closed with their parent are opened with it"));
  facts_.to_open = {"company", "research"};
  EXPECT_THAT(Causes().back(), HasSubstr("-> basaltctl queue open company, then basaltctl queue open research; "))
      << "it was closed before its parent";
}

TEST_F(ExplainQueueTest, AParentThatIsNoneIsSaid) {
  queue_.set_state("Open");
  queue_.set_parent("gone");
  facts_.parent = nullptr;
  EXPECT_THAT(Causes(), ElementsAre(HasSubstr("PARENT queue gone: its parent does not exist")));
  facts_.is_below_itself = true;
  EXPECT_THAT(Causes(), ElementsAre(HasSubstr("PARENT queue gone: its parent is below the queue itself")));
  facts_.circle = "the circle";
  EXPECT_THAT(Causes(), ElementsAre(HasSubstr("PARENT queue gone: the circle")));
  queue_.mutable_meta()->set_name("root");
  queue_.clear_parent();
  EXPECT_THAT(Causes(), IsEmpty());
}

TEST_F(ExplainQueueTest, ACommandThatWaitsAndOneThatIsCarriedOut) {
  kube::v1::Command command;
  command.mutable_meta()->set_namespace_("default");
  command.mutable_meta()->set_name("c");
  command.set_action("OpenQueue");
  queue_.set_state("Open");
  facts_.command = &command;
  step_.cause = "command default/c: parent p is Closed";
  EXPECT_THAT(Causes(), ElementsAre("COMMAND command default/c: OpenQueue waits until the parent is open"));
  step_ = {.kind = QueueStep::Kind::kApplyState, .cause = "command default/c"};
  EXPECT_THAT(Causes(), ElementsAre("COMMAND command default/c: OpenQueue is being carried out"));
}

TEST_F(ExplainQueueTest, ARuleThatTheSpecBreaksIsSaidWithItsField) {
  queue_.set_state("Open");
  facts_.problems = {{"spec.capability", "cpu: -1 is negative; use 0 or more"}};
  EXPECT_THAT(Causes(), ElementsAre("SPEC spec.capability: cpu: -1 is negative; use 0 or more"));
}

TEST_F(ExplainQueueTest, ARefusalAndADeletionAreReported) {
  queue_.set_state("Open");
  queue_.mutable_meta()->set_deletion_ms(5000);
  storage::v1::QueueHistoryRecord::Refusal& refusal = *record_.mutable_refused()->mutable_refusal();
  refusal.set_code(403);
  refusal.set_reason("Forbidden");
  refusal.set_message("no");
  facts_.record = &record_;
  EXPECT_THAT(Causes(), ElementsAre("DELETION: it is being deleted, and nothing else is done",
                                    "REFUSED: the API server refuses what is to be written of it: 403 Forbidden: no "
                                    "-> mend what the message names; it is tried again"));
}

}  // namespace
}  // namespace basalt::queuesvc
