#include "kubesim/server/controllers/garbage.h"

#include <algorithm>
#include <utility>

namespace basalt::kubesim {
namespace {

constexpr int kPerTask = 200;

void DropOwners(json::value& object, const std::set<std::string>& uids) {
  json::object& metadata = MetaOf(object);
  json::value* list = metadata.if_contains("ownerReferences");
  if (list == nullptr || !list->is_array()) return;
  json::array kept;
  for (json::value& one : list->get_array()) {
    if (!uids.contains(std::string(FindString(one, "uid")))) kept.push_back(std::move(one));
  }
  if (kept.empty()) {
    metadata.erase("ownerReferences");
  } else {
    metadata["ownerReferences"] = std::move(kept);
  }
}

}  // namespace

GarbageCollector::GarbageCollector(Core& core, ObjectWriter& writer, Deleter& deleter)
    : core_(core), writer_(writer), deleter_(deleter), wakeup_(core.tasks, [this] { Run(); }) {
  core_.store.AddListener([this](const std::string& resource, const Change& change) { OnChange(resource, change); });
}

std::vector<GarbageCollector::Owner> GarbageCollector::OwnersOf(const json::value& object) {
  std::vector<Owner> owners;
  const json::value* list = FindPath(object, {"metadata", "ownerReferences"});
  if (list == nullptr || !list->is_array()) return owners;
  for (const json::value& one : list->get_array()) {
    const json::value* blocks = Find(one, "blockOwnerDeletion");
    owners.push_back({std::string(FindString(one, "apiVersion")), std::string(FindString(one, "kind")),
                      std::string(FindString(one, "uid")), std::string(FindString(one, "name")),
                      blocks != nullptr && blocks->is_bool() && blocks->get_bool()});
  }
  return owners;
}

void GarbageCollector::OnChange(const std::string& resource, const Change& change) {
  FollowTypes();
  const RevisionPtr& shown = change.after != nullptr ? change.after : change.before;
  const std::string uid(UidOf(shown->object()));
  const auto before = change.before == nullptr ? std::vector<Owner>() : OwnersOf(change.before->object());
  const auto after = change.after == nullptr ? std::vector<Owner>() : OwnersOf(change.after->object());
  const bool gone = change.after == nullptr;
  if (change.before == nullptr) by_uid_[uid] = {resource, change.key};
  if (before != after) {
    for (const Owner& owner : before) {
      const auto found = dependents_.find(owner.uid);
      if (found == dependents_.end()) continue;
      found->second.erase(uid);
      if (!found->second.empty()) continue;
      dependents_.erase(found);
      gone_.erase(owner.uid);
    }
    for (const Owner& owner : after) dependents_[owner.uid].insert(uid);
    // An owner in foreground deletion may have fewer dependents now that block it.
    for (const Owner& owner : before) {
      if (by_uid_.contains(owner.uid)) Enqueue(owner.uid);
    }
    const bool doomed = std::any_of(after.begin(), after.end(), [&](const Owner& owner) {
      return FindOwner(owner, change.key) == nullptr || notified_.contains(owner.uid);
    });
    if (doomed) Enqueue(uid);
  }
  if (gone) {
    by_uid_.erase(uid);
    notified_.erase(uid);
    undecided_.erase(uid);
    if (dependents_.contains(uid)) gone_.insert(uid);
    EnqueueDependents(uid);
    return;
  }
  if (!IsBeingDeleted(change.after->object()) || !HasAnyFinalizer(change.after->object())) return;
  if (HasFinalizer(change.after->object(), kForegroundFinalizer) ||
      HasFinalizer(change.after->object(), kOrphanFinalizer)) {
    Enqueue(uid);
  }
}

void GarbageCollector::Enqueue(const std::string& uid) {
  if (queued_.insert(uid).second) queue_.push_back(uid);
  wakeup_.Ask(core_.options.gc_delay);
}

void GarbageCollector::EnqueueDependents(const std::string& uid) {
  for (const std::string& dependent : DependentsOf(uid)) Enqueue(dependent);
}

// OnChange calls this for every change: the served kinds change with a definition, and CrdController, whose listener
// runs first, has registered them by then.
void GarbageCollector::FollowTypes() {
  if (std::exchange(types_seen_, core_.types.changes()) == core_.types.changes()) return;
  for (const std::string& uid : std::exchange(undecided_, {})) Enqueue(uid);
}

void GarbageCollector::Run() {
  for (int i = 0; i < kPerTask && !queue_.empty(); ++i) {
    const std::string uid = std::move(queue_.front());
    queue_.pop_front();
    queued_.erase(uid);
    Process(uid);
  }
  if (!queue_.empty()) wakeup_.Ask();
}

void GarbageCollector::Process(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return;
  const Location at = found->second;
  const RevisionPtr live = core_.store.Get(at.resource, at.key);
  if (live == nullptr || core_.types.Storage(at.resource) == nullptr) return;
  const json::value& object = live->object();
  if (IsBeingDeleted(object)) {
    if (HasFinalizer(object, kForegroundFinalizer)) ProcessForeground(uid, at);
    if (HasFinalizer(object, kOrphanFinalizer)) ProcessOrphaning(uid, at);
    return;
  }
  ProcessOwned(uid, at, object);
}

void GarbageCollector::ProcessForeground(const std::string& uid, const Location& at) {
  if (IsHeld(uid)) return;
  writer_
      .Mutate(*core_.types.Storage(at.resource), at.key,
              [](json::value& object) { RemoveFinalizer(object, kForegroundFinalizer); })
      .IgnoreError();
}

bool GarbageCollector::IsHeld(const std::string& uid) {
  // All dependents are enqueued once. After that the first one that blocks the owner decides. Visiting all remaining
  // dependents each time that one goes would stall the server if there are very many.
  const bool was_notified = !notified_.insert(uid).second;
  const auto dependents = dependents_.find(uid);
  if (dependents == dependents_.end()) return false;
  bool held = false;
  for (const std::string& dependent : dependents->second) {
    const auto found = by_uid_.find(dependent);
    if (found == by_uid_.end()) continue;
    const RevisionPtr live = core_.store.Get(found->second.resource, found->second.key);
    if (live == nullptr) continue;
    for (const Owner& owner : OwnersOf(live->object())) {
      if (owner.uid == uid && FindOwner(owner, found->second.key) != nullptr) held = held || owner.blocks;
    }
    if (!IsBeingDeleted(live->object())) Enqueue(dependent);
    if (held && was_notified) return true;
  }
  return held;
}

void GarbageCollector::ProcessOrphaning(const std::string& uid, const Location& at) {
  for (const std::string& dependent : DependentsOf(uid)) {
    const auto found = by_uid_.find(dependent);
    if (found == by_uid_.end()) continue;
    const Location where = found->second;
    const TypeInfoPtr type = core_.types.Storage(where.resource);
    if (type == nullptr) continue;
    writer_.Mutate(*type, where.key, [&](json::value& object) { DropOwners(object, {uid}); }).IgnoreError();
  }
  writer_
      .Mutate(*core_.types.Storage(at.resource), at.key,
              [](json::value& object) { RemoveFinalizer(object, kOrphanFinalizer); })
      .IgnoreError();
}

void GarbageCollector::ProcessOwned(const std::string& uid, const Location& at, const json::value& object) {
  std::set<std::string> dangling;
  std::set<std::string> waiting;
  bool solid = false;
  const std::vector<Owner> owners = OwnersOf(object);
  if (owners.empty()) return;
  for (const Owner& owner : owners) {
    const Location* where = FindOwner(owner, at.key);
    if (where == nullptr) {
      // Decide nothing until other kinds are served, as the real garbage collector does: it cannot map the kind to a
      // resource and tries again.
      if (IsUncertain(owner)) {
        undecided_.insert(uid);
        return;
      }
      dangling.insert(owner.uid);
      continue;
    }
    const RevisionPtr live = core_.store.Get(where->resource, where->key);
    const bool waits =
        live != nullptr && IsBeingDeleted(live->object()) && HasFinalizer(live->object(), kForegroundFinalizer);
    if (waits) {
      waiting.insert(owner.uid);
    } else {
      solid = true;
    }
  }
  const TypeInfo& type = *core_.types.Storage(at.resource);
  if (solid) {
    dangling.merge(waiting);
    if (dangling.empty()) return;
    writer_.Mutate(type, at.key, [&](json::value& next) { DropOwners(next, dangling); }).IgnoreError();
    return;
  }
  DeleteOptions options;
  options.uid = uid;
  options.propagation = "Background";
  if (!waiting.empty() && dependents_.contains(uid)) options.propagation = "Foreground";
  if (HasFinalizer(object, kForegroundFinalizer)) options.propagation = "Foreground";
  if (HasFinalizer(object, kOrphanFinalizer)) options.propagation = "Orphan";
  deleter_.DeleteOne(type, at.key, options).IgnoreError();
}

const GarbageCollector::Location* GarbageCollector::FindOwner(const Owner& owner, const ObjectKey& dependent) const {
  const auto found = by_uid_.find(owner.uid);
  if (found == by_uid_.end() || found->second.key.name != owner.name) return nullptr;
  const std::string& ns = found->second.key.ns;
  return ns.empty() || ns == dependent.ns ? &found->second : nullptr;
}

bool GarbageCollector::IsUncertain(const Owner& owner) const {
  return !by_uid_.contains(owner.uid) && !gone_.contains(owner.uid) &&
         core_.types.FindKind(owner.api_version, owner.kind) == nullptr;
}

std::vector<std::string> GarbageCollector::DependentsOf(const std::string& uid) const {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace basalt::kubesim
