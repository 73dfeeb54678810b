#pragma once

// What can be wrong between the gateway and its API server: one word for tools, why, and what a person does about it.
// Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::gateway {

struct Problem {
  // unreachable   no connection, or one that breaks
  // untrusted     its certificate is not one that we accept
  // unauthorized  it does not accept who we are
  // forbidden     a right is missing
  // absent        the kind is not served: its definition is not installed
  // version       the kind's group is served, but not in our version
  // failing       it answers, but nothing of use
  std::string state;
  std::string why;
  std::string cure;

  // About the connection as a whole, not about what was asked for.
  bool OfConnection() const { return state == "unreachable" || state == "untrusted" || state == "unauthorized"; }
  // Repeating does not help: somebody must do something.
  bool NeedsHelp() const { return state != "unreachable" && state != "failing"; }
};

// Why a list or watch is being tried again; statuses as ReflectorSink::OnError has them.
Problem ProblemOf(const absl::Status& status);

// The server said 401 to a request.
Problem UnauthorizedProblem(std::string_view message);

// A watch must not list or watch `resource` ("jobs.batch.volcano.sh").
Problem ForbiddenWatch(std::string_view resource, std::string_view message);

// `served`: the versions in which the server has the resource's group; none: it does not know the group.
Problem AbsentWatch(std::string_view resource, std::string_view our_version, absl::Span<const std::string> served);

// Rights that only jobs with plugins need, and only in their namespaces (deploy/rbac/plugins).
bool IsBoundByNamespace(std::string_view resource);
// Rights that only users of Kubernetes need (deploy/rbac/users).
bool IsOfUsers(std::string_view resource);
// `verb`: as RBAC names the right to write `resource` that is missing.
Problem ForbiddenWrite(std::string_view verb, std::string_view resource, std::string_view message);

}  // namespace basalt::gateway
