#include "common/runtime/gather_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/runtime/testing/scripted_context.h"
#include "common/testing/status_matchers.h"

namespace basalt::runtime {
namespace {

class SomeReady final : public testing::ScriptedContext {
 public:
  explicit SomeReady(SlotSet ready) : ready_(std::move(ready)) {}
  bool IsReady(uint32_t slot) const override { return ready_.Contains(slot); }

 private:
  const SlotSet ready_;
};

struct Listed {
  SomeReady scripted;
  int part;
  const Context& context() const { return scripted; }
};

// Two workers, which run their tasks once the test lets them.
class TwoWorkers final : public Workers<Listed> {
 public:
  explicit TwoWorkers(const SlotSet& ready) : listed_{Listed{SomeReady(ready), 10}, Listed{SomeReady(ready), 11}} {}
  size_t count() const override { return 2; }
  void OnWorkerOf(uint32_t slot, Task task) override { OnWorker(slot % 2, std::move(task)); }
  void OnWorker(size_t worker, Task task) override { tasks_.emplace_back(worker, std::move(task)); }
  void RunLast() {
    auto [worker, task] = std::move(tasks_.back());
    tasks_.pop_back();
    task(listed_[worker]);
  }

 private:
  Listed listed_[2];
  std::deque<std::pair<size_t, Task>> tasks_;
};

SlotSet Slots(const std::vector<uint32_t>& slots) {
  SlotSet set;
  for (const uint32_t slot : slots) set.Insert(slot);
  return set;
}

struct Case {
  std::vector<uint32_t> asked;
  std::vector<uint32_t> ready;
  std::string problem;  // Empty if both answer.
};

TEST(GatherWorkersTest, AllOfItIsAnsweredOrNothing) {
  const Case cases[] = {
      {{}, {}, ""},
      {{4, 5}, {4, 5, 6}, ""},
      {{4, 5}, {5}, "1 of its 2 slots are still starting"},
      {{4, 5}, {4}, "1 of its 2 slots are still starting"},
      {{4, 5, 6}, {}, "3 of its 3 slots are still starting"},
  };
  for (const Case& c : cases) {
    TwoWorkers workers(Slots(c.ready));
    std::optional<absl::StatusOr<std::vector<int>>> answer;
    GatherWorkers<int>(
        workers, Slots(c.asked), [](const Listed& listed) { return listed.part; },
        [&answer](absl::StatusOr<std::vector<int>> parts) { answer = std::move(parts); });
    workers.RunLast();
    EXPECT_FALSE(answer.has_value()) << "one is missing";
    workers.RunLast();
    ASSERT_TRUE(answer.has_value());
    if (c.problem.empty()) {
      ASSERT_THAT(*answer, ::basalt::testing::IsOk());
      EXPECT_THAT(**answer, ::testing::UnorderedElementsAre(10, 11));
    } else {
      EXPECT_EQ(answer->status().code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(answer->status().message()), ::testing::HasSubstr(c.problem));
    }
  }
}

}  // namespace
}  // namespace basalt::runtime
