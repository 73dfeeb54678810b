#pragma once

// The status that a decision writes, while the decision is being made, with the two records of it: the entry of
// history, and the new content of our own key of controlledResources (controlled_state.h). Pure.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide/decide.h"

namespace basalt::jobsvc {

class StatusDraft {
 public:
  // `input` must outlive the draft.
  explicit StatusDraft(const DecideInput& input) : in_(input) {}

  // Copies the present status. A separate step, since most passes change no status and should not pay for a copy.
  void Begin();
  Decision& decision() { return decision_; }
  kube::v1::JobStatus& status() { return decision_.status; }
  ControlledState& to_persist() { return to_persist_; }

  // Sets the observed state of pods and plugins, and `words` of the input.
  void PutFacts(const kube::v1::PodCounts& counts, const std::vector<TaskCounts>& tasks);
  // Sets the phase as reached now, also if the job is in that phase already.
  void SetPhase(kube::v1::JobPhase phase);
  void SetRunningDuration();
  void SetKill(Kill kill) { new_kill_ = std::move(kill); }

  // Records the action in history. It is the first that is left among the pending ones.
  void NoteAction(const storage::v1::PendingAction& pending, storage::v1::HistoryRecord::Result result,
                  std::string outcome);
  // Records a sync in history.
  void NoteSync(std::string_view rule, std::string outcome);
  // Records a new deadline in history.
  void NoteDeadline(const storage::v1::PendingAction& deadline);

  // The pending actions in [FirstCarriedOut(), FirstLeft()) are carried out by this write.
  int FirstCarriedOut() const { return decision_.dropped; }
  int FirstLeft() const { return decision_.dropped + decision_.consumed; }

  // Numbers the commit and completes its status and its history. Call it last.
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
