#pragma once

// Which role may call which RPC: the one table of the suite (docs/security.md is made of it). Pure.
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "common/identity/identity.h"

namespace basalt::identity {

struct Right {
  std::string_view service;  // "basalt.gateway.v1.GatewayService".
  std::string_view method;   // "*": all of the service.
  uint32_t roles = 0;        // A bit for each role: 1 << Role.
  std::string_view why;      // For whom the RPC is there, in words.
};

constexpr uint32_t Only(std::initializer_list<Role> roles) {
  uint32_t bits = 0;
  for (const Role role : roles) bits |= 1U << static_cast<uint32_t>(role);
  return bits;
}

std::span<const Right> AllRights();

// The row of that RPC; null: there is none.
const Right* FindRight(std::string_view path);

// `path`: as gRPC has it, "/basalt.gateway.v1.GatewayService/Attach". False: no row names the RPC, or the row does not
// name the role.
bool MayCall(Role role, std::string_view path);

}  // namespace basalt::identity
