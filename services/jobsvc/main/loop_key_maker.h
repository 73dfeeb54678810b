#pragma once

// Makes the key pairs of the ssh plugin, one after the other, on a loop of their own.
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "common/exec/loop.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"

namespace basalt::jobsvc {

// Used and destroyed on `worker`'s loop, where `done` comes. Destroyed, it waits for the pair that is being made at
// most: those that wait their turn are not made, and nobody is told of any.
class LoopKeyMaker : public KeyMaker {
 public:
  // `worker` outlives it. `source` is called on `loop` alone.
  LoopKeyMaker(Loop& worker, std::unique_ptr<SshKeySource> source, std::unique_ptr<Loop> loop);
  ~LoopKeyMaker() override;
  void MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) override;

 private:
  Loop& worker_;
  const std::unique_ptr<SshKeySource> source_;
  const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
  const std::unique_ptr<Loop> loop_;  // Its end runs what was posted, so it goes first.
};

}  // namespace basalt::jobsvc
