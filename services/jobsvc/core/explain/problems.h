#pragma once

// The refusals of a job's objects by Kubernetes or a plugin: one problem for each reason (job spec 9.11), until it is
// over. A problem lasts as long as its writes are tried, so the same message comes again and again, from one pod after
// the other. Each cause is reported once. Pure, in memory alone.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "services/jobsvc/core/decide/decide.h"

namespace basalt::jobsvc {

// Facts about a problem that its message does not state. In memory alone, as problems are: values are not stored.
enum class ProblemKind {
  kRefused,       // Nothing. The message is that of the API server or of a plugin.
  kNameHeld,      // An object that is not the job's has the name of a pod.
  kNameOrphaned,  // Like kNameHeld, and no controller owns the object.
  kTaken,         // Like kNameHeld, for an object of a plugin, whose name follows from the job's.
  kLabelLost,     // A pod exists, but lacks the label by which it is watched.
  kTooLarge,      // An object of a plugin is larger than Kubernetes accepts.
};

struct Problem {
  StatusMessage words;  // The reason is one of job spec 9.11.
  ProblemKind kind = ProblemKind::kRefused;
  std::string subject = {};  // As Cause.subject. Empty for the job itself, or for whatever the message names.
};

class Problems {
 public:
  // Returns whether the message is to be reported in an Event. Messages that differ only in `names` and in numbers have
  // one cause; other numbers are reported again after `interval`. `known_since`: the problem began before this process
  // started, at this time at the latest.
  bool Report(Problem problem, std::initializer_list<std::string_view> names, absl::Time now, absl::Duration interval,
              std::optional<absl::Time> known_since = std::nullopt);
  // Returns whether there was such a problem.
  bool End(std::string_view reason);
  // Ends the problem of one subject: the others of that reason go on.
  bool End(std::string_view reason, std::string_view subject);
  void Clear() { by_reason_.clear(); }

  bool empty() const { return by_reason_.empty(); }
  bool has(std::string_view reason) const { return by_reason_.contains(reason); }
  // Returns the newest problem of that reason. Null if there is none.
  const Problem* Find(std::string_view reason) const;
  const Problem* Find(std::string_view reason, std::string_view subject) const;
  // Returns the newest problem of each subject, in the order of the subjects.
  std::vector<const Problem*> FindAll(std::string_view reason) const;
  // In ms. 0 if unknown.
  int64_t SinceMs(std::string_view reason, std::string_view subject) const;
  // Returns the message for the status: the first message of a cause for as long as the cause lasts, even if others
  // come between. If there are several reasons, returns the message about what the job needs first. Empty if there is
  // no problem.
  const StatusMessage& Reported() const;
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [reason, lasting] : by_reason_) visit(lasting.newest);
  }

 private:
  struct Cause {
    Problem problem;    // As reported last.
    std::string exact;  // The message of `problem` without the names.
    absl::Time reported;
    absl::Time seen;
  };
  struct Subject {
    int64_t since_ms = 0;
    Problem newest;
  };
  struct Lasting {
    Problem newest;
    std::map<std::string, Subject, std::less<>> subjects;
    std::string shown;                    // Key of the cause in the status.
    std::map<std::string, Cause> causes;  // By message without names and numbers.
    void ForgetOldest();
  };
  // Null if there is no problem of that subject.
  const Subject* Of(std::string_view reason, std::string_view subject) const;

  std::map<std::string, Lasting, std::less<>> by_reason_;
};

}  // namespace basalt::jobsvc
