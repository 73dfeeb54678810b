#pragma once

// What Kubernetes or a plugin refuses of a job: one trouble for each reason (job spec 9.11), until it is over. It lasts
// for as long as it is tried, so the same words come again and again, of one pod after the other: of each cause they
// are told once. Pure, in memory alone.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc {

// In what a trouble says of a pod that is not made: an object that is not the job's has its name,
inline constexpr std::string_view kNameIsHeld = "the name is held by an object of another owner";
// or the pod itself, which the watch does not show any more.
inline constexpr std::string_view kLabelIsLost = "it is there, but without the label";

class Troubles {
 public:
  // True: these words are to be told in an Event. Two with the same words but for `names`, and numbers, have one cause;
  // other numbers are told anew after `interval`. `known_since`: it was there before this process looked, since then at
  // the latest.
  bool Report(Words words, std::initializer_list<std::string_view> names, absl::Time now, absl::Duration interval,
              std::optional<absl::Time> known_since = std::nullopt);
  // True: there was one.
  bool End(std::string_view reason);
  void Clear() { by_reason_.clear(); }

  bool empty() const { return by_reason_.empty(); }
  bool has(std::string_view reason) const { return by_reason_.contains(reason); }
  // The newest words; null: there is no such trouble.
  const Words* Find(std::string_view reason) const;
  // In ms; 0: nobody knows.
  int64_t SinceMs(std::string_view reason) const;
  // What the status says: the first words of a cause for as long as it lasts, though others come between; of several
  // reasons those of what a job needs first. Empty: there is no trouble.
  const Words& Told() const;
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [reason, trouble] : by_reason_) visit(trouble.newest);
  }

 private:
  struct Cause {
    Words words;        // As told last,
    std::string exact;  // and without the names.
    absl::Time told;
    absl::Time seen;
  };
  struct Trouble {
    int64_t since_ms = 0;
    Words newest;
    std::string shown;                    // The cause that the status tells of.
    std::map<std::string, Cause> causes;  // By their words without names and numbers.
  };
  std::map<std::string, Trouble, std::less<>> by_reason_;
};

}  // namespace basalt::jobsvc
