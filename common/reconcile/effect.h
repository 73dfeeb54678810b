#pragma once

// One asynchronous write, read or call of a controller: whether it is under way, when it is tried again, and the
// meaning of each answer. The caller gives the request and a policy, and switches over the meaning. No answer reaches
// an owner that is gone. Value types, confined to the loop of their owner. An answer is data: nothing here fails.
// docs/correctness.md, rule 4, lists the answers.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/reconcile/retry.h"

namespace basalt {

// The end of a request: a write, a read or a call of another service.
enum class Answer : uint8_t {
  kDone,
  kAlreadyExists,  // 409: another object has the name.
  kNotFound,       // 404: nothing has the name, or the namespace is missing.
  kConflict,       // Any other 409: a precondition does not hold, or a quota was written at the same time.
  kInvalid,        // 422.
  kForbidden,      // 403: a right is missing, or admission refuses.
  kRefused,        // Any other refusal.
  kNotSent,        // The request surely had no effect.
  kUnknown,        // The request may have taken effect.
};

// The reason decides about a 409, since a quota's conflict does not mean that the name is in use. The API server may
// refuse another UID as "Conflict" under another code.
inline Answer AnswerOfRefusal(int code, std::string_view reason) {
  if (reason == "Conflict") return Answer::kConflict;
  switch (code) {
    case 403:
      return Answer::kForbidden;
    case 404:
      return Answer::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? Answer::kAlreadyExists : Answer::kConflict;
    case 422:
      return Answer::kInvalid;
    default:
      return Answer::kRefused;
  }
}

// Whether no repetition of the request changes the refusal: the request is wrong, or a right is missing.
inline bool IsLastingRefusal(int code) { return code == 400 || code == 403 || code == 422; }

// `outcome` has the members of runtime::WriteOutcome.
template <typename Outcome>
Answer AnswerOf(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kDone:
      return Answer::kDone;
    case Outcome::Kind::kRefused:
      return AnswerOfRefusal(outcome.error.code(), outcome.error.reason());
    case Outcome::Kind::kNotSent:
      return Answer::kNotSent;
    case Outcome::Kind::kUnknown:
      break;
  }
  return Answer::kUnknown;
}

// How a read ended. `response` is like an absl::StatusOr of gateway.v1.GetResponse.
template <typename Response>
Answer AnswerOfRead(const Response& response) {
  if (!response.ok()) return Answer::kNotSent;
  if (response->has_error()) return AnswerOfRefusal(response->error().code(), response->error().reason());
  return response->has_object() ? Answer::kDone : Answer::kUnknown;
}

// How a call of another service ended. common/rpc/peers.h lists the statuses: the call surely had no effect after
// UNAVAILABLE and RESOURCE_EXHAUSTED, and may have had one after a status that is not listed here.
inline Answer AnswerOfCall(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Answer::kDone;
    case absl::StatusCode::kAlreadyExists:
      return Answer::kAlreadyExists;
    case absl::StatusCode::kNotFound:
      return Answer::kNotFound;
    case absl::StatusCode::kFailedPrecondition:
      return Answer::kConflict;
    case absl::StatusCode::kInvalidArgument:
      return Answer::kInvalid;
    case absl::StatusCode::kPermissionDenied:
      return Answer::kForbidden;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return Answer::kNotSent;
    default:
      return Answer::kUnknown;
  }
}

// The meaning of an answer for the caller.
enum class Meaning : uint8_t {
  kSucceeded,  // The state is as wanted, so the back-off begins anew.
  kAwaited,    // The effect stays under way until the watch shows its result and the caller calls Forget.
  kLook,       // The effect stays under way, since the caller has to read the object first.
  kHeld,       // The effect is over and must not be repeated at once, but it did not fail.
  kTryAgain,   // The effect failed, and users need not know.
  kRefused,    // The effect failed, and users may have to know.
};

// The meaning of each answer. A caller sets those that differ from the defaults.
struct EffectPolicy {
  Meaning done = Meaning::kSucceeded;
  Meaning already_exists = Meaning::kRefused;
  Meaning not_found = Meaning::kRefused;
  Meaning conflict = Meaning::kRefused;
  Meaning invalid = Meaning::kRefused;
  Meaning refused = Meaning::kRefused;
  Meaning not_sent = Meaning::kTryAgain;
  Meaning unknown = Meaning::kTryAgain;
};

