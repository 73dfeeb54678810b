#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>

#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {

// This check is strict in two ways. The check counts every write that reached the API server, even a refused one: a
// gateway has let that write through. And no write may arrive once a write of a later epoch has taken effect. A slot is
// opened for its next owner only when no write of the previous owner is in flight, a new leader waits for the writes of
// its predecessor, and a leader that was paused looks at its own clock before it sends. (A real process may be paused
// between that look and the sending; only a precondition stops such a write. A task of the simulation cannot be
// paused.)
void JudgeWriters(const kubesim::ApiServer& api, std::vector<std::string>& violations) {
  std::map<std::tuple<std::string, uint32_t, int64_t>, std::pair<std::string, std::string>> owner_of;
  std::map<std::pair<std::string, uint32_t>, int64_t> newest;
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (request.dropped_request) continue;
    const std::optional<e2e::Writer> writer = e2e::WriterOf(request.user_agent);
    if (!writer.has_value()) {
      if (IsOurs(request)) violations.push_back(fmt::format("whose is a write of '{}'?", request.user_agent));
      continue;
    }
    const auto [owner, first] = owner_of.try_emplace(std::tuple(writer->service, writer->slot, writer->epoch),
                                                     std::pair(writer->replica, writer->incarnation));
    if (!first && owner->second != std::pair(writer->replica, writer->incarnation)) {
      violations.push_back(fmt::format("slot {} of {} has two writers in epoch {}: {}/{} and {}/{}", writer->slot,
                                       writer->service, writer->epoch, owner->second.first, owner->second.second,
                                       writer->replica, writer->incarnation));
    }
    if (request.resource == "podgroups" && writer->service != "pgsvc") {
      violations.push_back(fmt::format("{} of PodGroup {} by {}", request.verb, request.name, writer->replica));
    }
    int64_t& epoch = newest[{writer->service, writer->slot}];
    if (writer->epoch < epoch) {
      violations.push_back(fmt::format("{} of {}/{} by {} in epoch {} {} after a write in epoch {}", request.verb,
                                       request.resource, request.name, writer->replica, writer->epoch,
                                       Succeeded(request) ? "took effect" : "was let through", epoch));
    }
    if (!Succeeded(request)) continue;
    epoch = std::max(epoch, writer->epoch);
  }
}

}  // namespace basalt::simulation
