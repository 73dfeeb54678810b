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

// Used and destroyed on `worker`'s loop, on which `done` is called. The destructor waits at most for the pair that is
// being made. Pairs that wait their turn are not made, and no `done` is called any more.
class LoopKeyMaker : public KeyMaker {
 public:
  // `worker` outlives the object. `source` is called on `loop` alone.
  LoopKeyMaker(Loop& worker, std::unique_ptr<SshKeySource> source, std::unique_ptr<Loop> loop);
  ~LoopKeyMaker() override;
  void MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) override;

 private:
  Loop& worker_;
  const std::unique_ptr<SshKeySource> source_;
  const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
  const std::unique_ptr<Loop> loop_;  // Its destructor runs the posted tasks, so the loop is destroyed first.
};

}  // namespace basalt::jobsvc
