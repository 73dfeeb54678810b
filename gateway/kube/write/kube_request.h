#pragma once

// One write or read as HTTP, and the answer back: pure functions. Rules: gateway.proto, correctness 4.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/http/http.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {

struct KubeRequest {
  std::string method;
  std::string target;  // Without timeout=.
  http::Headers headers;
  std::string body;
  // Of a write that is made for a user: with these headers too the API server takes the user for the writer.
  http::Headers impersonation;
  std::string named_body;  // In place of `body` without them: it names the user. Empty: it is the same.
  // What is written, one at a time: plural.group/namespace/name.
  std::string object_key;
  ObjectKind kind = ObjectKind::kGeneric;
};

// INVALID_ARGUMENT, with the field, where the request breaks a rule of gateway.proto, PERMISSION_DENIED where what is
// created is not of the owner's key (gateway/access/body.h), or a part is patched that the service does not write
// (gateway/access/patches.h): the API server never sees it.
// Of `request.user_token` only the claims are read: whoever took the request has verified the token.
// `job_uid`: of the job that what is created has to name; empty: it is not compared.
// `product` is who writes, "basalt-gateway/1.2"; a write names its owner after it.
absl::StatusOr<KubeRequest> PrepareWrite(const v1::WriteRequest& request, std::string_view default_field_manager,
                                         std::string_view product, std::string_view job_uid = {});
absl::StatusOr<KubeRequest> PrepareGet(const v1::GetRequest& request, std::string_view product);

// "/api/v1/namespaces/default/pods"; without `ns`: all there are. INVALID_ARGUMENT: the resource has no version or
// plural.
absl::StatusOr<std::string> CollectionPath(const v1::Resource& resource, std::string_view ns);

// "basalt-gateway/1.2 (jobsvc-0/f3a slot 17 epoch 4)": so the API server's own log says who wrote, and as what.
std::string WriterOf(std::string_view product, const v1::Owner& owner);

// The answer of a write that was carried out (2xx). INVALID_ARGUMENT where it cannot be read.
absl::StatusOr<v1::WriteResponse> ReadWritten(const v1::WriteRequest& request, const http::Response& response,
                                              Decoder& decoder);

}  // namespace basalt::gateway
