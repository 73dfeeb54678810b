#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>

#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {

// Strict in two ways. Whatever reached the API server counts, also what it refused: a gateway has let it through. And
// no write reaches it once one of a later epoch has taken effect: a slot is opened for its next owner when nothing of
// the one before is under way, a new leader waits for what its predecessor has sent, and a leader that was paused looks
// at its own clock before it sends. (On real machines it may be paused between that look and the sending, which only a
// precondition stops. A task of the simulation cannot be.)
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
