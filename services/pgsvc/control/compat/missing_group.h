#pragma once

// Pods that name a group which is not there and which is not ours to make: whoever made the pods makes such a group,
// too, and a scheduler passes the pods over without a word until then (weakness G49). On the controller's loop.
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
  // What is made together need not come together.
  static constexpr absl::Duration kGrace = absl::Seconds(30);
  // Each look is at all pods.
  static constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

  using Pods = std::map<std::string, kube::v1::Pod>;  // By UID.

  // The pods that are to be warned now, each once, that the group is not there. `waits`: whether the pod waits for it.
  using Waits = std::function<bool(const kube::v1::Pod& pod)>;
  std::vector<const kube::v1::Pod*> PodsToWarn(const Pods& pods, const Waits& waits, absl::Time now);
  // When there may be pods to warn; InfiniteFuture: none wait.
  absl::Time due() const { return due_; }
  // The group is there.
  void Forget();

 private:
  absl::Time since_ = absl::InfiniteFuture();  // That the first of the pods was seen to wait.
  absl::Time due_ = absl::InfiniteFuture();
  absl::Time looked_ = absl::InfinitePast();
  std::set<std::string> warned_;  // UIDs of pods.
};

}  // namespace basalt::pgsvc
