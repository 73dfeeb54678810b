#pragma once

// Services by the names of their programs. Pure.
#include <string_view>
#include <utility>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::rpc {

inline constexpr std::pair<std::string_view, gateway::v1::ServiceKind> kPrograms[] = {
    {"jobsvc", gateway::v1::SERVICE_KIND_JOB},
    {"pgsvc", gateway::v1::SERVICE_KIND_POD_GROUP},
    {"queuesvc", gateway::v1::SERVICE_KIND_QUEUE}};

// Returns `unknown` for a kind that is none of the three.
inline std::string_view ProgramName(gateway::v1::ServiceKind service, std::string_view unknown) {
  for (const auto& [name, kind] : kPrograms) {
    if (kind == service) return name;
  }
  return unknown;
}

// Returns SERVICE_KIND_UNSPECIFIED if there is no such program.
inline gateway::v1::ServiceKind ServiceOfProgram(std::string_view program) {
  for (const auto& [name, kind] : kPrograms) {
    if (name == program) return kind;
  }
  return gateway::v1::SERVICE_KIND_UNSPECIFIED;
}

}  // namespace basalt::rpc
