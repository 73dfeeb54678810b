#include "services/queuesvc/core/next_step.h"

#include <gtest/gtest.h>

#include <string>

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
      {"root never has", "root", "", "", 0, Kind::kApplyStatus, S::kOpen},
      {"a new one is opened", "q", "", "root", 0, Kind::kApplyStatus, S::kOpen},
      {"an open one stays so", "q", "Open", "root", 0, Kind::kNothing},
      {"one that closes waits for its groups", "q", "Closing", "root", 1, Kind::kNothing},
      {"and is closed without", "q", "Closing", "root", 0, Kind::kApplyStatus, S::kClosed},
      {"a closed one stays so with groups", "q", "Closed", "root", 1, Kind::kNothing},
      {"Unknown is left by commands alone", "q", "Unknown", "root", 0, Kind::kNothing},
      {"a state that there is not", "q", "Ajar", "root", 0, Kind::kInvalid},
      {"the parent comes before the state is read", "q", "Ajar", "", 0, Kind::kSetParent},
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

TEST(NextStepTest, AQueueThatIsMissing) {
  EXPECT_EQ(NextStep({.name = "root", .is_made = true}).kind, Kind::kCreate);
  EXPECT_EQ(NextStep({.name = "q"}).kind, Kind::kNothing);
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
    EXPECT_EQ(NextStep(facts).kind, Kind::kApplyStatus) << row.what;
    EXPECT_EQ(NextStep(facts).state, QueueState::kOpen) << row.what;
    (queue.*row.say)(2);
    EXPECT_EQ(NextStep(facts).kind, Kind::kNothing) << row.what;
    (queue.*row.say)(3);
    facts.counts = nullptr;
    EXPECT_EQ(NextStep(facts).kind, Kind::kNothing) << row.what << ", and counts are not published";
  }
}

}  // namespace
}  // namespace basalt::queuesvc
