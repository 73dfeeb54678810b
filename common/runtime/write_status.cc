#include "common/runtime/write_status.h"

#include <fmt/format.h>

#include "common/base/status.h"

namespace basalt::runtime {

absl::Status StatusOf(const gateway::v1::KubeError& error) {
  absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
  if (error.code() == 404) code = absl::StatusCode::kNotFound;
  if (error.code() == 409) {
    code = error.reason() == "AlreadyExists" ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kAborted;
  }
  if (error.code() == 400 || error.code() == 422) code = absl::StatusCode::kInvalidArgument;
  if (error.code() == 403) code = absl::StatusCode::kPermissionDenied;
  if (error.code() == 429) code = absl::StatusCode::kResourceExhausted;
  if (error.code() == 503 && error.retry_after_ms() > 0) {
    code = absl::StatusCode::kUnavailable;  // The API server names a time to come again: it has not done the write.
  } else if (error.code() >= 500) {
    return MakeStatus(
        absl::StatusCode::kUnknown,
        fmt::format("the API server failed and may have done it; look before you repeat it: {}", error.message()));
  }
  return MakeStatus(code, error.message());
}

absl::Status StatusOf(const WriteOutcome& outcome) {
  switch (outcome.kind) {
    case WriteOutcome::Kind::kDone:
      return absl::OkStatus();
    case WriteOutcome::Kind::kRefused:
      return StatusOf(outcome.error);
    case WriteOutcome::Kind::kNotSent:
      return MakeStatus(absl::StatusCode::kUnavailable,
                        fmt::format("nothing was written: {}", ToStd(outcome.status.message())));
    case WriteOutcome::Kind::kUnknown:
      return MakeStatus(absl::StatusCode::kUnknown,
                        fmt::format("it may or may not have been written; look before you repeat it: {}",
                                    ToStd(outcome.status.message())));
  }
  return absl::OkStatus();
}

}  // namespace basalt::runtime
