#include "services/jobsvc/control/pods/bulk_delete.h"

#include <optional>
#include <set>
#include <string>

#include "common/kube/requests.h"
#include "common/reconcile/back_off.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// After more calls in a row that brought nothing, pods are deleted singly.
constexpr int kFruitlessCollections = 1;

}  // namespace

BulkDelete::Ending BulkDelete::EndingOf(const WriteOutcome& outcome) {
  switch (AnswerOf(outcome)) {
    case Answer::kDone:
      return Ending::kDone;
    case Answer::kNotSent:
      return Ending::kNotSent;
    case Answer::kAlreadyExists:
    case Answer::kConflict:
    case Answer::kUnknown:
      return Ending::kFailed;
    case Answer::kNotFound:
    case Answer::kForbidden:
    case Answer::kInvalid:
    case Answer::kRefused:
      break;
  }
  const int code = outcome.error.code();
  return code >= 400 && code < 500 && code != 429 ? Ending::kRefused : Ending::kFailed;
}

void BulkDelete::Advance(KillId kill, absl::Time now) {
  if (kill_ != kill) {
    *this = BulkDelete();
    kill_ = kill;
  }
  if (!IsPausing() || StillWaits(now, pause_until_)) return;
  state_ = state_ == State::kUnseen ? State::kSingly : State::kOpen;
}

void BulkDelete::End(Ending ending, bool has_progress, absl::Time now) {
  if (ending == Ending::kDone) {
    state_ = State::kUnseen;
    pause_until_ = now + absl::Seconds(2);
    return;
  }
  // The server may need several calls for many pods. A single pod that it refuses to delete stops every call.
  if (has_progress) empty_answers_ = 0;
  if (ending != Ending::kNotSent) ++empty_answers_;
  const bool is_over = ending == Ending::kRefused || empty_answers_ > kFruitlessCollections;
  state_ = is_over ? State::kSingly : State::kPaused;
  if (!is_over) pause_until_ = now + absl::Seconds(1);
}

bool BulkDelete::Apply(JobEntry& entry, PartHost& host) {
  const PodSet& pods = entry.pods;
  if (host.collecting().contains(entry.key)) return true;
  Advance({pods.rules().version, pods.rules().kill_all}, host.Now());
  if (IsPausing()) {
    if (!pods.removals().to_delete().empty()) host.WakeAt(entry, pause_until_);
    return true;
  }
  if (pods.removals().to_delete().size() < 2 || state_ == State::kSingly) return false;
  const std::set<std::string> none;
  const std::optional<PodCollection> collection = NextPodCollection(host.ViewOf(entry, none));
  if (!collection) {
    // NextPodCollection() walks over all pods to delete: it is not called again for this kill.
    state_ = State::kSingly;
    return false;
  }
  Send(entry, *collection, host);
  return true;
}

void BulkDelete::Send(const JobEntry& entry, const PodCollection& collection, PartHost& host) const {
  auto request = kube::WriteOf(kube::kPods, entry.ns, "");
  gateway::v1::DeleteCollection& pods = *request.mutable_delete_collection();
  pods.set_label_selector(collection.label_selector);
  pods.set_field_selector(collection.field_selector);
  host.collecting().insert(entry.key);
  host.context().Write(entry.key, std::move(request),
                       [&host, key = entry.key, uid = entry.record.uid(), kill = kill_,
                        left = entry.pods.removals().to_delete().size()](const WriteOutcome& outcome) {
                         host.collecting().erase(key);
                         host.context().Wake(key);  // This also wakes another job that has the name by now.
                         JobEntry* const live = host.Live(key, uid);
                         if (live == nullptr || live->bulk_delete.kill() != kill) return;
                         live->bulk_delete.End(EndingOf(outcome), live->pods.removals().to_delete().size() < left,
                                               host.Now());
                       });
}

}  // namespace basalt::jobsvc
