#include "kubesim/server/request/errors.h"

#include <fmt/format.h>

#include "absl/strings/cord.h"
#include "common/base/status.h"

namespace basalt::kubesim {
namespace {

constexpr char kPayload[] = "kubesim/status";
constexpr char kPage[] = "kubesim/page";

absl::StatusCode CodeOf(int http) {
  switch (http) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 422:
      return absl::StatusCode::kInvalidArgument;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 503:
      return absl::StatusCode::kUnavailable;
    case 504:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return absl::StatusCode::kUnknown;
  }
}

json::object Details(const ApiError& error) {
  json::object details;
  if (!error.name.empty()) details["name"] = error.name;
  if (!error.group.empty()) details["group"] = error.group;
  if (!error.kind.empty()) details["kind"] = error.kind;
  if (!error.uid.empty()) details["uid"] = error.uid;
  if (!error.causes.empty()) {
    json::array causes;
    for (const FieldError& cause : error.causes) {
      json::object item;
      if (!cause.reason.empty()) item["reason"] = cause.reason;
      item["message"] = cause.message;
      if (!cause.field.empty()) item["field"] = cause.field;
      causes.push_back(std::move(item));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after_seconds > 0) details["retryAfterSeconds"] = error.retry_after_seconds;
  return details;
}

ApiError About(const TypeInfo& type, std::string_view name, int code, std::string_view reason) {
  ApiError error;
  error.code = code;
  error.reason = reason;
  error.name = name;
  error.group = type.group;
  error.kind = type.plural;
  return error;
}

absl::Status Plain(int code, std::string_view reason, std::string_view message) {
  ApiError error;
  error.code = code;
  error.reason = reason;
  error.message = message;
  return MakeApiError(error);
}

}  // namespace

absl::Status MakeApiError(const ApiError& error) {
  json::object metadata;
  if (!error.continue_token.empty()) metadata["continue"] = error.continue_token;
  json::object body = {{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"metadata", std::move(metadata)},
                       {"status", "Failure"},
                       {"message", error.message}};
  if (!error.reason.empty()) body["reason"] = error.reason;
  json::object details = Details(error);
  if (!details.empty() || error.show_details) body["details"] = std::move(details);
  body["code"] = error.code;
  absl::Status status = MakeStatus(CodeOf(error.code), error.message);
  status.SetPayload(kPayload, absl::Cord(ToText(body)));
  return status;
}

absl::Status NotFound(const TypeInfo& type, std::string_view name) {
  ApiError error = About(type, name, 404, "NotFound");
  error.message = fmt::format("{} \"{}\" not found", type.Resource(), name);
  return MakeApiError(error);
}

absl::Status NoSuchResource() {
  return MakeApiError({.code = 404,
                       .reason = "NotFound",
                       .message = "the server could not find the requested resource",
                       .show_details = true});
}

absl::Status NoSuchPage() {
  absl::Status status = MakeApiError({.code = 404, .reason = "NotFound", .message = "404 page not found"});
  status.SetPayload(kPage, absl::Cord());
  return status;
}

bool IsNoSuchPage(const absl::Status& status) { return status.GetPayload(kPage).has_value(); }

absl::Status AlreadyExists(const TypeInfo& type, std::string_view name, bool being_deleted) {
  ApiError error = About(type, name, 409, "AlreadyExists");
  error.message = fmt::format("{}{} \"{}\" already exists", being_deleted ? "object is being deleted: " : "",
                              type.Resource(), name);
  return MakeApiError(error);
}

absl::Status ConflictError(const TypeInfo& type, std::string_view name, std::string_view why) {
  ApiError error = About(type, name, 409, "Conflict");
  error.message = fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", type.Resource(), name, why);
  return MakeApiError(error);
}

absl::Status Modified(const TypeInfo& type, std::string_view name) {
  return ConflictError(type, name,
                       "the object has been modified; please apply your changes to the latest version and try again");
}

absl::Status Invalid(const TypeInfo& type, std::string_view name, std::vector<FieldError> causes) {
  ApiError error = About(type, name, 422, "Invalid");
  error.kind = type.kind;
  std::string list;
  for (const FieldError& cause : causes) {
    if (!list.empty()) list += ", ";
    list += cause.field.empty() ? cause.message : fmt::format("{}: {}", cause.field, cause.message);
  }
  if (causes.size() > 1) list = fmt::format("[{}]", list);
  error.message = fmt::format("{} \"{}\" is invalid: {}", type.QualifiedKind(), name, list);
  error.causes = std::move(causes);
  return MakeApiError(error);
}

absl::Status Forbidden(const TypeInfo& type, std::string_view name, std::string_view why,
                       std::vector<FieldError> causes) {
  ApiError error = About(type, name, 403, "Forbidden");
  error.message = fmt::format("{} \"{}\" is forbidden: {}", type.Resource(), name, why);
  error.causes = std::move(causes);
  return MakeApiError(error);
}

absl::Status BadRequest(std::string_view message) { return Plain(400, "BadRequest", message); }

absl::Status Expired(std::string_view message, std::string_view continue_token) {
  ApiError error;
  error.code = 410;
  error.reason = "Expired";
  error.message = message;
  error.continue_token = continue_token;
  return MakeApiError(error);
}

absl::Status MethodNotAllowed(std::string_view message) {
  return MakeApiError(
      {.code = 405, .reason = "MethodNotAllowed", .message = std::string(message), .show_details = true});
}
absl::Status UnsupportedMediaType(std::string_view message) { return Plain(415, "UnsupportedMediaType", message); }
absl::Status TooLarge(std::string_view message) { return Plain(413, "RequestEntityTooLarge", message); }

absl::Status TimedOut() {
  return Plain(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
}

absl::Status TooManyRequests(std::string_view message, int retry_after_seconds) {
  ApiError error;
  error.code = 429;
  error.reason = "TooManyRequests";
  error.message = message;
  error.retry_after_seconds = retry_after_seconds;
  return MakeApiError(error);
}

absl::Status Internal(std::string_view message) { return Plain(500, "InternalError", message); }

absl::Status TooLargeResourceVersion(int64_t asked, int64_t current) {
  ApiError error;
  error.code = 504;
  error.reason = "Timeout";
  error.message = fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current);
  error.retry_after_seconds = 1;
  error.causes.push_back({"ResourceVersionTooLarge", "", "Too large resource version"});
  return MakeApiError(error);
}

FieldError FieldInvalid(std::string_view field, std::string_view message) {
  return {"FieldValueInvalid", std::string(field), std::string(message)};
}

FieldError FieldRequired(std::string_view field, std::string_view message) {
  return {"FieldValueRequired", std::string(field),
          message.empty() ? "Required value" : fmt::format("Required value: {}", message)};
}

json::value StatusObject(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kPayload)) {
    auto parsed = ParseJson(std::string(*payload));
    if (parsed.ok()) return *std::move(parsed);
  }
  return json::object{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object()},
                      {"status", "Failure"},
                      {"message", std::string(status.message())},
                      {"reason", "InternalError"},
                      {"code", 500}};
}

int HttpCode(const absl::Status& status) { return static_cast<int>(FindInt(StatusObject(status), "code", 500)); }

int RetryAfterSeconds(const absl::Status& status) {
  const json::value body = StatusObject(status);
  const json::value* details = Find(body, "details");
  return details == nullptr ? 0 : static_cast<int>(FindInt(*details, "retryAfterSeconds"));
}

json::value SuccessStatus(const TypeInfo& type, std::string_view name, std::string_view uid) {
  json::object details;
  if (!name.empty()) details["name"] = json::string(name);
  if (!type.group.empty()) details["group"] = type.group;
  details["kind"] = type.plural;
  if (!uid.empty()) details["uid"] = json::string(uid);
  return json::object{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object()},
                      {"status", "Success"},
                      {"details", std::move(details)}};
}

}  // namespace basalt::kubesim
