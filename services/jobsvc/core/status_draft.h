#pragma once

// The status that a decision writes while it is being worked out, with what is recorded of the decision beside it: the
// entry of history, and what our own key of controlledResources is to hold (controlled_state.h). Pure.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc {

class StatusDraft {
 public:
  // `input` outlives it.
  explicit StatusDraft(const DecideInput& input) : in_(input) {}

  // Takes the status as it is. Most passes change none, and are not to pay for a copy.
  void Begin();
  Decision& decision() { return decision_; }
  kube::v1::JobStatus& status() { return decision_.status; }
  ControlledState& to_persist() { return to_persist_; }

  // What is seen of the pods and plugins, and the words of the input.
  void PutFacts(const kube::v1::PodCounts& counts, const std::vector<TaskCounts>& tasks);
  // Reached now; it may be the one that it is.
  void SetPhase(kube::v1::JobPhase phase);
  void SetRunningDuration();
  void SetKill(Kill kill) { new_kill_ = std::move(kill); }

  // History tells of the action, which is the first that is left among the pending ones.
  void NoteAction(const storage::v1::PendingAction& pending, storage::v1::HistoryRecord::Result result,
                  std::string outcome);
  // History tells of a sync.
  void NoteSync(std::string_view rule, std::string outcome);
  // History tells of what waits for its time.
  void NoteDeadline(const storage::v1::PendingAction& deadline);

  // The pending actions that this write carries out end where those that it leaves begin.
  int FirstCarriedOut() const { return decision_.dropped; }
  int FirstLeft() const { return decision_.dropped + decision_.consumed; }

  // Is last: numbers the commit, and completes its status and its history.
  void Finish(Decision::Write write);

 private:
  void DescribeDeadline(const storage::v1::PendingAction& deadline);
  void NameWantedObjects();
  void KeepDeadlines();
  std::string WhyDropped(const storage::v1::PendingAction& deadline) const;
  void NoteDropped();

  const DecideInput& in_;
  Decision decision_;
  ControlledState to_persist_;
  std::optional<Kill> new_kill_;
  CarriedOut carried_out_;
};

}  // namespace basalt::jobsvc
