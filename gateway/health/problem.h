#pragma once

// A problem between the gateway and its API server: one word for tools, the reason, and the cure for a person. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::gateway {

struct Problem {
  // unreachable   there is no connection, or the connection breaks
  // untrusted     the gateway does not accept the server's certificate
  // unauthorized  the server does not accept who the gateway is
  // forbidden     a right is missing
  // absent        the kind is not served: its definition is not installed
  // version       the kind's group is served, but not in our version
  // failing       the server answers, but nothing of use
  std::string state;
  std::string why;
  std::string cure;

  // The problem concerns the connection as a whole, not the requested resource.
  bool OfConnection() const { return state == "unreachable" || state == "untrusted" || state == "unauthorized"; }
  // Repeating does not help: a person must act.
  bool NeedsHelp() const { return state != "unreachable" && state != "failing"; }
};

// Returns why a list or watch is being tried again. `status` is as in ReflectorSink::OnError.
Problem ProblemOf(const absl::Status& status);

// The server answered a request with 401.
Problem UnauthorizedProblem(std::string_view message);

// The gateway may not list or watch `resource` ("jobs.batch.volcano.sh").
Problem ForbiddenWatch(std::string_view resource, std::string_view message);

// `served` contains the versions in which the server has the resource's group. Empty if the server does not know the
// group.
Problem AbsentWatch(std::string_view resource, std::string_view our_version, absl::Span<const std::string> served);

// Whether only jobs with plugins need rights on `resource`, and only in their namespaces (deploy/rbac/plugins).
bool IsBoundByNamespace(std::string_view resource);
// Whether only users of Kubernetes need rights on `resource` (deploy/rbac/users).
bool IsOfUsers(std::string_view resource);
// `verb` is RBAC's name of the missing right to write `resource`.
Problem ForbiddenWrite(std::string_view verb, std::string_view resource, std::string_view message);

}  // namespace basalt::gateway
