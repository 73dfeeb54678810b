#pragma once

// Finds pods that name a missing group which is not ours to make: whoever made the pods makes such a group, too. Until
// then a scheduler passes the pods over silently (weakness G49). Confined to the controller's loop.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc {

class MissingGroup {
 public:
  // How long pods wait without a warning. A group and its pods, which are made together, may arrive at different times.
  static constexpr absl::Duration kGrace = absl::Seconds(30);
  // The least time between two looks, since each look is at all pods.
  static constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

  using Pods = std::map<std::string, kube::v1::Pod>;  // By UID.

  // Returns the pods to warn now that the group is missing; each pod only once. `waits` decides whether a pod waits for
  // the group.
  using Waits = std::function<bool(const kube::v1::Pod& pod)>;
  std::vector<const kube::v1::Pod*> PodsToWarn(const Pods& pods, const Waits& waits, absl::Time now);
  // Returns when there may be pods to warn; InfiniteFuture if only after another change.
  absl::Time due() const { return due_; }
  // Begins anew, since the group exists.
  void Forget();

 private:
  // Since when some pod has been observed to wait; InfiniteFuture if none waits.
  absl::Time since_ = absl::InfiniteFuture();
  absl::Time due_ = absl::InfiniteFuture();
  absl::Time looked_ = absl::InfinitePast();  // The time of the last look.
  std::set<std::string> warned_;              // UIDs of pods.
};

}  // namespace basalt::pgsvc
