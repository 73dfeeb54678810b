#pragma once

// The plain pods of one group, and which of them the group depends on: a look at them costs what has changed, however
// many pods there are. On the controller's loop.
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

// A live pod of the owner that the group is named after; pods of others may name the group, too.
bool SaysHowTheGroupIs(std::string_view group, const kube::v1::Pod& pod);
// By the time of creation; times of Kubernetes are whole seconds, and the UID decides between equal ones.
bool IsNewer(const kube::v1::Pod& a, const kube::v1::Pod& b);

// The revision of the StatefulSet that made the pod (podgroup spec 4.3); empty: the pod has no such label.
std::string RevisionOf(const kube::v1::Pod& pod);
// Whether `a` comes before `b` in saying how the group is to be, where the owner rolls that revision out.
bool SpeaksBefore(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view revision);

class GroupPods {
 public:
  using All = std::map<std::string, kube::v1::Pod>;  // By UID.

  // A state of a pod. `group`: the name of the group, the same in all calls.
  void Set(std::string_view group, kube::v1::Pod&& pod);
  void Erase(std::string_view group, const std::string& uid);

  const All& all() const { return pods_; }
  bool empty() const { return pods_.empty(); }
  size_t size() const { return pods_.size(); }
  // Null: there is none of that UID.
  const kube::v1::Pod* Find(const std::string& uid) const;

  // A pod that needs the group, which is not there; null: none does.
  const kube::v1::Pod* FirstLacking(std::string_view group) const;
  // The newest of the pods that say how the group is to be (weakness W16), and the newest of that revision where there
  // is one; null: no pod says it.
  const kube::v1::Pod* Newest(const std::string& revision) const;
  // A pod is neither Succeeded nor Failed.
  bool has_unfinished() const { return unfinished_ > 0; }

 private:
  using Age = std::pair<int64_t, std::string>;  // Created, in ms; UID. Ordered as IsNewer has it.

  // The pod is there from now on, or not any more.
  void Count(std::string_view group, const kube::v1::Pod& pod, int by);

  All pods_;
  int64_t lacking_ = 0;
  int64_t unfinished_ = 0;
  std::map<std::string, std::set<Age>> ages_;  // Pods that say how the group is to be, by revision; no set is empty.
};

}  // namespace basalt::pgsvc
