#include "common/runtime/objects/shared_objects.h"

#include <utility>

#include "common/runtime/objects/object_identity.h"

namespace basalt::runtime {
namespace {

std::tuple<std::string, std::string, std::string> KeyOf(std::string_view watch, std::string_view ns,
                                                        std::string_view name) {
  return {std::string(watch), std::string(ns), std::string(name)};
}

}  // namespace

void SharedObjects::NewStream() {
  for (auto& [key, entry] : entries_) entry.mentioned = false;
}

void SharedObjects::State(const gateway::v1::ObjectState& state, const Emit& emit) {
  const ObjectIdentity identity = Identify(state.object());
  Entry& entry = entries_[KeyOf(state.watch(), identity.ns, identity.name)];
  if (entry.object != nullptr) {
    const ObjectIdentity there = Identify(*entry.object);
    if (identity.uid == there.uid) entry.mentioned = true;
    if (identity.resource_version <= there.resource_version) return;
    if (identity.uid != there.uid) emit({state.watch(), entry.object, true});
  }
  entry.mentioned = true;
  entry.object = std::make_shared<kube::v1::Object>(state.object());
  emit({state.watch(), entry.object, false});
}

void SharedObjects::Tombstone(const gateway::v1::Tombstone& tombstone, const Emit& emit) {
  const ObjectIdentity identity = Identify(tombstone.last());
  const auto it = entries_.find(KeyOf(tombstone.watch(), identity.ns, identity.name));
  if (it == entries_.end()) {
    emit({tombstone.watch(), std::make_shared<kube::v1::Object>(tombstone.last()), true});
    return;
  }
  if (!identity.uid.empty() && identity.uid != Identify(*it->second.object).uid) return;
  const bool has_state = !identity.uid.empty() && !tombstone.state_dropped();
  auto last = has_state ? std::make_shared<const kube::v1::Object>(tombstone.last()) : it->second.object;
  entries_.erase(it);
  emit({tombstone.watch(), std::move(last), true});
}

void SharedObjects::Mark(const gateway::v1::Mark& mark, const Emit& emit) {
  if (mark.state() == gateway::v1::Mark::STATE_ABSENT || mark.state() == gateway::v1::Mark::STATE_FORBIDDEN) return;
  for (auto it = entries_.lower_bound(KeyOf(mark.watch(), "", ""));
       it != entries_.end() && std::get<0>(it->first) == mark.watch();) {
    if (it->second.mentioned || Identify(*it->second.object).resource_version > mark.resource_version()) {
      ++it;
      continue;
    }
    auto last = std::move(it->second.object);
    it = entries_.erase(it);
    emit({mark.watch(), std::move(last), true});
  }
}

void SharedObjects::Forget(std::string_view watch, std::string_view ns, std::string_view name) {
  entries_.erase(KeyOf(watch, ns, name));
}

std::shared_ptr<const kube::v1::Object> SharedObjects::Find(std::string_view watch, std::string_view ns,
                                                            std::string_view name) const {
  const auto it = entries_.find(KeyOf(watch, ns, name));
  return it == entries_.end() ? nullptr : it->second.object;
}

}  // namespace basalt::runtime
