#include "services/jobsvc/control/job_entry.h"

#include <algorithm>

namespace basalt::jobsvc {

namespace {

bool SameTexts(const kube::v1::ObjectMeta& a, const kube::v1::ObjectMeta& b) {
  const auto same = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const auto& p, const auto& q) { return p.key() == q.key() && p.value() == q.value(); });
  };
  return same(a.labels(), b.labels()) && same(a.annotations(), b.annotations());
}

}  // namespace

void JobEntry::Receive(kube::v1::Job&& received) {
  const bool texts_changed = !job || !SameTexts(job->meta(), received.meta());
  job = std::move(received);
  job_dirty = true;
  persisted = ReadControlledState(job->status());
  pods.ForgetReported();
  group_sync.Forget();
  if (texts_changed) pod_creates.ForgetMaker();
  groups_dirty = true;  // Whether a group is stale follows from the status.
}

}  // namespace basalt::jobsvc
