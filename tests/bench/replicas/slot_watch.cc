#include "tests/bench/replicas/slot_watch.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(3);
constexpr absl::Duration kSilence = absl::Milliseconds(250);  // After so long without a leader's answer nobody writes.
constexpr auto kCallLimit = std::chrono::milliseconds(200);

}  // namespace

SlotWatch::SlotWatch(std::function<Channels()> gateways)
    : thread_([this, gateways = std::move(gateways)] { Run(gateways); }) {}

SlotWatch::~SlotWatch() {
  ending_ = true;
  thread_.join();
}

void SlotWatch::Run(const std::function<Channels()>& gateways) {
  std::vector<std::unique_ptr<gateway::v1::GatewayService::Stub>> stubs;
  gateway::v1::GetTopologyRequest request;
  request.set_slots_of(gateway::v1::SERVICE_KIND_JOB);
  // `at` names the gateway that led last. The others are asked only while that gateway does not lead.
  for (size_t at = 0; !ending_; absl::SleepFor(kPoll)) {
    if (at == stubs.size()) {
      at = 0;
      stubs.clear();
      for (const auto& channel : gateways()) stubs.push_back(gateway::v1::GatewayService::NewStub(channel));
      if (stubs.empty()) continue;
    }
    grpc::ClientContext context;
    // A call that waits drives the handshake of its connection on its own thread. A call that fails at once would leave
    // the connection without a thread that does.
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    gateway::v1::Topology topology;
    const bool answered = stubs[at]->GetTopology(&context, request, &topology).ok();
    if (answered && topology.leads()) {
      Note(topology, absl::Now());
    } else {
      ++at;
    }
  }
}

void SlotWatch::Note(const gateway::v1::Topology& topology, absl::Time now) {
  MutexLock lock(mutex_);
  const absl::Time before = std::exchange(last_, now);
  if (leader_ == topology.gateway()) resolution_ = std::max(resolution_, now - before);
  leader_ = topology.gateway();
  for (const gateway::v1::SlotRange& range : topology.slots()) {
    if (!range.open()) continue;
    for (uint32_t i = range.first(); i <= range.last() && i < kSlotCount; ++i) {
      Slot& slot = slots_[i];
      const bool moved = slot.replica != range.replica();
      const bool known = slot.open != absl::InfinitePast();
      if (known && (moved || slot.open != before || now - slot.open > kSilence))
        gaps_.push_back({i, now - slot.open, moved});
      slot.replica = range.replica();
      slot.open = now;
    }
  }
}

std::vector<Gap> SlotWatch::Take() {
  MutexLock lock(mutex_);
  return std::exchange(gaps_, {});
}

bool SlotWatch::AllOpenAt(int replicas) {
  MutexLock lock(mutex_);
  std::set<std::string_view> owners;
  for (const Slot& slot : slots_) {
    if (slot.open != last_) return false;
    owners.insert(slot.replica);
  }
  return static_cast<int>(owners.size()) == replicas;
}

std::string SlotWatch::Summary() {
  MutexLock lock(mutex_);
  std::map<std::string, int> open;
  for (const Slot& slot : slots_) ++open[slot.open == last_ ? slot.replica : "nobody"];
  std::string text = fmt::format("{} led {} ago;", leader_, absl::FormatDuration(absl::Now() - last_));
  for (const auto& [replica, slots] : open) text += fmt::format(" {} has {}", replica, slots);
  return text;
}

absl::Time SlotWatch::last() {
  MutexLock lock(mutex_);
  return last_;
}

std::string SlotWatch::leader() {
  MutexLock lock(mutex_);
  return leader_;
}

absl::Duration SlotWatch::resolution() {
  MutexLock lock(mutex_);
  return resolution_;
}

}  // namespace basalt::bench
