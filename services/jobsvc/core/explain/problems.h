#pragma once

// What Kubernetes or a plugin refuses of a job: one problem for each reason (job spec 9.11), until it is over. It lasts
// for as long as it is tried, so the same words come again and again, of one pod after the other: of each cause they
// are told once. Pure, in memory alone.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc {

// What its controller knows of a problem beside its words. In memory alone, as problems are: values are not stored.
enum class ProblemKind {
  kRefused,       // What the words say, which are those of the API server or of a plugin.
  kNameHeld,      // An object that is not the job's has the name of a pod.
  kNameOrphaned,  // The same, and no controller owns it.
  kTaken,         // The same of an object of a plugin, whose name follows from that of the job.
  kLabelLost,     // A pod is there, but without the label by which it is watched.
  kTooLarge,      // An object of a plugin is larger than Kubernetes takes.
};

struct Problem {
  StatusMessage words;  // The reason is one of job spec 9.11.
  ProblemKind kind = ProblemKind::kRefused;
  std::string subject = {};  // As Cause.subject; empty: the job itself, or whatever the words name.
};

class Problems {
 public:
  // True: these words are to be told in an Event. Two with the same words but for `names`, and numbers, have one cause;
  // other numbers are told anew after `interval`. `known_since`: it was there before this process looked, since then at
  // the latest.
  bool Report(Problem problem, std::initializer_list<std::string_view> names, absl::Time now, absl::Duration interval,
              std::optional<absl::Time> known_since = std::nullopt);
  // True: there was one.
  bool End(std::string_view reason);
  // Of that subject alone: one of several objects is no problem any more.
  bool End(std::string_view reason, std::string_view subject);
  void Clear() { by_reason_.clear(); }

  bool empty() const { return by_reason_.empty(); }
  bool has(std::string_view reason) const { return by_reason_.contains(reason); }
  // The newest of that reason; null: there is none.
  const Problem* Find(std::string_view reason) const;
  const Problem* Find(std::string_view reason, std::string_view subject) const;
  // The newest of each subject, in the order of these.
  std::vector<const Problem*> FindAll(std::string_view reason) const;
  // In ms; 0: nobody knows.
  int64_t SinceMs(std::string_view reason, std::string_view subject) const;
  // What the status says: the first words of a cause for as long as it lasts, though others come between; of several
  // reasons those of what a job needs first. Empty: there is no problem.
  const StatusMessage& Told() const;
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [reason, lasting] : by_reason_) visit(lasting.newest);
  }

 private:
  struct Cause {
    Problem problem;    // As told last,
    std::string exact;  // and without the names.
    absl::Time told;
    absl::Time seen;
  };
  struct Subject {
    int64_t since_ms = 0;
    Problem newest;
  };
  struct Lasting {
    Problem newest;
    std::map<std::string, Subject, std::less<>> subjects;
    std::string shown;                    // The cause that the status tells of.
    std::map<std::string, Cause> causes;  // By their words without names and numbers.
    void ForgetOldest();
  };
  // Null: there is none.
  const Subject* Of(std::string_view reason, std::string_view subject) const;

  std::map<std::string, Lasting, std::less<>> by_reason_;
};

}  // namespace basalt::jobsvc
