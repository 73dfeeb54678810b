#include "tests/simulation/host.h"

#include <utility>

namespace basalt::simulation {
namespace {

// Makes false keys of the right form, without delay.
class FakeKeyMaker final : public jobsvc::KeyMaker {
 public:
  explicit FakeKeyMaker(Loop& loop) : loop_(loop), source_(jobsvc::MakeFakeKeySource()) {}
  void MakeKeys(std::string seed, std::function<void(absl::StatusOr<jobsvc::SshKeyPair>)> done) override {
    loop_.Post([this, seed = std::move(seed), done = std::move(done)] { done(source_->MakeSshKeyPair(seed)); });
  }

 private:
  Loop& loop_;
  std::unique_ptr<jobsvc::SshKeySource> source_;
};

}  // namespace

ServiceProcess::ServiceProcess(SimTime& time, const std::string& name, SimClock clock, uint64_t seed)
    : loop(time, name, clock), random(seed), metrics(obs::MakeMetrics()), keys(std::make_unique<FakeKeyMaker>(loop)) {}

ServiceProcess::~ServiceProcess() = default;

}  // namespace basalt::simulation
