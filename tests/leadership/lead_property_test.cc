// Faults hit gateways, their clocks, their network and the Lease at random. No write of one gateway is under way while
// a write of another one is, epochs only grow, and once the faults are over exactly one gateway leads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "common/obs/log.h"
#include "gateway/lead/lead.h"
#include "tests/leadership/world.h"

namespace basalt::leadership {
namespace {

using storage::v1::AssignmentRecord;

// Checks the events of all processes in simulated time, which no skew of a clock affects.
struct Invariants {
  std::map<int, absl::Time> busy_until;  // The end of the last write of each process.
  uint64_t writes = 0;
  int64_t acknowledged = 0;  // The highest epoch whose save was acknowledged.
  uint64_t leads = 0;
  std::string wrong;

  void Begin(int process, absl::Time now, absl::Duration takes) {
    for (const auto& [other, end] : busy_until) {
      if (other == process || end <= now || !wrong.empty()) continue;
      wrong = fmt::format("process {} begins a write at {} while one of {} is under way until {}", process,
                          absl::FormatTime(now), other, absl::FormatTime(end));
    }
    busy_until[process] = now + takes;
    ++writes;
  }
};

class Gateway : public gateway::LeadListener {
 public:
  Gateway(World& world, Invariants& invariants, int number, int incarnation, absl::Duration skew)
      : world_(world),
        invariants_(invariants),
        number_(number),
        incarnation_(incarnation),
        loop_(world.time(), skew),
        random_(world.random().Next()),
        network_(std::make_shared<SeededRandom>(world.random().Next())) {
    // A message that is under way outlives the process. The network delays answers, too.
    link_->delay = [network = network_] {
      return network->OneIn(200) ? absl::Seconds(4) * network->Unit() : absl::Milliseconds(20) * network->Unit();
    };
    link_->deliver_after_cancel = true;
    client_ = std::make_unique<http::DirectClient>(loop_, world.server_loop(), world.api(), link_);
    options_.replica = fmt::format("gateway-{}", number);
    options_.incarnation = fmt::to_string(incarnation);
    options_.lease_duration = kDuration;
    lead_ = std::make_unique<gateway::Lead>(
        loop_, *client_, random_, *metrics_, options_,
        gateway::LeadHooks{
            .allow_writes =
                [this](absl::Time from, absl::Time until) {
                  from_ = from;
                  until_ = until;
                },
            .when_quiet = [this](std::function<void()> done) { loop_.RunAfter(options_.MaxWrite(), std::move(done)); },
            .set_condition = [](const obs::Health::Condition&) {},
            .on_fatal = [this](const absl::Status&) { ended = true; }});
    lead_->Start(*this, "h");
    Beat();
  }
  ~Gateway() override { Kill(); }
  void Kill() {
    loop_.Kill();
    lead_.reset();
    client_.reset();
  }

  void OnLead(const AssignmentRecord& saved) override {
    ++invariants_.leads;
    if (saved.epoch() < invariants_.acknowledged && invariants_.wrong.empty()) {
      invariants_.wrong = fmt::format("gateway {} leads from epoch {}, though {} was saved", number_, saved.epoch(),
                                      invariants_.acknowledged);
    }
    epoch_ = saved.epoch() + 1;
    Save();
  }
  void OnFollow(std::string, std::string) override {
    saved_ = false;
    saving_ = false;
  }
  // Ends the lead as a terminating process does: it begins no further write, and gives the Lease back once the last
  // write has ended.
  void Release() {
    if (std::exchange(releasing_, true)) return;
    lead_->Release([this] { ended = true; });
  }

  bool leads() const { return lead_ != nullptr && lead_->leads(); }
  PausableLoop& loop() { return loop_; }
  http::DirectClient& client() { return *client_; }
  http::DirectLink& link() { return *link_; }
  void LoseMessages(double share) {
    link_->drop_response = [network = network_, share] { return network->Unit() < share; };
    link_->drop_request = [network = network_, share] { return network->Unit() < share / 2; };
  }

  bool ended = false;

 private:
  void Save() {
    AssignmentRecord record;
    record.set_epoch(epoch_);
    saving_ = true;
    lead_->assignments().Save(record, [this](const absl::Status& status) {
      if (!saving_) return;
      saving_ = false;
      if (status.ok()) {
        if (epoch_ <= invariants_.acknowledged && invariants_.wrong.empty()) {
          invariants_.wrong = fmt::format("epoch {} was saved after {}", epoch_, invariants_.acknowledged);
        }
        invariants_.acknowledged = std::max(invariants_.acknowledged, epoch_);
        saved_ = true;
        return;
      }
      if (absl::IsAborted(status)) return;
      saving_ = true;
      loop_.RunAfter(absl::Milliseconds(200), [this] {
        if (saving_) Save();
      });
    });
  }
  // Writes as often as the lead allows. Each write takes the longest time that a write may take.
  void Beat() {
    const absl::Time now = loop_.Now();
    if (saved_ && !releasing_ && now >= from_ && now < until_) {
      invariants_.Begin(incarnation_, world_.time().Now(), options_.MaxWrite());
    }
    loop_.RunAfter(absl::Milliseconds(100 + random_.Uniform(100)), [this] { Beat(); });
  }

