#pragma once

// Turns one write or read into HTTP, and the answer back: pure functions. Rules: gateway.proto, correctness 4.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/http/http.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {

struct KubeRequest {
  std::string method;
  std::string target;  // Has no timeout=.
  http::Headers headers;
  std::string body;
  // For a write on behalf of a user: with these headers, too, the API server takes the user for the writer.
  http::Headers impersonation;
  std::string named_body;  // Replaces `body` without these headers: it names the user. Empty if it is the same.
  // Identifies the written object: plural.group/namespace/name. Writes of one key go out one at a time.
  std::string object_key;
  ObjectKind kind = ObjectKind::kGeneric;
};

// INVALID_ARGUMENT, with the field, if the request breaks a rule of gateway.proto. PERMISSION_DENIED if the object to
// be created does not belong to the owner's key (gateway/access/body.h), or if a part is patched that the service does
// not write (gateway/access/patches.h). The API server never sees such a request.
// Only the claims of `request.user_token` are read: the receiver of the request has verified the token.
// `job_uid` is the UID of the job that the object to be created has to name. Empty if the UID is not compared.
// `product` names the writer, "basalt-gateway/1.2"; a write names its owner after it.
absl::StatusOr<KubeRequest> PrepareWrite(const v1::WriteRequest& request, std::string_view default_field_manager,
                                         std::string_view product, std::string_view job_uid = {});
absl::StatusOr<KubeRequest> PrepareGet(const v1::GetRequest& request, std::string_view product);

// Returns "/api/v1/namespaces/default/pods", for example; without `ns`, the path of the objects of all namespaces.
// INVALID_ARGUMENT if the resource has no version or plural.
absl::StatusOr<std::string> CollectionPath(const v1::Resource& resource, std::string_view ns);

// Returns "basalt-gateway/1.2 (jobsvc-0/f3a slot 17 epoch 4)", so that the API server's own log names the writer and
// its slot.
std::string WriterOf(std::string_view product, const v1::Owner& owner);

// Reads the answer of a write that was carried out (2xx). INVALID_ARGUMENT if the answer cannot be read.
absl::StatusOr<v1::WriteResponse> ReadWritten(const v1::WriteRequest& request, const http::Response& response,
                                              Decoder& decoder);

}  // namespace basalt::gateway
