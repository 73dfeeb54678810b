#pragma once

// What the API server's refusals say: pure functions.
#include <string_view>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/http/http.h"

namespace basalt::gateway {

// The longest pause that one answer may impose on more than the request that it answers.
inline constexpr absl::Duration kLongestPause = absl::Seconds(30);

// A refusal with Retry-After taken from the headers, too. A 422 on metadata.uid is another object, like a 409: its
// reason becomes Conflict. A kind that is not served is answered by a page of text: of a `target` below /apis the
// message says which definition is missing.
v1::KubeError ReadRefusal(const http::Response& response, std::string_view target = {});

// Whether a refusal is RBAC's: the same code stands for quotas, admission and namespaces that end.
bool IsMissingRight(const v1::KubeError& error);

// A 403 because whoever writes may not impersonate, whatever the impersonated user may do.
bool IsImpersonationRefused(const v1::KubeError& error);

// The request was surely not carried out and may be sent again later: a 429, or a 503 that says when.
bool IsComeAgain(const v1::KubeError& error);

// Whether a refusal to come again later was made before the request was looked at: by API Priority and Fairness, by the
// bound on requests in flight, by a server that is shutting down (all three answer in plain text), or by a proxy. Then
// it holds for all requests. One that comes as a Status, from an admission webhook or from the storage of one kind,
// holds for that request only. The headers X-Kubernetes-PF-* do not tell them apart: every answer has them.
// Source: k8s.io/apiserver pkg/server/filters: priority-and-fairness.go, maxinflight.go, with_retry_after.go.
bool IsOfServer(std::string_view refusal_body);

}  // namespace basalt::gateway
