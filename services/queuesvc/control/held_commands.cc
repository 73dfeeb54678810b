#include "services/queuesvc/control/held_commands.h"

#include <utility>

#include "services/queuesvc/core/queue_account.h"

namespace basalt::queuesvc {

void HeldCommands::See(kube::v1::Command seen) {
  const kube::v1::ObjectMeta& meta = seen.meta();
  const auto [known, is_new] = ages_.try_emplace(meta.uid());
  if (is_new) known->second = Age{meta.creation_ms(), meta.resource_version(), meta.uid()};
  held_[known->second].command = std::move(seen);
}

void HeldCommands::Forget(std::string_view uid) {
  const auto known = ages_.find(std::string(uid));
  if (known == ages_.end()) return;
  held_.erase(known->second);
  ages_.erase(known);
}

void HeldCommands::MarkDeleted(std::string_view uid) {
  const auto known = ages_.find(std::string(uid));
  if (known != ages_.end()) held_.at(known->second).is_deleted = true;
}

int64_t HeldCommands::NoteTried(std::string_view uid, int64_t now_ms) {
  int64_t& first_ms = held_.at(ages_.at(std::string(uid))).first_tried_ms;
  if (first_ms == 0) first_ms = now_ms;
  return first_ms;
}

const kube::v1::Command* HeldCommands::Next(const storage::v1::QueueRecord& record, bool deletes) const {
  for (const auto& [age, held] : held_) {
    if (held.is_deleted || (!deletes && QueueAccount::IsEnded(record, held.command))) continue;
    return &held.command;
  }
  return nullptr;
}

bool HeldCommands::HaveSeveralOpen(const storage::v1::QueueRecord& record) const {
  int open = 0;
  for (const auto& [age, held] : held_) {
    if (held.is_deleted || QueueAccount::IsEnded(record, held.command)) continue;
    if (++open == 2) return true;
  }
  return false;
}

}  // namespace basalt::queuesvc
