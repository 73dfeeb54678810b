#include "services/jobsvc/core/pods/pod_removals.h"

namespace basalt::jobsvc {

void PodRemovals::Contribute(std::string_view name, PodIndex place, const PodEntry& entry, const PodRules& rules,
                             bool add) {
  const int32_t sign = add ? 1 : -1;
  const auto flip = [&](std::set<std::string>& set) {
    if (add) {
      set.emplace(name);
    } else {
      set.erase(std::string(name));
    }
  };
  if (MustMark(place, entry, rules)) {
    flip(to_mark_);
  } else if (MustDelete(entry, rules)) {
    flip(to_delete_);
  }
  // A kill does not wait for a pod that does not belong to the job any more.
  const bool is_target =
      !rules.targets.empty() && entry.present() && rules.targets.contains(entry.uid) && !entry.has(kPodForeign);
  if (is_target) targets_left_ += sign;
  if (entry.has(kPodForeign) && entry.has(kPodLabelled)) foreign_labelled_ += sign;
}

}  // namespace basalt::jobsvc
