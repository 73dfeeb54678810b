#include "kubesim/server/request/request_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/target.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

// Splits "/api/v1/…" and "/apis/group/version/…" into group, version and the rest. Returns false for any other path.
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

std::string_view SyntaxOrRange(std::errc error) {
  return error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax";
}

bool WatchAsked(const http::Target& target) { return QueryBool(target, "watch"); }

// Returns the kind that the refusal of a write's options names.
std::string_view OptionsKind(std::string_view verb) {
  if (verb == "create") return "CreateOptions";
  if (verb == "update") return "UpdateOptions";
  if (verb == "patch") return "PatchOptions";
  return "DeleteOptions";
}

absl::Status ReadTimeout(const http::Target& target, RequestInfo& info) {
  const std::string_view text = target.Query("timeout");
  if (text.empty() || info.verb == "watch") return absl::OkStatus();
  absl::Duration timeout;
  if (!absl::ParseDuration(ToAbsl(text), &timeout)) {
    return BadRequest(
        fmt::format("invalid timeout specified in the request URL - time: invalid duration \"{}\"", text));
  }
  if (timeout > absl::ZeroDuration()) info.timeout = timeout;
  return absl::OkStatus();
}

// Checks the options of a write that are texts.
absl::Status CheckWriteOptions(const http::Target& target, std::string_view verb) {
  std::vector<FieldError> causes;
  if (const std::string_view text = target.Query("dryRun"); target.HasQuery("dryRun") && text != "All") {
    causes.push_back({"FieldValueNotSupported", "dryRun",
                      fmt::format("Unsupported value: [\"{}\"]: supported values: \"All\"", text)});
  }
  if (target.Query("fieldManager").size() > 128) {
    causes.push_back({"FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"});
  }
  const std::string_view manager = target.Query("fieldManager");
  const auto odd = std::find_if(manager.begin(), manager.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (odd != manager.end()) {
    std::string shown;
    for (const char c : manager) shown += c < ' ' ? fmt::format("\\x{:02x}", c) : std::string(1, c);
    causes.push_back({"FieldValueInvalid", "fieldManager",
                      fmt::format("Invalid value: \"{}\": invalid character U+{:04X} (at position {})", shown, *odd,
                                  odd - manager.begin())});
  }
  if (const std::string_view text = target.Query("fieldValidation");
      !text.empty() && text != "Ignore" && text != "Warn" && text != "Strict" && !verb.starts_with("delete")) {
    causes.push_back(
        {"FieldValueNotSupported", "fieldValidation",
         fmt::format(R"(Unsupported value: "{}": supported values: "", "Ignore", "Strict", "Warn")", text)});
  }
  if (causes.empty()) return absl::OkStatus();
  return Invalid({.group = "meta.k8s.io", .version = "v1", .kind = std::string(OptionsKind(verb))}, "",
                 std::move(causes));
}

absl::Status CheckContentType(const RequestInfo& info) {
  if (info.verb == "get" || info.verb == "list" || info.verb == "watch") return absl::OkStatus();
  const std::string& type = info.content_type;
  if (type == "application/vnd.kubernetes.protobuf") {
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml. kubesim reads no protobuf: pass the object as JSON, as kubectl apply and kubectl create -f "
        "do (kubectl create ... --dry-run=client -o json | kubectl create -f -)");
  }
  if (info.verb == "create" || info.verb == "update") {
    if (type.empty() || type == "application/json" || type == "application/yaml") return absl::OkStatus();
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml");
  }
  return absl::OkStatus();
}

absl::Status NotAcceptable(std::string_view message) {
  return MakeApiError({.code = 406, .reason = "NotAcceptable", .message = std::string(message)});
}

