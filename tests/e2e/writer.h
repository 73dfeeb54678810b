#pragma once

// Parses the sender of a logged request, which the gateway puts into the user agent: "basalt-gateway/1.0 (jobsvc-0/abc
// slot 7 epoch 3)".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace basalt::e2e {

// Returns true if a replica that owns a slot sent the request through the gateway. Returns false for a gateway's own
// requests about the lead.
inline bool IsByOwner(std::string_view user_agent) {
  return user_agent.starts_with("basalt") && user_agent.find(" slot ") != std::string_view::npos;
}

struct Writer {
  std::string service;  // "jobsvc" for the replica "jobsvc-0".
  std::string replica;
  std::string incarnation;
  uint32_t slot = 0;
  int64_t epoch = 0;
};
// Returns nullopt if the user agent names no owner.
std::optional<Writer> WriterOf(std::string_view user_agent);

}  // namespace basalt::e2e
