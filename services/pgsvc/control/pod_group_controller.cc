#include "services/pgsvc/control/pod_group_controller.h"

#include <memory>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/group_profile.h"
#include "common/kube/object_key.h"
#include "common/runtime/slots/damage.h"
#include "services/pgsvc/core/form/kai_emitter.h"
#include "services/pgsvc/core/form/volcano_emitter.h"

namespace basalt::pgsvc {
namespace {

// In Volcano's form a pod that names a group stays in it (pod-grouper 11), and no earlier rules have made groups.
RuleOptions RulesOfVolcano(RuleOptions rules) {
  rules.keeps_named_groups = true;
  rules.finds_legacy_groups = false;
  return rules;
}

}  // namespace

PodGroupController::PodGroupController(runtime::Context& context, GroupingOptions options,
                                       const history::Limits& limits, obs::Metrics* metrics, RuleOptions rules)
    : context_(context),
      records_(context, limits, metrics),
      publisher_(context.random()),
      group_publisher_(records_, publisher_),
      metrics_(metrics),
      interests_(context),
      compat_groups_(context, group_publisher_, queues_, options),
      rich_groups_(context, interests_, group_publisher_, queues_, RulesOfVolcano(rules),
                   std::make_unique<VolcanoEmitter>()),
      kai_groups_(context, interests_, group_publisher_, queues_, rules, std::make_unique<KaiEmitter>(rules)),
      all_scopes_({&compat_groups_, &rich_groups_, &kai_groups_}) {}

PodGroupController::~PodGroupController() {
  if (history_timer_ != kNoTimer) context_.loop().Cancel(history_timer_);
}

GroupScopes& PodGroupController::ScopesOf(kube::GroupProfile profile) const {
  return *all_scopes_.at(static_cast<size_t>(profile) - 1);
}

GroupScopes& PodGroupController::ScopesOf(std::string_view routing_key) {
  return ScopesOf(kube::ProfileOf(routing_key));
}

absl::StatusOr<std::vector<runtime::KnownObject>> PodGroupController::OpenSlot(uint32_t slot) {
  for (GroupScopes* const scopes : all_scopes_) scopes->OpenSlot(slot);
  if (history_timer_ == kNoTimer) AgeHistoryLater();
  return LoadPublished(slot);
}

void PodGroupController::CloseSlot(uint32_t slot) {
  for (GroupScopes* const scopes : all_scopes_) scopes->CloseSlot(slot);
  records_.CloseSlot(slot);
  publisher_.Close(slot);
}

void PodGroupController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  ScopesOf(routing_key).OnState(routing_key, std::move(object));
}

void PodGroupController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  ScopesOf(routing_key).OnGone(routing_key, gone);
}

void PodGroupController::OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (object.has_queue()) return OnQueue(object.queue(), gone);
  for (GroupScopes* const scopes : all_scopes_) scopes->OnShared(watch, object, gone);
}

// Retries failed writes when the state of a queue changes: admission refuses groups of a closed queue (weakness W9).
// The counts of a queue cause no retry, since they change with every pod group of the cluster.
void PodGroupController::OnQueue(const kube::v1::Queue& queue, bool gone) {
  const QueueIndex::Change change = gone ? queues_.Erase(queue.meta().name()) : queues_.Set(queue);
  // KAI's groups do not depend on Volcano's queues.
  for (GroupScopes* const scopes :
       {static_cast<GroupScopes*>(&compat_groups_), static_cast<GroupScopes*>(&rich_groups_)}) {
    if (!change.concerned.empty()) scopes->OnQueues(change.concerned);
    if (change.has_new_state) scopes->RetryFailed();
  }
}

void PodGroupController::Act(std::string_view key) {
  publisher_.NotifyListeners();
  ScopesOf(key).Act(key);
}

std::optional<podgroup::v1::PodGroup> PodGroupController::Show(std::string_view published_key) const {
  const auto [ns, name] = kube::SplitKey(published_key);
  const kube::GroupProfile profile = kube::ProfileOfShown(published_key);
  const std::string scope =
      profile == kube::GroupProfile::kCompat ? std::string(published_key) : kube::NamespaceKey(ns, profile);
  return ScopesOf(profile).Show(scope, name);
}

void PodGroupController::ForEachShown(uint32_t slot, const runtime::VisitObject& visit) {
  for (const GroupScopes* const scopes : all_scopes_) scopes->ForEachPublished(slot, visit);
}

absl::StatusOr<std::vector<runtime::KnownObject>> PodGroupController::LoadPublished(uint32_t slot) {
  std::vector<runtime::KnownObject> known;
  kv::Damage damage;
  const auto load = [&](const std::string& key, const storage::v1::PublishedObject& record) {
    ScopesOf(kube::ProfileOfShown(key)).LoadPublished(slot, key, record, known);
  };
  BASALT_RETURN_IF_ERROR(publisher_.OpenOrBeginAnew(context_.store(), slot, context_.SlotEpoch(slot), load, damage));
  runtime::ReportDamage(damage, metrics_);
  return known;
}

void PodGroupController::AgeHistoryLater() {
  const absl::Duration interval = history::Retention::TurnInterval(compat_groups_.groups().slots().size());
  history_timer_ = context_.loop().RunAfter(interval, [this] {
    history_timer_ = kNoTimer;
    const auto& slots = compat_groups_.groups().slots();
    if (slots.empty()) return;
    records_.Age(slots, [this](uint32_t slot, std::set<std::string>& keys) {
      for (const GroupScopes* const scopes : all_scopes_) scopes->AddPublishedKeys(slot, keys);
    });
    AgeHistoryLater();
  });
}

}  // namespace basalt::pgsvc
