#pragma once

// Which role may call which RPC, and which users of Kubernetes: the one table of the suite (docs/security.md is made of
// it). Pure.
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "common/identity/identity.h"

namespace basalt::identity {

// What a user of Kubernetes, who has no role, needs to call an RPC.
struct UserRight {
  enum class Kind : uint8_t {
    kNone,        // Users do not call the RPC.
    kAnybody,     // Nothing: who asks is still unknown.
    kEveryUser,   // A token of the suite.
    kKubernetes,  // A token of the suite, and that verb on that resource in Kubernetes.
  };
  Kind kind = Kind::kNone;
  std::string_view verb = {};
  std::string_view group = {};
  std::string_view resource = {};
  std::string_view in_namespace = {};  // Where it is always the same; else the request's, or none for queues.
};

struct Right {
  std::string_view service;  // "basalt.gateway.v1.GatewayService".
  std::string_view method;   // "*": all of the service.
  uint32_t roles = 0;        // A bit for each role: 1 << Role.
  std::string_view why;      // For whom the RPC is there, in words.
  UserRight users = {};
};

constexpr uint32_t Only(std::initializer_list<Role> roles) {
  uint32_t bits = 0;
  for (const Role role : roles) bits |= 1U << static_cast<uint32_t>(role);
  return bits;
}

std::span<const Right> AllRights();

// The row of that RPC; null: there is none.
const Right* FindRight(std::string_view path);

// The row of the RPC whose requests have that full name, as protobuf has it: "basalt.job.v1.GetJobRequest" is that of
// GetJob of a service of basalt.job.v1. Null: there is none, or its row names all methods of the service.
const Right* FindRightOfRequest(std::string_view request);

// `path`: as gRPC has it, "/basalt.gateway.v1.GatewayService/Attach". False: no row names the RPC, or the row does not
// name the role.
bool MayCall(Role role, std::string_view path);

}  // namespace basalt::identity
