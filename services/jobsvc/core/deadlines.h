#pragma once

// Delayed actions (job spec 7, repaired as 7.6 says): what a policy with a timeout answers waits as a PendingAction
// with `due_ms` until it is due, is cancelled, or is cleaned up by an action of its level. Deadlines are measured from
// the fact, by the API server's clock.
//
// One of an event that leaves no trace (PodEvicted, Unknown, TaskCompleted, TaskFailed, and PodFailed of a pod that
// does not tell when it ended) is *stored* in the job's status (controlled_state.h) from the write that sets it to the
// one that carries it out. These, and those of failed pods, which may be removed, and of pods that are Pending once
// more, are *kept* on the disk, each in a record of its own. Those of other pending pods follow from the pods, and are
// worked out again where a process starts. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/events.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

using PendingActions = google::protobuf::RepeatedPtrField<storage::v1::PendingAction>;

// So many of one job its status holds at most: what Kubernetes takes is bounded. Only a lost disk loses the rest.
inline constexpr size_t kMostStoredDeadlines = 500;

bool IsKept(const storage::v1::PendingAction& deadline);
bool IsStored(const storage::v1::PendingAction& deadline);
// Whether what has become of the pods calls for it still.
bool StillHolds(const storage::v1::PendingAction& deadline, const PodSet& pods);
// 7.5: whether carrying out the one cleans up the other.
bool Clears(const storage::v1::PendingAction& carried_out, const storage::v1::PendingAction& deadline);
// Actions that one write carries out, which are there longer than this, and what they clean up.
class CarriedOut {
 public:
  // False: it cleans up nothing, or no more than another.
  bool Add(const storage::v1::PendingAction& action);
  // The first that cleans it up; null: none does.
  const storage::v1::PendingAction* ThatClears(const storage::v1::PendingAction& deadline) const;

 private:
  std::map<std::string, const storage::v1::PendingAction*> by_scope_;
};
bool SameDeadline(const storage::v1::PendingAction& a, const storage::v1::PendingAction& b);

// The deadlines of one job. One event costs the same with any number of them; only an action that was carried out, and
// a new version, walk over all.
class DeadlineSet {
 public:
  using ByPod = std::map<std::string, storage::v1::PendingAction>;

  void Reset();
  // One that is kept, as it was found: it need not be written.
  void Restore(storage::v1::PendingAction deadline);
  size_t size() const { return by_due_.size(); }
  bool empty() const { return by_due_.empty(); }

  // That of the pod; null: none. "" is the one that concerns no pod.
  const storage::v1::PendingAction* Find(const std::string& pod) const;

  // 7.1: one for each pod, and one for what concerns none. False: one with the same action waits already, and goes on.
  // One with another is replaced, as is that of a pending pod which has ended or which another pod of the name has
  // followed. What concerns a task is the same whichever pod tells of it.
  bool Add(storage::v1::PendingAction deadline);
  // 7.3, with UIDs and tasks compared: what waits since a pod was Pending ends as soon as it is not; what waits since
  // one failed or was evicted ends once another pod of that name runs.
  void Cancel(const JobEvent& event, std::string_view task);
  // 7.5.
  void Clear(const storage::v1::PendingAction& carried_out);
  // Of pods whose failure has been answered: that they were removed is the same death. UIDs.
  void DropEvictions(const std::set<std::string_view>& pods);
  // Forgets those of earlier versions of the job (W15).
  void SetVersion(int32_t version);
  // What is due and still holds, in the order of the deadlines: it is taken out, as is what is due and holds no more.
  std::vector<storage::v1::PendingAction> TakeDue(int64_t now_ms, const PodSet& pods);
  std::optional<int64_t> NextDue() const;
  // The first so many, by when they are due.
  std::vector<const storage::v1::PendingAction*> Earliest(size_t most) const;

  // Those that the status has to hold.
  const ByPod& stored() const { return stored_; }
  // Whether one that holds `stored` says what it has to.
  bool AreStored(const std::vector<storage::v1::PendingAction>& stored) const;
  // The pods of which, since the last call, what is kept has changed. Who takes them writes them.
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }

 private:
  // Event, task, action, version.
  using AboutTask = std::tuple<std::string, std::string, std::string, int32_t>;

  ByPod& PartOf(const storage::v1::PendingAction& deadline);
  void Insert(storage::v1::PendingAction deadline);
  void Erase(const std::string& pod);
  template <typename Predicate>
  void EraseIf(Predicate predicate);

  // Each is in one of the three.
  ByPod stored_;
  ByPod kept_;  // Not stored.
  ByPod derived_;
  std::set<std::pair<int64_t, std::string>> by_due_;  // Of all three.
  std::set<AboutTask> of_tasks_;                      // What waits for a task, whichever pod told of it.
  int32_t version_ = 0;
  std::set<std::string> changed_;
};

// Whether a policy of the spec may set a deadline at all.
bool HasTimeouts(const kube::v1::JobSpec& spec);

}  // namespace basalt::jobsvc
