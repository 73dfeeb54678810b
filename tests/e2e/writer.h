#pragma once

// Whose a logged request is, as the gateway told the API server: "basalt-gateway/1.0 (jobsvc-0/abc slot 7 epoch 3)".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace basalt::e2e {

// A replica's that owns a slot, through the gateway: not what gateways write to settle who leads.
inline bool IsByOwner(std::string_view user_agent) {
  return user_agent.starts_with("basalt") && user_agent.find(" slot ") != std::string_view::npos;
}

struct Writer {
  std::string service;  // "jobsvc", of the replica "jobsvc-0".
  std::string replica;
  std::string incarnation;
  uint32_t slot = 0;
  int64_t epoch = 0;
};
// nullopt: it tells of no owner.
std::optional<Writer> WriterOf(std::string_view user_agent);

}  // namespace basalt::e2e
