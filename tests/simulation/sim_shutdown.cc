// Imitates the end of a process after SIGTERM, as the main functions of services and gateways do it, in simulated time.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gateway/lead/lease.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {
namespace {

constexpr absl::Duration kDrain = absl::Seconds(2);  // This is the value of gateway::ProcessOptions and of services.
// A loop's clock may be slow, and the loop's end takes a task.
constexpr absl::Duration kSlack = absl::Milliseconds(100);

// Returns true if the replica is a member in the last assignment that it has heard.
bool IsMember(const runtime::Replica& replica) {
  const gateway::v1::Member& self = replica.self();
  const std::vector<gateway::v1::Member> members = replica.Members(self.service());
  return std::any_of(members.begin(), members.end(), [&](const gateway::v1::Member& member) {
    return member.replica() == self.replica() && member.incarnation() == self.incarnation();
  });
}

// Returns the longest time that a process promises for its shutdown. A replica leaves and drains. A gateway drains,
// waits for its writes in flight, and gives the Lease back.
absl::Duration LongestShutdown(std::string_view program) {
  if (program != kGateway) return runtime::RuntimeOptions().leave_timeout + kDrain + kSlack;
  const gateway::WriterOptions writer;
  return kDrain + writer.default_timeout + writer.patience + gateway::LeadOptions().lease_duration / 3 + kSlack;
}

}  // namespace

bool SimSuite::IsShuttingDown(std::string_view name) const {
  const Host& host = HostOf(name);
  return host.shutdown.under_way && host.is_running();
}

bool SimSuite::WasShutDown(std::string_view name) const { return IsShuttingDown(name) || HostOf(name).shutdown.done; }

void SimSuite::ShutDown(std::string_view name) {
  Note(fmt::format("{} shuts down", name));
  Host& host = HostOf(name);
  const uint64_t number = host.shutdown.number + 1;
  host.shutdown = {.number = number, .under_way = true};
  time_.RunAfter(LongestShutdown(host.program), [this, name = std::string(name), number] {
    const Shutdown& shutdown = HostOf(name).shutdown;
    if (!IsShuttingDown(name) || shutdown.number != number) return;
    if (shutdown.was_paused) {
      probes_.Hit("killed at the end of its time to shut down");
    } else {
      overdue_.push_back(fmt::format("{} has not shut down in its time", name));
    }
    Kill(name);
  });
  if (host.gateway != nullptr) {
    ShutDownGateway(std::string(name), host);
  } else {
    ShutDownService(std::string(name), host);
  }
}

void SimSuite::ShutDownService(const std::string& name, Host& host) {
  runtime::Replica& replica = *host.service->replica;
  const bool member = IsMember(replica);
  host.shutdown.gives_away = member && OthersRun(name);
  probes_.Hit("replica shut down");
  LookAtMoves(name);
  replica.Leave([this, name, member, &host, &replica, since = time_.Now()] {
    host.shutdown.gives_away = false;
    const absl::Duration took = time_.Now() - since;
    const runtime::RuntimeOptions options;
    if (took + kSlack >= options.leave_timeout) {
      probes_.Hit("replica shut down though others had not taken its slots");
    } else if (member && took < options.leave_without_gateway) {
      // A gateway has dismissed the replica.
      probes_.Hit(IsMember(replica) ? "replica shut down with nobody to give its slots to"
                                    : "replica gave its slots away");
    }
    host.service->jobs = nullptr;  // The controller goes with its worker.
    replica.Stop([this, name, number = host.shutdown.number] {
      network_->Drain(name, kDrain, [this, name, number] { FinishShutdown(name, number); });
    });
  });
}

void SimSuite::LookAtMoves(const std::string& name) {
  const auto holder = gateway::ParseIdentity(Leader());
  const auto leader = holder ? hosts_.find(holder->replica) : hosts_.end();
  if (leader == hosts_.end() || leader->second.gateway == nullptr) return;
  leader->second.gateway->gateway->GetTopology({}, [this, name](absl::StatusOr<gateway::v1::Topology> topology) {
    if (!topology.ok()) return;
    for (const gateway::v1::Move& move : topology->moves()) {
      if (move.from() != name && move.to() != name) continue;
      probes_.Hit("replica shut down while its slots moved");
      if (move.stage() == gateway::v1::Move::STAGE_TRANSFERRING) probes_.Hit("replica shut down in a hand-over");
    }
  });
}

bool SimSuite::IsMemberAt(std::string_view host, std::string_view name) const {
  const runtime::Replica& replica = *HostOf(host).service->replica;
  const std::vector<gateway::v1::Member> members = replica.Members(replica.self().service());
  return std::any_of(members.begin(), members.end(),
                     [&](const gateway::v1::Member& member) { return member.replica() == name; });
}

double SimSuite::WritesUnderWay(std::string_view gateway) const {
  const Host& host = HostOf(gateway);
  return host.gateway == nullptr ? 0 : host.gateway->metrics->GetGauge("basalt_gateway_writes_in_flight", "").Value();
}

void SimSuite::ShutDownGateway(const std::string& name, Host& host) {
  const std::optional<gateway::Holder> holder = gateway::ParseIdentity(Leader());
  host.shutdown.gives_away = holder && holder->replica == name;
  probes_.Hit("gateway shut down");
  if (WritesUnderWay(name) > 0) probes_.Hit("gateway shut down with writes under way");
  network_->Drain(name, kDrain, [this, name, &host] {
    if (WritesUnderWay(name) > 0) probes_.Hit("gateway drained with writes under way");
    host.gateway->gateway->Stop([this, name, &host, before = Leader()] {
      if (host.shutdown.gives_away) {
        probes_.Hit(Leader() != before ? "gateway gave its lead back" : "gateway ended without giving its lead back");
      }
      host.shutdown.gives_away = false;
      FinishShutdown(name, host.shutdown.number);
    });
  });
}

void SimSuite::FinishShutdown(const std::string& name, uint64_t number) {
  // Kill() must not run inside a task of the process.
  time_.RunAfter(absl::ZeroDuration(), [this, name, number] {
    Host& host = HostOf(name);
    if (!IsShuttingDown(name) || host.shutdown.number != number) return;
    host.shutdown.under_way = false;
    host.shutdown.done = true;
    Kill(name);
  });
}

void SimSuite::InterruptShutdown(Host& host) {
  if (host.shutdown.gives_away) {
    probes_.Hit(host.program == kGateway ? "gateway killed before it had given its lead back"
                                         : "replica killed while it gave its slots away");
  }
  host.shutdown = {.number = host.shutdown.number};
}

bool SimSuite::OthersRun(std::string_view name) const {
  const std::string& program = HostOf(name).program;
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& entry) {
    const auto& [other, host] = entry;
    const bool stays = host.joined && host.is_running() && !host.shutdown.under_way;
    return other != name && host.program == program && stays;
  });
}

}  // namespace basalt::simulation
