#include "tests/examples/judge.h"

#include <fmt/format.h>

namespace basalt::examples {
namespace {

int64_t StatusInt(const json::value& job, std::string_view name) {
  const json::value* status = FindPath(job, {"status"});
  return status == nullptr ? 0 : FindInt(*status, name);
}

}  // namespace

std::vector<std::string> JudgeStatus(const Promise& promise, const json::value& job) {
  std::vector<std::string> complaints;
  const int64_t retries = StatusInt(job, "retryCount");
  if (retries != promise.retries) complaints.push_back(fmt::format("it was restarted {} times", retries));
  const int64_t version = StatusInt(job, "version");
  if (promise.version && version != *promise.version) complaints.push_back(fmt::format("its version is {}", version));
  if (promise.pods) {
    for (const auto& [count, number] : *promise.pods) {
      const int64_t seen = StatusInt(job, count);
      if (seen != number) complaints.push_back(fmt::format("{} pods are {}, not {}", seen, count, number));
    }
  }
  const json::value* state = FindPath(job, {"status", "state"});
  const std::string text = state == nullptr
                               ? std::string()
                               : fmt::format("{}: {}", FindString(*state, "reason"), FindString(*state, "message"));
  for (const std::string& words : promise.says) {
    if (text.find(words) == text.npos)
      complaints.push_back(fmt::format("its status does not say '{}', but '{}'", words, text));
  }
  return complaints;
}

}  // namespace basalt::examples
