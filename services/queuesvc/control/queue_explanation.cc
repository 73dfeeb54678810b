// Collects the facts from which ExplainQueue explains a queue's state to people.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/kube/timestamp.h"
#include "services/queuesvc/control/queue_controller.h"
#include "services/queuesvc/core/check_queue_spec.h"
#include "services/queuesvc/core/explain_queue.h"
#include "services/queuesvc/core/queue_rules.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {
namespace {

constexpr size_t kMostNames = 100;  // The largest number of pod groups that an explanation names.

bool IsClosed(const kube::v1::Queue& queue) { return queuesvc::IsClosed(ParseQueueState(queue.state())); }

bool RecordsState(const storage::v1::QueueHistoryRecord& entry, std::string_view state) {
  using Entry = storage::v1::QueueHistoryRecord;
  return (entry.kind() == Entry::KIND_STATE_CHANGED || entry.kind() == Entry::KIND_STATE_OBSERVED) &&
         entry.to_state() == state;
}

}  // namespace

std::vector<std::string> QueueController::ToOpen(const kube::v1::Queue& queue) const {
  std::vector<std::string> names;  // The lowest comes first.
  const auto add_unless_opened_by_parent = [&names](const kube::v1::Queue& closed) {
    if (ClosedByParent(closed) != "true") names.push_back(closed.meta().name());
  };
  const kube::v1::Queue* highest = nullptr;
  if (IsClosed(queue)) add_unless_opened_by_parent(queue);
  for (const kube::v1::Queue* above = tree_.ParentOf(queue); above != nullptr && IsClosed(*above);
       above = tree_.ParentOf(*above)) {
    if (highest != nullptr) add_unless_opened_by_parent(*highest);
    highest = above;
  }
  if (highest == nullptr) return {};
  names.push_back(highest->meta().name());
  std::reverse(names.begin(), names.end());
  return names;
}

QueueProblem QueueController::HoldAgainstOthers(const kube::v1::Queue& queue) const {
  const auto find = [this](std::string_view name) { return tree_.Find(name); };
  const auto each = [this](const std::function<void(const kube::v1::Queue&)>& visit) {
    for (const auto& [name, other] : tree_.queues()) visit(*other);
  };
  return CheckAmongOthers(queue, find, tree_.children(), each);
}

absl::StatusOr<queue::v1::QueueExplanation> QueueController::Explain(std::string_view name) {
  const kube::v1::Queue& queue = *tree_.Find(name);
  const QueueEntry* const entry = entries_.Find(name);
  static const QueueEntry kNoEntry;
  const QueueEntry& known = entry == nullptr ? kNoEntry : *entry;
  BASALT_ASSIGN_OR_RETURN(const auto history, records_.EntriesOf(name, queue.meta().uid()));
  const auto entered_by = std::find_if(history.rbegin(), history.rend(),
                                       [&](const auto& recorded) { return RecordsState(recorded, queue.state()); });
  const kube::v1::Queue* const parent = tree_.ParentOf(queue);
  std::vector<QueueProblem> problems = CheckQueueSpec(queue);
  if (parent != nullptr) {
    QueueProblem problem = HoldAgainstOthers(queue);
    if (!problem.field.empty()) problems.push_back(std::move(problem));
  }
  queue::v1::QueueExplanation explanation =
      ExplainQueue({.queue = queue,
                    .parent = parent,
                    .is_below_itself = parent == nullptr && tree_.Find(queue.parent()) != nullptr,
                    .circle = tree_.CircleOf(queue),
                    .to_open = ToOpen(queue),
                    .step = known.step,
                    .command = known.NextCommand(context_.ApiNow()),
                    .problems = std::move(problems),
                    .pod_groups = known.pod_groups.total(),
                    .record = RecordOf(name),
                    .entered_by = entered_by == history.rend() ? nullptr : &*entered_by});
  *explanation.mutable_queue() = MessageOf(name, queue);
  if (IsClosed(queue)) {
    for (std::string& group : known.pod_groups.Names(kMostNames)) explanation.add_pod_groups(std::move(group));
    explanation.set_pod_groups_total(known.pod_groups.total());
  }
  explanation.set_allocated_explain_time(kube::ToTimestamp(absl::ToUnixMillis(context_.ApiNow())).release());
  return explanation;
}

}  // namespace basalt::queuesvc
