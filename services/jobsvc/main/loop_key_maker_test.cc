#include "services/jobsvc/main/loop_key_maker.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "common/exec/sim_loop.h"

namespace basalt::jobsvc {
namespace {

// A loop whose thread is slow: posted tasks run when the test calls Run(), and in the destructor, as those of a thread
// loop do.
class SlowLoop : public Loop {
 public:
  ~SlowLoop() override { Run(); }
  void Run() {
    for (Task& task : std::exchange(posted_, {})) task();
  }
  void Post(Task task) override { posted_.push_back(std::move(task)); }
  bool IsCurrent() const override { return true; }
  absl::Time Now() const override { return absl::UnixEpoch(); }
  TimerId RunAt(absl::Time, Task) override { return kNoTimer; }
  void Cancel(TimerId) override {}

 private:
  std::vector<Task> posted_;
};

class CountingSource : public SshKeySource {
 public:
  explicit CountingSource(int& made) : made_(made) {}
  absl::StatusOr<SshKeyPair> MakeSshKeyPair(std::string_view) override {
    ++made_;
    return SshKeyPair{};
  }

 private:
  int& made_;
};

class LoopKeyMakerTest : public ::testing::Test {
 protected:
  void Ask(int keys) {
    for (int i = 0; i < keys; ++i) {
      maker_->MakeKeys("seed", [this](const absl::StatusOr<SshKeyPair>& pair) { answered_ += pair.ok() ? 1 : 0; });
    }
  }

  SimTime time_;
  SimLoop worker_{time_, "worker"};
  int made_ = 0;
  int answered_ = 0;
  SlowLoop* const keys_ = new SlowLoop;
  std::unique_ptr<LoopKeyMaker> maker_ =
      std::make_unique<LoopKeyMaker>(worker_, std::make_unique<CountingSource>(made_), std::unique_ptr<Loop>(keys_));
};

TEST_F(LoopKeyMakerTest, KeysAreMadeOnTheirLoopAndToldOnTheWorkers) {
  Ask(3);
  EXPECT_EQ(made_, 0);
  keys_->Run();
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(answered_, 0);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(answered_, 3);
}

TEST_F(LoopKeyMakerTest, KeysThatWaitDoNotHoldUpTheEnd) {
  Ask(100);
  maker_.reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(answered_, 0);
}

TEST_F(LoopKeyMakerTest, NobodyIsToldOfAKeyAfterTheEnd) {
  Ask(1);
  keys_->Run();
  maker_.reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(answered_, 0);
}

}  // namespace
}  // namespace basalt::jobsvc