inline Meaning MeaningOf(Answer answer, const EffectPolicy& policy) {
  switch (answer) {
    case Answer::kDone:
      return policy.done;
    case Answer::kAlreadyExists:
      return policy.already_exists;
    case Answer::kNotFound:
      return policy.not_found;
    case Answer::kConflict:
      return policy.conflict;
    case Answer::kInvalid:
      return policy.invalid;
    case Answer::kForbidden:
    case Answer::kRefused:
      return policy.refused;
    case Answer::kNotSent:
      return policy.not_sent;
    case Answer::kUnknown:
      break;
  }
  return policy.unknown;
}

// Returns whether an effect is over after an answer of that meaning, and updates the back-off.
inline bool EndsEffect(Meaning meaning, Retry& retry, absl::Time now, Random& random) {
  if (meaning == Meaning::kAwaited || meaning == Meaning::kLook) return false;
  if (meaning == Meaning::kSucceeded) retry.Succeed();
  if (meaning == Meaning::kTryAgain || meaning == Meaning::kRefused) retry.Fail(now, random);
  return true;
}

// The version of an object that a write named, after a conflict showed that a newer version has replaced it. Such a
// conflict is no refusal: the write is made again, for the newer state, as soon as another version is observed. Since a
// watch may be late, the object is read. If the read shows the same version again, the conflict has another cause, and
// is a failure like any other.
class OutdatedVersion {
 public:
  // Records a conflict of a write that named `version`.
  void Record(int64_t version) { version_ = version; }
  // Returns whether a write that names this version would meet the same conflict again.
  bool Blocks(int64_t version) const { return version_ != 0 && version == version_; }
  void Forget() { version_ = 0; }

 private:
  int64_t version_ = 0;  // 0 if no conflict is recorded.
};

// Effects with names that share one back-off. Each effect is under way at most once at a time.
class EffectSet {
 public:
  // Begins an effect. Returns false if the effect is under way already.
  bool Begin(std::string_view name) { return under_way_.emplace(name).second; }
  // Handles the answer of an effect, and returns its meaning. Call it once for each answer: it ends the effect that is
  // under way by then.
  Meaning End(std::string_view name, Answer answer, const EffectPolicy& policy, absl::Time now, Random& random) {
    const Meaning meaning = MeaningOf(answer, policy);
    if (EndsEffect(meaning, retry_, now, random)) Forget(name);
    return meaning;
  }
  // Ends an effect, whatever its answer was. May be repeated.
  void Forget(std::string_view name) {
    if (const auto it = under_way_.find(name); it != under_way_.end()) under_way_.erase(it);
  }

  bool contains(std::string_view name) const { return under_way_.contains(name); }
  bool empty() const { return under_way_.empty(); }
  // Number of effects under way.
  size_t size() const { return under_way_.size(); }
  // The names of the effects under way.
  const std::set<std::string, std::less<>>& names() const { return under_way_; }
  Retry& retry() { return retry_; }
  const Retry& retry() const { return retry_; }

 private:
  std::set<std::string, std::less<>> under_way_;
  Retry retry_;
};

// Does the same for one effect without a name.
class Effect {
 public:
  bool Begin() { return !std::exchange(under_way_, true); }
  Meaning End(Answer answer, const EffectPolicy& policy, absl::Time now, Random& random) {
    const Meaning meaning = MeaningOf(answer, policy);
    if (EndsEffect(meaning, retry_, now, random)) under_way_ = false;
    return meaning;
  }

  bool under_way() const { return under_way_; }
  Retry& retry() { return retry_; }
  const Retry& retry() const { return retry_; }

 private:
  bool under_way_ = false;
  Retry retry_;
};

// Returns a callback that runs only while its owner exists. `find` returns a pointer to the present owner. If the
// pointer is null, the owner is gone, and the answer is dropped.
template <typename Find, typename Done>
auto WhileThere(Find find, Done done) {
  return [find = std::move(find), done = std::move(done)](auto answer) mutable {
    if (auto* const owner = find(); owner != nullptr) done(*owner, std::move(answer));
  };
}

}  // namespace basalt
