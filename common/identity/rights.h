#pragma once

// The only table of the suite that states which roles and which users of Kubernetes may call which RPC
// (docs/security.md contains it). Pure.
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "common/identity/identity.h"

namespace basalt::identity {

// The right that a user of Kubernetes, who has no role, needs to call an RPC.
struct UserRight {
  enum class Kind : uint8_t {
    kNone,        // No user may call the RPC.
    kAnybody,     // The caller needs no right, since the caller is still unknown.
    kEveryUser,   // The user needs a token of the suite.
    kKubernetes,  // The user needs a token of the suite, and `verb` on `resource` in Kubernetes.
  };
  Kind kind = Kind::kNone;
  std::string_view verb = {};
  std::string_view group = {};
  std::string_view resource = {};
  // The namespace, if it is always the same. If empty, the request's namespace counts, and queues have none.
  std::string_view in_namespace = {};
};

struct Right {
  std::string_view service;  // "basalt.gateway.v1.GatewayService".
  std::string_view method;   // "*" means all methods of the service.
  uint32_t roles = 0;        // Has a bit for each role: 1 << Role.
  std::string_view why;      // Describes the use of the RPC, for people.
  UserRight users = {};
};

constexpr uint32_t Only(std::initializer_list<Role> roles) {
  uint32_t bits = 0;
  for (const Role role : roles) bits |= 1U << static_cast<uint32_t>(role);
  return bits;
}

std::span<const Right> AllRights();

// Returns the row of an RPC. Null if no row names it.
const Right* FindRight(std::string_view path);

// Returns the row of the RPC whose requests have that full name of protobuf: "basalt.job.v1.GetJobRequest" belongs to
// GetJob of a service of basalt.job.v1. Null if no row names the RPC, or if the row names all methods of the service.
const Right* FindRightOfRequest(std::string_view request);

// `path` has gRPC's form, "/basalt.gateway.v1.GatewayService/Attach". Returns false if no row names the RPC, or if the
// row does not name the role.
bool MayCall(Role role, std::string_view path);

}  // namespace basalt::identity
