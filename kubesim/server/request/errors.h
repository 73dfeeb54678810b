#pragma once

// Refusals with the messages of a Kubernetes API server. A refusal is an absl::Status whose payload is the Status
// object (meta/v1), so that the usual macros work. The HTTP code and the body are read from the payload when the answer
// is sent. Pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

struct ApiError {
  int code = 500;
  std::string reason;  // "NotFound", "Conflict", …
  std::string message;
  std::string name;   // details.name
  std::string group;  // details.group
  std::string kind;   // details.kind: the resource's plural, or the kind for Invalid.
  std::string uid;
  std::vector<FieldError> causes;
  int retry_after_seconds = 0;
  std::string continue_token;  // metadata.continue of a 410 to a list.
  bool show_details = false;   // The body has details even if they are empty.
};

absl::Status MakeApiError(const ApiError& error);

absl::Status NotFound(const TypeInfo& type, std::string_view name);
// The refusal of an unknown resource in one of Kubernetes' own groups.
absl::Status NoSuchResource();
// The refusal of any other path that is not served. Its body is a page of text, not a Status.
absl::Status NoSuchPage();
bool IsNoSuchPage(const absl::Status& status);
absl::Status AlreadyExists(const TypeInfo& type, std::string_view name, bool being_deleted = false);
absl::Status ConflictError(const TypeInfo& type, std::string_view name, std::string_view why);
// The usual 409 of a stale resourceVersion.
absl::Status Modified(const TypeInfo& type, std::string_view name);
absl::Status Invalid(const TypeInfo& type, std::string_view name, std::vector<FieldError> causes);
absl::Status Forbidden(const TypeInfo& type, std::string_view name, std::string_view why,
                       std::vector<FieldError> causes = {});
absl::Status BadRequest(std::string_view message);
absl::Status Expired(std::string_view message, std::string_view continue_token = {});
absl::Status MethodNotAllowed(std::string_view message);
absl::Status UnsupportedMediaType(std::string_view message);
absl::Status TooLarge(std::string_view message);
absl::Status TimedOut();
absl::Status TooManyRequests(std::string_view message, int retry_after_seconds);
absl::Status Internal(std::string_view message);
// The refusal of a resourceVersion that lies in the future.
absl::Status TooLargeResourceVersion(int64_t asked, int64_t current);

FieldError FieldInvalid(std::string_view field, std::string_view message);
FieldError FieldRequired(std::string_view field, std::string_view message);

// Returns the HTTP code of a refusal, or 500 for a status without a payload.
int HttpCode(const absl::Status& status);
int RetryAfterSeconds(const absl::Status& status);
// Returns the body of a refusal: {"kind":"Status",…}.
json::value StatusObject(const absl::Status& status);
// Returns {"kind":"Status","status":"Success"} with details of an object. `uid` and `name` may be empty.
json::value SuccessStatus(const TypeInfo& type, std::string_view name, std::string_view uid);

}  // namespace basalt::kubesim