  World& world_;
  Invariants& invariants_;
  const int number_, incarnation_;
  PausableLoop loop_;
  SeededRandom random_;
  const std::shared_ptr<SeededRandom> network_;
  gateway::LeadOptions options_;
  std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  std::shared_ptr<http::DirectLink> link_ = std::make_shared<http::DirectLink>();
  std::unique_ptr<http::DirectClient> client_;
  absl::Time from_ = absl::InfiniteFuture(), until_ = absl::InfinitePast();
  int64_t epoch_ = 0;
  bool saved_ = false, saving_ = false, releasing_ = false;
  std::unique_ptr<gateway::Lead> lead_;
};

class Story {
 public:
  explicit Story(uint64_t seed) : world_(seed), gateways_(2 + seed % 2) {
    for (size_t i = 0; i < gateways_.size(); ++i) skews_.push_back(absl::Hours(world_.random().Unit() * 10 - 5));
  }

  std::string Run() {
    for (int step = 0; step < 120 && invariants_.wrong.empty(); ++step) {
      Happen();
      world_.Advance(absl::Milliseconds(world_.random().Uniform(6000)));
    }
    if (!invariants_.wrong.empty()) return invariants_.wrong;
    world_.api().faults().Clear();
    for (size_t i = 0; i < gateways_.size(); ++i) {
      Revive(i);
      gateways_[i]->loop().Continue();
      gateways_[i]->client().SetCut(false);
      gateways_[i]->link().drop_request = nullptr;
      gateways_[i]->link().drop_response = nullptr;
    }
    // This is a minute and a half, because the network delays a request now and then.
    world_.Advance(kDuration * 6);
    for (size_t i = 0; i < gateways_.size(); ++i) Revive(i);
    world_.Advance(kDuration * 2);
    const auto leaders =
        std::count_if(gateways_.begin(), gateways_.end(), [](const auto& one) { return one->leads(); });
    if (invariants_.wrong.empty() && leaders != 1) invariants_.wrong = fmt::format("{} lead when it is quiet", leaders);
    return invariants_.wrong;
  }
  const Invariants& invariants() const { return invariants_; }

 private:
  void Revive(size_t i) {
    auto& one = gateways_[i];
    if (one != nullptr && !one->ended) return;
    one.reset();
    one = std::make_unique<Gateway>(world_, invariants_, static_cast<int>(i), ++incarnations_, skews_[i]);
  }
  void Happen() {
    Random& random = world_.random();
    const size_t i = random.Uniform(gateways_.size());
    auto& one = gateways_[i];
    if (one == nullptr || one->ended) return Revive(i);
    switch (random.Uniform(12)) {
      case 0:
        return one.reset();
      case 1:
        return one->loop().Pause();
      case 2:
      case 3:
        return one->loop().Continue();
      case 4:
        return one->client().SetCut(true);
      case 5:
      case 6:
        return one->client().SetCut(false);
      case 7:
        return world_.DeleteLease();
      case 8:
        return one->Release();
      case 9:
        return one->LoseMessages(random.Unit() * 0.7);
      case 10:
        one->link().drop_response = nullptr;
        one->link().drop_request = nullptr;
        return;
      default: {
        const int codes[] = {409, 429, 500, 503, 504};
        world_.Fault(kubesim::FaultAction::kAnswer, random.OneIn(2) ? "update" : "get", 1 + random.Uniform(5),
                     codes[random.Uniform(5)], random.OneIn(2) ? "leases" : "configmaps");
        return;
      }
    }
  }

  World world_;
  Invariants invariants_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::vector<absl::Duration> skews_;
  int incarnations_ = 0;
};

TEST(LeadPropertyTest, NoTwoGatewaysWriteAtOnce) {
  obs::SetLogLevel(obs::Level::kNothing);
  constexpr uint64_t kSeeds = 40;
  uint64_t leads = 0, writes = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Story story(seed);
    ASSERT_EQ(story.Run(), "") << "seed " << seed;
    leads += story.invariants().leads;
    writes += story.invariants().writes;
  }
  obs::SetLogLevel(obs::Level::kInfo);
  EXPECT_GT(leads, kSeeds * 5) << "the lead has gone round";
  EXPECT_GT(writes, kSeeds * 500);
}

}  // namespace
}  // namespace basalt::leadership
