#pragma once

// Interprets the API server's refusals. All functions are pure.
#include <string_view>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/http/http.h"

namespace basalt::gateway {

// The longest pause that one answer may impose on more than the request that it answers.
inline constexpr absl::Duration kLongestPause = absl::Seconds(30);

// Reads a refusal, and Retry-After from the headers, too. A 422 on metadata.uid means another object, like a 409, so
// its reason becomes Conflict. The API server answers for a kind that it does not serve with a page of text: if
// `target` is below /apis, the message names the missing definition.
v1::KubeError ReadRefusal(const http::Response& response, std::string_view target = {});

// Whether RBAC made the refusal: the same code stands for quotas, admission and namespaces that end.
bool IsMissingRight(const v1::KubeError& error);

// Whether the refusal is a 403 because the writer may not impersonate, whatever the impersonated user may do.
bool IsImpersonationRefused(const v1::KubeError& error);

// Whether the request was surely not carried out and may be sent again later: a 429, or a 503 with Retry-After.
bool IsComeAgain(const v1::KubeError& error);

// Whether a refusal to come again later was made before the server looked at the request: by API Priority and Fairness,
// by the bound on requests in flight, by a server that is shutting down (all three answer in plain text), or by a
// proxy. Such a refusal holds for all requests. A refusal that comes as a Status, from an admission webhook or from the
// storage of one kind, holds for its request only. The headers X-Kubernetes-PF-* do not distinguish the two: every
// answer has them.
// Source: k8s.io/apiserver pkg/server/filters: priority-and-fairness.go, maxinflight.go, with_retry_after.go.
bool IsOfServer(std::string_view refusal_body);

}  // namespace basalt::gateway
