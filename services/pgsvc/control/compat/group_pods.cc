#include "services/pgsvc/control/compat/group_pods.h"

#include <algorithm>

#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// This label of a pod has the revision of its pod template. The group follows the pods of the newest revision.
constexpr std::string_view kTemplateRevisionLabel = "controller-revision-hash";

}  // namespace

bool SaysHowTheGroupIs(std::string_view group, const kube::v1::Pod& pod) {
  return pod.has_grouping() && !pod.owner_uid().empty() && group.ends_with(pod.owner_uid()) && IsActive(pod);
}

bool IsNewer(const kube::v1::Pod& a, const kube::v1::Pod& b) {
  return a.creation_ms() != b.creation_ms() ? a.creation_ms() > b.creation_ms() : a.uid() > b.uid();
}

std::string RevisionOf(const kube::v1::Pod& pod) {
  return std::string(FindKey(pod.grouping().labels(), kTemplateRevisionLabel).value_or(""));
}

bool SpeaksBefore(const kube::v1::Pod& a, const kube::v1::Pod& b, std::string_view revision) {
  const bool is_a = !revision.empty() && RevisionOf(a) == revision;
  const bool is_b = !revision.empty() && RevisionOf(b) == revision;
  return is_a != is_b ? is_a : IsNewer(a, b);
}

void GroupPods::Count(std::string_view group, const kube::v1::Pod& pod, int by) {
  lacking_ += LacksGroup(pod, group) ? by : 0;
  unfinished_ += IsOver(pod) ? 0 : by;
  if (!SaysHowTheGroupIs(group, pod)) return;
  const Age age(pod.creation_ms(), pod.uid());
  const std::string revision = RevisionOf(pod);
  std::set<Age>& ages = ages_[revision];
  by > 0 ? static_cast<void>(ages.insert(age)) : static_cast<void>(ages.erase(age));
  if (ages.empty()) ages_.erase(revision);
}

void GroupPods::Set(std::string_view group, kube::v1::Pod&& pod) {
  const auto [known, is_new] = pods_.try_emplace(pod.uid());
  if (!is_new) Count(group, known->second, -1);
  known->second = std::move(pod);
  Count(group, known->second, 1);
}

void GroupPods::Erase(std::string_view group, const std::string& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  Count(group, known->second, -1);
  pods_.erase(known);
}

const kube::v1::Pod* GroupPods::Find(const std::string& uid) const {
  const auto known = pods_.find(uid);
  return known == pods_.end() ? nullptr : &known->second;
}

const kube::v1::Pod* GroupPods::FirstLacking(std::string_view group) const {
  if (lacking_ == 0) return nullptr;
  const auto lacking =
      std::find_if(pods_.begin(), pods_.end(), [group](const auto& pod) { return LacksGroup(pod.second, group); });
  return lacking == pods_.end() ? nullptr : &lacking->second;
}

const kube::v1::Pod* GroupPods::Newest(const std::string& revision) const {
  if (const auto ages = ages_.find(revision); ages != ages_.end() && !revision.empty()) {
    return Find(ages->second.rbegin()->second);
  }
  Age newest;
  for (const auto& [other, ages] : ages_) newest = std::max(newest, *ages.rbegin());
  return Find(newest.second);
}

}  // namespace basalt::pgsvc