absl::Status CheckView(const RequestInfo& info) {
  const bool list = info.verb == "list";
  if (info.representation.view == View::kPartial && list && !info.representation.partial_list) {
    return NotAcceptable("you requested PartialObjectMetadata, but the requested object is a list");
  }
  const std::string& include = info.representation.include_object;
  if (info.representation.view == View::kTable && include != "" && include != "None" && include != "Metadata" &&
      include != "Object") {
    return BadRequest(
        fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: \"{}\": must "
                    "be 'Metadata', 'Object', 'None', or empty",
                    include));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> VerbOf(std::string_view method, const RequestInfo& info, bool watch) {
  const bool named = !info.name.empty();
  if (method == "GET") {
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
  if (!SplitGroupVersion(target, &group, &version, &rest)) return NoSuchPath(target, types);
  bool watch_path = false;
  if (rest.size() > 1 && rest[0] == "watch") {  // The old form of a watch: /api/v1/watch/…
    watch_path = true;
    rest.erase(rest.begin());
  }
  bool in_namespace = false;
  if (rest.size() >= 3 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize") {
    info.ns = rest[1];
    in_namespace = true;
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.size() > 3) return NoSuchPath(target, types);
  info.type = types.Find(group, version, rest[0]);
  if (info.type == nullptr) return NoSuchPath(target, types);
  if (rest.size() > 1) info.name = rest[1];
  if (rest.size() > 2) info.subresource = rest[2];
  if (in_namespace != info.type->namespaced) {
    // A path without a namespace, of a kind that has namespaces, can only name the whole collection.
    if (in_namespace || !info.name.empty()) return NoSuchPath(target, types);
  }
  // One object is watched by a field selector or on the old path. Its own path answers with the object.
  const bool watch = watch_path || (info.name.empty() && WatchAsked(target));
  BASALT_ASSIGN_OR_RETURN(info.verb, VerbOf(request.method, info, watch));
  if (info.type->namespaced && !in_namespace && info.verb != "list" && info.verb != "watch") {
    if (!info.type->builtin) return NoSuchPath(target, types);
    return MethodNotAllowed("the server does not allow this method on the requested resource");
  }
  if (info.subresource.empty() &&
      std::find(info.type->verbs.begin(), info.type->verbs.end(), info.verb) == info.type->verbs.end()) {
    return MethodNotAllowed("the server does not allow this method on the requested resource");
  }
  if (!ChooseRepresentation(http::FindHeader(request.headers, "Accept"), &info.representation)) {
    return NotAcceptable("only the following media type is accepted: application/json");
  }
  if (target.HasQuery("includeObject")) info.representation.include_object = target.Query("includeObject");
  if (info.verb != "get" && info.verb != "list" && info.verb != "watch") {
    BASALT_RETURN_IF_ERROR(CheckWriteOptions(target, info.verb));
    info.dry_run = target.HasQuery("dryRun");
  }
  BASALT_RETURN_IF_ERROR(ReadTimeout(target, info));
  info.force = QueryBool(target, "force");
  info.content_type = WithoutParameters(http::FindHeader(request.headers, "Content-Type"));
  BASALT_RETURN_IF_ERROR(CheckContentType(info));
  BASALT_RETURN_IF_ERROR(CheckView(info));
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
    return BadRequest(fmt::format("strconv.ParseInt: parsing \"{}\": {}", text, SyntaxOrRange(error)));
  }
  return number;
}

absl::Status ReadVersion(std::string_view text, int64_t* version) {
  *version = 0;
  if (text.empty()) return absl::OkStatus();
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      fmt::format("resourceVersion: Invalid value: \"{0}\": strconv.ParseUint: parsing \"{0}\": {1}",
                                  text, SyntaxOrRange(error)));
  }
  *version = static_cast<int64_t>(std::min<uint64_t>(number, std::numeric_limits<int64_t>::max()));
  return absl::OkStatus();
}

absl::Status NoSuchPath(const http::Target& target, const Registry& types) {
  const auto& segments = target.segments;
  // A path of one of Kubernetes' own groups is answered with a Status, whatever stands behind the group's name.
  bool own = !segments.empty() && segments[0] == "api";
  if (!own && segments.size() > 1 && segments[0] == "apis") {
    for (const TypeInfoPtr& type : types.All()) own = own || (type->builtin && type->group == segments[1]);
  }
  return own ? NoSuchResource() : NoSuchPage();
}

bool QueryBool(const http::Target& target, std::string_view name) {
  if (!target.HasQuery(name)) return false;
  const std::string_view text = target.Query(name);
  return !absl::EqualsIgnoreCase(ToAbsl(text), "false") && text != "0";
}

}  // namespace basalt::kubesim
