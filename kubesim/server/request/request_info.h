#pragma once

// What a request asks for, read from its path, query and headers.
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
  std::string content_type;  // Without parameters.
  std::string user_agent;
  std::string manager;  // fieldManager, else the user agent up to its first slash.
  bool dry_run = false;
  bool force = false;
  size_t body_bytes = 0;
  absl::Duration timeout = absl::InfiniteDuration();  // What the client asked for; of everything but watches.

  ObjectKey Key() const { return {ns, name}; }
  ObjectKey Key(std::string_view other) const { return {ns, std::string(other)}; }
};

// True for a path below /api or /apis that names a resource (not discovery).
bool IsResourcePath(const http::Target& target);
// The refusals: 404 for an unknown resource, 405 for a verb that it does not have, 406 for an Accept header that cannot
// be served, 415 for a body of an unknown type, 422 for bad options of a write, 400 for a timeout that is no duration.
absl::StatusOr<RequestInfo> ParseRequest(const http::Request& request, http::Target target, const Registry& types);

// The 404 of a path that nothing is served at.
absl::Status NoSuchPath(const http::Target& target, const Registry& types);

// A resourceVersion; 0 when the text is empty. The error's message is the API server's, its code is for the caller.
absl::Status ReadVersion(std::string_view text, int64_t* version);
// A query parameter as an integer; `otherwise` when absent. 400 when it is none.
absl::StatusOr<int64_t> QueryInt(const http::Target& target, std::string_view name, int64_t otherwise);
// True unless the text is false or 0.
bool QueryBool(const http::Target& target, std::string_view name);

}  // namespace basalt::kubesim
