// Limits the history of queues that are gone (common/history/retention.h).
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

void QueueController::AgeHistoryLater() {
  const absl::Duration interval = history::Retention::TurnInterval(entries_.slots().size());
  history_timer_ = context_.loop().RunAfter(interval, [this] {
    history_timer_ = kNoTimer;
    if (entries_.slots().empty()) return;
    const auto turn = records_.retention().NextTurn(entries_.slots());
    // A slot that is starting does not know yet which queues exist.
    if (context_.IsReady(turn->first)) AgeHistory(turn->first, turn->second);
    AgeHistoryLater();
  });
}

void QueueController::AgeHistory(uint32_t slot, const std::set<std::string>& keys) {
  std::set<std::string> present;  // UIDs of queues that exist.
  for (const std::string& key : keys) {
    const std::string& uid = entries_.Find(key)->record.uid();
    if (!uid.empty()) present.insert(uid);
  }
  for (const std::string& name : tree_.queues().KeysOf(slot)) present.insert(tree_.Find(name)->meta().uid());
  if (const absl::Status status = records_.Age(slot, present, context_.ApiNow()); !status.ok()) context_.Fail(status);
}

}  // namespace basalt::queuesvc
