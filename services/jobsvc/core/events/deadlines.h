#pragma once

// Delayed actions (job spec 7, with the repairs of 7.6). The action of a policy with a timeout waits as a PendingAction
// with `due_ms` until its time comes, the action is cancelled, or an action of its level cleans it up. A deadline
// counts from the time of the fact, by the API server's clock.
//
// Some events leave no trace: PodEvicted, Unknown, TaskCompleted, TaskFailed, and PodFailed of a pod that does not
// state when it ended. A deadline of such an event is *stored* in the job's status (controlled_state.h), from the write
// that sets the deadline to the write that carries the action out. A deadline is *kept* on the disk, in a record of its
// own, if it is stored, if its pod has failed (the pod may be removed), or if its pod is Pending once more. The
// deadlines of other pending pods follow from the pods: a process derives them again at its start. Pure.
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
#include "services/jobsvc/core/events/events.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

using PendingActions = google::protobuf::RepeatedPtrField<storage::v1::PendingAction>;

// The most deadlines that the status of one job holds, since Kubernetes limits the size of an object. Only a lost disk
// loses the others.
inline constexpr size_t kMostStoredDeadlines = 500;

bool IsKept(const storage::v1::PendingAction& deadline);
bool IsStored(const storage::v1::PendingAction& deadline);
// Returns whether the present state of the pods still calls for the deadline.
bool StillHolds(const storage::v1::PendingAction& deadline, const PodSet& pods);
// Returns whether carrying out the first action cleans up the second one (7.5).
bool Clears(const storage::v1::PendingAction& carried_out, const storage::v1::PendingAction& deadline);
// The actions that one write carries out, by what they clean up. The actions must outlive this object.
class CarriedOut {
 public:
  // Returns false if the action cleans up nothing, or nothing beyond what an earlier action does.
  bool Add(const storage::v1::PendingAction& action);
  // Returns the first added action that cleans the deadline up. Null if none does.
  const storage::v1::PendingAction* ThatClears(const storage::v1::PendingAction& deadline) const;

 private:
  std::map<std::string, const storage::v1::PendingAction*> by_scope_;
};
bool SameDeadline(const storage::v1::PendingAction& a, const storage::v1::PendingAction& b);

// The deadlines of one job. An event costs the same for any number of deadlines. Only an action that was carried out
// and a new version walk over all of them.
class DeadlineSet {
 public:
  using ByPod = std::map<std::string, storage::v1::PendingAction>;

  void Reset();
  // Adds a kept deadline as it was read from the disk: its record need not be written.
  void Restore(storage::v1::PendingAction deadline);
  size_t size() const { return by_due_.size(); }
  bool empty() const { return by_due_.empty(); }

  // Returns the deadline of the pod. Null if the pod has none. The deadline of "" concerns no pod.
  const storage::v1::PendingAction* Find(const std::string& pod) const;

  // Adds a deadline (7.1). Each pod has one at most, and so has the job for what concerns no pod. Returns false if a
  // deadline with the same action waits already; the old one goes on. A deadline with another action replaces the old
  // one. So does any deadline where the old one is of a pending pod that has succeeded or was followed by another pod
  // of its name. The deadline of a task is the same whichever pod's event sets it.
  bool Add(storage::v1::PendingAction deadline);
  // Cancels by 7.3, comparing UIDs and tasks: a deadline that counts since a pod was Pending ends as soon as the pod is
  // not; a deadline that counts since a pod failed or was evicted ends once another pod of that name runs.
  void Cancel(const JobEvent& event, std::string_view task);
  // Removes what the action cleans up (7.5).
  void Clear(const storage::v1::PendingAction& carried_out);
  // Drops the PodEvicted deadlines of these pods, given by UID. Their failure has been answered, and their removal is
  // the same death.
  void DropEvictions(const std::set<std::string_view>& pods);
  // Forgets the deadlines of earlier versions of the job (W15).
  void SetVersion(int32_t version);
  // Removes the deadlines that are due. Returns those that still hold, in the order of their times.
  std::vector<storage::v1::PendingAction> TakeDue(int64_t now_ms, const PodSet& pods);
  std::optional<int64_t> NextDue() const;
  // Returns the deadlines that are due first, `most` of them at most.
  std::vector<const storage::v1::PendingAction*> Earliest(size_t most) const;

  // The deadlines that the status has to hold.
  const ByPod& stored() const { return stored_; }
  // Returns whether a status that holds `stored` holds exactly the deadlines that it has to.
  bool AreStored(const std::vector<storage::v1::PendingAction>& stored) const;
  // Returns the pods whose kept deadline has changed since the last call. The caller writes their records.
  std::set<std::string> TakeChanged() { return std::exchange(changed_, {}); }

 private:
  // Event, task, action, version.
  using AboutTask = std::tuple<std::string, std::string, std::string, int32_t>;

  ByPod& PartOf(const storage::v1::PendingAction& deadline);
  void Insert(storage::v1::PendingAction deadline);
  void Erase(const std::string& pod);
  template <typename Predicate>
  void EraseIf(Predicate predicate);

  // Each deadline is in one of the three maps.
  ByPod stored_;
  ByPod kept_;  // Without the stored ones.
  ByPod derived_;
  std::set<std::pair<int64_t, std::string>> by_due_;  // Entries of all three maps.
  std::set<AboutTask> of_tasks_;                      // Deadlines of tasks, whichever pod's event set them.
  int32_t version_ = 0;
  std::set<std::string> changed_;
};

// Returns whether a policy of the spec may set a deadline at all.
bool HasTimeouts(const kube::v1::JobSpec& spec);

}  // namespace basalt::jobsvc
