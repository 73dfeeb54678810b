#include "kubesim/server/request/request_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/base/status_macros.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

// Splits "/api/v1/…" and "/apis/group/version/…" into group, version and the rest; false = neither.
bool SplitGroupVersion(const http::Target& target, std::string* group, std::string* version,
                       std::vector<std::string>* rest) {
  const auto& segments = target.segments;
  const size_t skip = !segments.empty() && segments[0] == "api" ? 2 : 3;
  if (segments.size() <= skip || (segments[0] != "api" && segments[0] != "apis")) return false;
  if (skip == 3) *group = segments[1];
  *version = segments[skip - 1];
  rest->assign(segments.begin() + static_cast<int64_t>(skip), segments.end());
  return true;
}

std::string WithoutParameters(std::string_view media_type) {
  std::string out(media_type.substr(0, media_type.find(';')));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

bool WatchAsked(const http::Target& target) { return QueryBool(target, "watch"); }

absl::StatusOr<std::string> VerbOf(std::string_view method, const RequestInfo& info, bool watch) {
  const bool named = !info.name.empty();
  if (method == "GET" || method == "HEAD") {
    if (watch && info.subresource.empty()) return std::string("watch");
    return std::string(named ? "get" : "list");
  }
  if (method == "POST" && (!named || !info.subresource.empty())) return std::string("create");
  if (method == "PUT" && named) return std::string("update");
  if (method == "PATCH" && named) return std::string("patch");
  if (method == "DELETE") return std::string(named ? "delete" : "deletecollection");
  return MethodNotAllowed("the server does not allow this method on the requested resource");
}

}  // namespace

bool IsResourcePath(const http::Target& target) {
  std::string group;
  std::string version;
  std::vector<std::string> rest;
  return SplitGroupVersion(target, &group, &version, &rest);
}

absl::StatusOr<RequestInfo> ParseRequest(const http::Request& request, http::Target target, const Registry& types) {
  RequestInfo info;
  std::string group;
  std::string version;
  std::vector<std::string> rest;
  if (!SplitGroupVersion(target, &group, &version, &rest)) return NoSuchResource();
  bool watch = WatchAsked(target);
  if (rest.size() > 1 && rest[0] == "watch") {  // The old form of a watch: /api/v1/watch/…
    watch = true;
    rest.erase(rest.begin());
  }
  bool in_namespace = false;
  if (rest.size() >= 3 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize") {
    info.ns = rest[1];
    in_namespace = true;
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.size() > 3) return NoSuchResource();
  info.type = types.Find(group, version, rest[0]);
  if (info.type == nullptr) return NoSuchResource();
  if (rest.size() > 1) info.name = rest[1];
  if (rest.size() > 2) info.subresource = rest[2];
  if (in_namespace != info.type->namespaced) {
    // Across all namespaces only the whole collection can be read or deleted from.
    if (in_namespace || !info.name.empty()) return NoSuchResource();
  }
  BASALT_ASSIGN_OR_RETURN(info.verb, VerbOf(request.method, info, watch));
  if (info.type->namespaced && !in_namespace && info.verb != "list" && info.verb != "watch") {
    return MethodNotAllowed("the server does not allow this method on the requested resource");
  }
  if (info.subresource.empty() &&
      std::find(info.type->verbs.begin(), info.type->verbs.end(), info.verb) == info.type->verbs.end()) {
    return MethodNotAllowed("the server does not allow this method on the requested resource");
  }
  if (!ChooseRepresentation(http::FindHeader(request.headers, "Accept"), &info.representation)) {
    return MakeApiError({.code = 406,
                         .reason = "NotAcceptable",
                         .message = "only the following media types are accepted: application/json, "
                                    "application/json;as=Table;v=v1;g=meta.k8s.io"});
  }
  if (target.HasQuery("includeObject")) info.representation.include_object = target.Query("includeObject");
  if (target.HasQuery("dryRun")) {
    if (target.Query("dryRun") != "All") {
      return Invalid({.version = "v1", .kind = "Options"}, "",
                     {{"FieldValueNotSupported", "dryRun",
                       fmt::format("Unsupported value: \"{}\": supported values: \"All\"", target.Query("dryRun"))}});
    }
    info.dry_run = true;
  }
  info.force = QueryBool(target, "force");
  info.content_type = WithoutParameters(http::FindHeader(request.headers, "Content-Type"));
  info.user_agent = http::FindHeader(request.headers, "User-Agent");
  info.manager = target.Query("fieldManager");
  if (info.manager.empty() && info.content_type != "application/apply-patch+yaml") {
    info.manager = info.user_agent.substr(0, info.user_agent.find('/'));
    if (info.manager.empty()) info.manager = "unknown";
  }
  info.body_bytes = request.body.size();
  info.target = std::move(target);
  return info;
}

absl::StatusOr<int64_t> QueryInt(const http::Target& target, std::string_view name, int64_t otherwise) {
  const std::string_view text = target.Query(name);
  if (text.empty()) return otherwise;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return BadRequest(fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", text));
  }
  return number;
}

bool QueryBool(const http::Target& target, std::string_view name) {
  if (!target.HasQuery(name)) return false;
  const std::string_view text = target.Query(name);
  return text.empty() || text == "true" || text == "1" || text == "True" || text == "t";
}

}  // namespace basalt::kubesim
