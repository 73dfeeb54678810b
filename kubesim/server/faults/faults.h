#pragma once

// Faults on request: rules say which requests suffer what, how often. Confined to the server's loop; chance comes from
// the server's Random.
#include <cstdint>
#include <list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/base/random.h"

namespace basalt::kubesim {

enum class FaultAction {
  kDropRequest,  // The connection breaks before any effect.
  kDropAnswer,   // The request takes effect, then the connection breaks.
  kAnswer,       // `code` without any effect: 409, 410, 429, 500, 503, …
  kDelay,        // Acted on after `delay`.
};

struct FaultRule {
  // Empty matches all. `resource` is a plural or "pods/status", "*" in verb stands for all writes.
  std::string verb;
  std::string resource;
  std::string ns;
  std::string name;
  FaultAction action = FaultAction::kAnswer;
  int code = 500;
  int retry_after_seconds = 0;  // For 429 and 503.
  // A 429 as an admission webhook answers, a Status; else as API Priority and Fairness does, in plain text.
  bool admission = false;
  absl::Duration delay;
  double probability = 1.0;
  int64_t count = -1;  // The next so many matches; negative = without end.
};

// The request as rules see it.
struct FaultSubject {
  std::string_view verb;
  std::string_view resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
};

class FaultInjector {
 public:
  explicit FaultInjector(Random& random) : random_(random) {}

  uint64_t Add(FaultRule rule);
  void Remove(uint64_t id);
  void Clear() { rules_.clear(); }
  bool empty() const { return rules_.empty(); }

  struct Verdict {
    absl::Duration delay;
    bool drop_request = false;
    bool drop_answer = false;
    int code = 0;  // 0 = none.
    int retry_after_seconds = 0;
    bool admission = false;
  };
  // Of all rules that match; each match uses one up.
  Verdict VerdictOn(const FaultSubject& subject);

 private:
  struct Entry {
    uint64_t id;
    FaultRule rule;
  };
  Random& random_;
  uint64_t next_id_ = 1;
  std::list<Entry> rules_;
};

// {"verb":"patch","resource":"pods/status","action":"answer","code":429,"retryAfterSeconds":1,"probability":0.5,
//  "admission":true,"count":3,"delayMs":20}; action is dropRequest, dropAnswer, answer or delay. INVALID_ARGUMENT names
//  what is wrong.
absl::StatusOr<FaultRule> ParseFaultRule(const json::value& object);

// The Status of an injected answer; a 429 is an admission webhook's.
absl::Status FaultStatus(int code, int retry_after_seconds);

}  // namespace basalt::kubesim
