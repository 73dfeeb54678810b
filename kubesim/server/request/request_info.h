#pragma once

// The facts of a request, read from its path, query and headers.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/http.h"
#include "common/http/target.h"
#include "kubesim/schema/core/type_info.h"
#include "kubesim/server/show/representation.h"
#include "kubesim/server/state/registry.h"
#include "kubesim/server/state/store.h"

namespace basalt::kubesim {

struct RequestInfo {
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection
  TypeInfoPtr type;
  std::string ns;
  std::string name;
  std::string subresource;
  http::Target target;
  Representation representation;
  std::string content_type;  // The media type without parameters.
  std::string user_agent;
  std::string manager;  // The fieldManager, or else the user agent up to its first slash.
  bool dry_run = false;
  bool force = false;
  size_t body_bytes = 0;
  absl::Duration timeout = absl::InfiniteDuration();  // The client's timeout. Infinite for watches.

  ObjectKey Key() const { return {ns, name}; }
  ObjectKey Key(std::string_view other) const { return {ns, std::string(other)}; }
};

// Returns whether the path is below /api or /apis and names a resource (not discovery).
bool IsResourcePath(const http::Target& target);
// Parses a request. The refusals are 404 for an unknown resource, 405 for a verb that the resource does not have, 406
// for an Accept header that cannot be served, 415 for a body of an unknown type, 422 for invalid options of a write,
// 400 for a timeout that is no duration.
absl::StatusOr<RequestInfo> ParseRequest(const http::Request& request, http::Target target, const Registry& types);

// Returns the 404 for a path that is not served.
absl::Status NoSuchPath(const http::Target& target, const Registry& types);

// Parses a resourceVersion. An empty text is 0. The error's message is the API server's; the caller chooses the code.
absl::Status ReadVersion(std::string_view text, int64_t* version);
// Parses a query parameter as an integer, or returns `otherwise` if it is absent. 400 if it is no integer.
absl::StatusOr<int64_t> QueryInt(const http::Target& target, std::string_view name, int64_t otherwise);
// Returns true if the parameter is present, unless its text is false or 0.
bool QueryBool(const http::Target& target, std::string_view name);

}  // namespace basalt::kubesim
