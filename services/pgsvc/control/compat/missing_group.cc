#include "services/pgsvc/control/compat/missing_group.h"

#include <algorithm>

namespace basalt::pgsvc {

std::vector<const kube::v1::Pod*> MissingGroup::PodsToWarn(const Pods& pods, const Waits& waits, absl::Time now) {
  if (due_ != absl::InfiniteFuture() && now < due_) return {};
  if (now < looked_ + kBetweenLooks) {
    due_ = looked_ + kBetweenLooks;
    return {};
  }
  looked_ = now;
  std::vector<const kube::v1::Pod*> waiting;
  for (const auto& [uid, pod] : pods) {
    if (waits(pod)) waiting.push_back(&pod);
  }
  std::erase_if(warned_, [&pods](const std::string& uid) { return pods.count(uid) == 0; });
  due_ = absl::InfiniteFuture();
  if (waiting.empty()) {
    since_ = absl::InfiniteFuture();
    return {};
  }
  since_ = std::min(since_, now);
  if (now < since_ + kGrace) {
    due_ = since_ + kGrace;
    return {};
  }
  std::erase_if(waiting, [this](const kube::v1::Pod* pod) { return !warned_.insert(pod->uid()).second; });
  return waiting;
}

void MissingGroup::Forget() { *this = MissingGroup(); }

}  // namespace basalt::pgsvc
