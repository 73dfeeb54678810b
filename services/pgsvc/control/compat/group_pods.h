#pragma once

// The plain pods of one group. Counters and orders follow each change, so that a pass that finds nothing to do costs
// the same, however many pods there are. Confined to the controller's loop.
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::pgsvc {

// Whether the pod may determine the group: it is active, and of the owner that the group is named after. Pods of other
// owners may name the group, too.
bool SaysHowTheGroupIs(std::string_view group, const kube::v1::Pod& pod);
// Whether `a` is newer than `b` by the time of creation. Times of Kubernetes are whole seconds; the UID decides between
// equal ones.
bool IsNewer(const kube::v1::Pod& a, const kube::v1::Pod& b);

// Returns the revision of the StatefulSet that made the pod (podgroup spec 4.3); empty if the pod has no such label.
std::string RevisionOf(const kube::v1::Pod& pod);
// Whether `a` determines the group rather than `b`. `revision` is the one that the owner rolls out; empty if the owner
// has no revisions.
bool SpeaksBefore(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view revision);

class GroupPods {
 public:
  using All = std::map<std::string, kube::v1::Pod>;  // By UID.

  // Sets a state of a pod. `group` is the name of the group, the same in all calls.
  void Set(std::string_view group, kube::v1::Pod&& pod);
  void Erase(std::string_view group, const std::string& uid);

  const All& all() const { return pods_; }
  bool empty() const { return pods_.empty(); }
  size_t size() const { return pods_.size(); }
  // Returns null if there is no pod of that UID.
  const kube::v1::Pod* Find(const std::string& uid) const;

  // Returns a pod that needs the group, which does not exist; null if no pod needs it.
  const kube::v1::Pod* FirstLacking(std::string_view group) const;
  // Returns the newest of the pods that may determine the group (weakness W16); the newest one of that revision if
  // there is one. Null if no pod may determine the group.
  const kube::v1::Pod* Newest(const std::string& revision) const;
  // Whether some pod is neither Succeeded nor Failed.
  bool has_unfinished() const { return unfinished_ > 0; }

 private:
  using Age = std::pair<int64_t,
                        std::string>;  // The time of creation in ms, and the UID: the greatest is the newest (IsNewer).

  // Counts the pod in if `by` is 1, and out if it is -1.
  void Count(std::string_view group, const kube::v1::Pod& pod, int by);

  All pods_;
  int64_t lacking_ = 0;
  int64_t unfinished_ = 0;
  std::map<std::string, std::set<Age>> ages_;  // The pods that may determine the group, by revision. No set is empty.
};

}  // namespace basalt::pgsvc
