#pragma once

// How a write to the API server ended (correctness 4), and which refusals are worth a user's attention. Pure.
#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::runtime {

struct WriteOutcome {
  enum class Kind : uint8_t {
    kDone,     // `object` is as stored; the object has already gone through OnState (or OnGone with `gone`).
    kRefused,  // The API server refused the write: `error` has code and reason.
    kNotSent,  // Surely without effect (not the owner, peer away): try again after back-off.
    kUnknown,  // The write may have taken effect, and its deadline at the server has passed: resolve it by Get.
  };
  Kind kind;
  kube::v1::Object object;
  bool gone = false;
  gateway::v1::KubeError error;
  absl::Status status;  // The reason, for kNotSent and kUnknown.
};
using WriteDone = absl::AnyInvocable<void(WriteOutcome)>;

// Returns whether users are to be informed of the refusal. A conflict is over with the next try, and reporting overload
// would make the overload worse.
inline bool ShouldReportToUser(const gateway::v1::KubeError& error) {
  return error.code() != 409 && error.code() != 429 && !(error.code() == 503 && error.retry_after_ms() > 0);
}

inline bool ShouldReportToUser(const WriteOutcome& outcome) {
  return outcome.kind == WriteOutcome::Kind::kRefused && ShouldReportToUser(outcome.error);
}

// Returns ShouldReportToUser for a create. `lasts`: creates are refused again and again, so that a conflict is
// reported, too.
inline bool ShouldReportCreate(const gateway::v1::KubeError& error, bool lasts) {
  return ShouldReportToUser(error) || (lasts && error.code() == 409);
}

// Returns whether a create failed because an object of that name exists. Any other 409, such as the conflict of a quota
// that others write at the same time, gives no information about the name.
inline bool IsNameTaken(const WriteOutcome& outcome) {
  return outcome.kind == WriteOutcome::Kind::kRefused && outcome.error.reason() == "AlreadyExists";
}

}  // namespace basalt::runtime
