#include <fmt/format.h>

#include <charconv>
#include <tuple>

#include "tests/simulation/judge.h"

namespace basalt::simulation {
namespace {

// Takes what comes before `end` off the front.
bool TakeUntil(std::string_view& text, std::string_view end, std::string_view& part) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  part = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return true;
}

template <typename Number>
bool ToNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool ParseWriter(std::string_view user_agent, Writer& writer) {
  std::string_view part;
  if (!TakeUntil(user_agent, " (", part) || !part.starts_with("basalt-gateway/")) return false;
  if (!TakeUntil(user_agent, "/", part)) return false;
  writer.replica = part;
  if (!TakeUntil(user_agent, " slot ", part)) return false;
  writer.incarnation = part;
  if (!TakeUntil(user_agent, " epoch ", part) || !ToNumber(part, writer.slot)) return false;
  return TakeUntil(user_agent, ")", part) && user_agent.empty() && ToNumber(part, writer.epoch);
}

// Strict in two ways. Whatever reached the API server counts, also what it refused: a gateway has let it through. And
// no write reaches it once one of a later epoch has taken effect: a slot is opened for its next owner when nothing of
// the one before is under way, a new leader waits for what its predecessor has sent, and a leader that was paused looks
// at its own clock before it sends. (On real machines it may be paused between that look and the sending, which only a
// precondition stops. A task of the simulation cannot be.)
void JudgeWriters(const kubesim::ApiServer& api, std::vector<std::string>& violations) {
  std::map<std::tuple<std::string, uint32_t, int64_t>, std::pair<std::string, std::string>> owner_of;
  std::map<std::pair<std::string, uint32_t>, int64_t> newest;
  for (const kubesim::LoggedRequest& request : api.log()) {
    Writer writer;
    if (request.dropped_request || !ParseWriter(request.user_agent, writer)) continue;
    const std::string service = writer.service();
    const auto [owner, first] = owner_of.try_emplace(std::tuple(service, writer.slot, writer.epoch),
                                                     std::pair(writer.replica, writer.incarnation));
    if (!first && owner->second != std::pair(writer.replica, writer.incarnation)) {
      violations.push_back(fmt::format("slot {} of {} has two writers in epoch {}: {}/{} and {}/{}", writer.slot,
                                       service, writer.epoch, owner->second.first, owner->second.second, writer.replica,
                                       writer.incarnation));
    }
    int64_t& epoch = newest[{service, writer.slot}];
    if (writer.epoch < epoch) {
      violations.push_back(fmt::format("{} of {}/{} by {} in epoch {} {} after a write in epoch {}", request.verb,
                                       request.resource, request.name, writer.replica, writer.epoch,
                                       Succeeded(request) ? "took effect" : "was let through", epoch));
    }
    if (!Succeeded(request)) continue;
    epoch = std::max(epoch, writer.epoch);
  }
}

}  // namespace basalt::simulation
