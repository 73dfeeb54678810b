#include "common/discovery/gateway_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/obs/log.h"

namespace basalt::discovery {

GatewayRing::GatewayRing(Loop& loop, std::vector<GatewayName> names, std::unique_ptr<Resolver> resolver)
    : loop_(loop), resolver_(std::move(resolver)) {
  for (GatewayName& name : names) {
    Known& known = known_.emplace_back();
    if (!name.many) known.addresses = {ToText(name.at)};
    known.name = std::move(name);
  }
  Gather();
}

GatewayRing::~GatewayRing() { *alive_ = false; }

std::optional<std::string> GatewayRing::Current() const {
  if (!leader_.empty()) return leader_;
  if (ring_.empty()) return std::nullopt;
  return ring_[at_];
}

void GatewayRing::Failed(std::string_view leader) {
  const std::string failed = std::exchange(leader_, "");
  const bool out_of_turn = !failed.empty();
  if (!out_of_turn && !leader.empty() && ParseHostPort(leader).ok()) {
    leader_ = leader;
    return;
  }
  if (!ring_.empty()) at_ = (at_ + 1) % ring_.size();
  // The leader's address has failed just now, so its turn in the ring is skipped.
  if (out_of_turn && ring_.size() > 1 && ring_[at_] == failed) at_ = (at_ + 1) % ring_.size();
  if (MayLookUp()) LookUpAll();
}

void GatewayRing::Await(absl::AnyInvocable<void(const absl::Status&)> then) {
  if (MayLookUp()) LookUpAll();
  if (under_way_ > 0) return waiting_.push_back(std::move(then));
  loop_.Post([alive = alive_, status = Errors(), then = std::move(then)]() mutable {
    if (*alive) then(status);
  });
}

bool GatewayRing::MayLookUp() const { return under_way_ == 0 && loop_.Now() - looked_up_ >= kLookUpAgain; }

void GatewayRing::LookUpAll() {
  looked_up_ = loop_.Now();
  for (Known& known : known_) {
    if (!known.name.many) continue;
    ++under_way_;
    resolver_->Resolve(known.name.at, [this, alive = alive_, &known](auto found) {
      if (*alive) OnLookedUp(known, std::move(found));
    });
  }
}

void GatewayRing::OnLookedUp(Known& known, absl::StatusOr<std::vector<std::string>> found) {
  if (found.ok() && found->empty()) found = absl::UnavailableError("it has no address");
  if (!found.ok() && found.status() != known.error) {
    obs::LogWarning("the gateways' addresses cannot be looked up",
                    {{"gateway", known.name.text}, {"why", std::string(ToStd(found.status().message()))}});
  }
  known.error = found.status();
  if (found.ok()) known.addresses = *std::move(found);
  Gather();
  if (--under_way_ > 0 && ring_.empty()) return;
  const absl::Status status = ring_.empty() ? Errors() : absl::OkStatus();
  for (auto& then : std::exchange(waiting_, {})) then(status);
}

void GatewayRing::Gather() {
  const std::string before = ring_.empty() ? "" : ring_[at_];
  ring_.clear();
  for (const Known& known : known_) {
    for (const std::string& address : known.addresses) {
      if (std::find(ring_.begin(), ring_.end(), address) == ring_.end()) ring_.push_back(address);
    }
  }
  const auto still = std::find(ring_.begin(), ring_.end(), before);
  if (still != ring_.end()) {
    at_ = static_cast<size_t>(still - ring_.begin());
  } else {
    at_ = ring_.empty() ? 0 : at_ % ring_.size();
  }
}

absl::Status GatewayRing::Errors() const {
  std::string text;
  for (const Known& known : known_) {
    if (known.error.ok()) continue;
    text += fmt::format("{}'{}': {}", text.empty() ? "" : "; ", known.name.text, ToStd(known.error.message()));
  }
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("--gateway {}", text));
}

}  // namespace basalt::discovery
