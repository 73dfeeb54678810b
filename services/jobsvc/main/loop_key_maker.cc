#include "services/jobsvc/main/loop_key_maker.h"

#include <utility>

namespace basalt::jobsvc {

LoopKeyMaker::LoopKeyMaker(Loop& worker, std::unique_ptr<SshKeySource> source, std::unique_ptr<Loop> loop)
    : worker_(worker), source_(std::move(source)), loop_(std::move(loop)) {}

LoopKeyMaker::~LoopKeyMaker() { *ended_ = true; }

void LoopKeyMaker::MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) {
  loop_->Post([this, ended = ended_, seed = std::move(seed), done = std::move(done)] {
    if (*ended) return;
    auto keys = source_->MakeSshKeyPair(seed);
    worker_.Post([ended, keys = std::move(keys), done = std::move(done)] {
      if (!*ended) done(keys);
    });
  });
}

}  // namespace basalt::jobsvc
