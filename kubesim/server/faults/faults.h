#pragma once

// Faults on request: each rule states which requests suffer which fault, and how often. Confined to the server's loop.
// Random decisions come from the server's Random.
#include <cstdint>
#include <list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/random.h"

namespace basalt::kubesim {

enum class FaultAction {
  kDropRequest,  // The connection breaks before any effect.
  kDropAnswer,   // The request takes effect, then the connection breaks.
  kAnswer,       // The request is answered with `code` without any effect: 409, 410, 429, 500, 503, …
  kDelay,        // The request is handled after `delay`.
};

struct FaultRule {
  // The next four members choose the requests. An empty one matches all.
  std::string verb;      // "*" matches all writes.
  std::string resource;  // A plural, or a text like "pods/status".
  std::string ns;
  std::string name;
  FaultAction action = FaultAction::kAnswer;
  int code = 500;
  int retry_after_seconds = 0;  // Used with 429 and 503.
  // A 429 is a Status, as an admission webhook answers. Else it is plain text, as API Priority and Fairness answers.
  bool admission = false;
  absl::Duration delay;
  double probability = 1.0;
  int64_t count = -1;  // The rule ends after so many matches. A negative count never ends.
};

// The facts of a request that rules match.
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

  void Add(FaultRule rule);
  void Clear() { rules_.clear(); }
  bool empty() const { return rules_.empty(); }

  struct Verdict {
    absl::Duration delay;
    bool drop_request = false;
    bool drop_answer = false;
    int code = 0;  // 0 if no answer is injected.
    int retry_after_seconds = 0;
    bool admission = false;
  };
  // Returns the faults of all matching rules together. Each match lowers the count of its rule.
  Verdict VerdictOn(const FaultSubject& subject);

 private:
  Random& random_;
  std::list<FaultRule> rules_;
};

// Returns the Status of an injected answer. A 429 is as an admission webhook answers it.
absl::Status FaultStatus(int code, int retry_after_seconds);

}  // namespace basalt::kubesim
