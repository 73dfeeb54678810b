#include "kubesim/actors/workloads/workload_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/http/target.h"
#include "kubesim/actors/client/text.h"

namespace basalt::actors {
namespace {

constexpr absl::Duration kChangeDelay = absl::Milliseconds(10);  // Changes within this time lead to one plan.
constexpr absl::Duration kLeastBackOff = absl::Milliseconds(200);
constexpr absl::Duration kMostBackOff = absl::Seconds(10);
// How long a created child is awaited. The watch never shows a child that has gone between two lists.
constexpr absl::Duration kLongestAwaited = absl::Minutes(5);
// How long a child is awaited whose name was taken: the object of that name may be another owner's.
constexpr absl::Duration kTakenAwaited = absl::Seconds(10);
constexpr std::string_view kNameLetters = "bcdfghjklmnpqrstvwxz2456789";

bool Says(const json::value& owner, const json::object& status) {
  const json::value* const seen = Find(owner, "status");
  return std::all_of(status.begin(), status.end(), [seen](const auto& member) {
    const json::value* const value = seen == nullptr ? nullptr : Find(*seen, member.key());
    return value == nullptr ? member.value().is_null() : *value == member.value();
  });
}

}  // namespace

WorkloadController::WorkloadController(Loop& loop, Api& api, Informer& owners, Informer& children,
                                       const WorkloadKind& kind)
    : loop_(loop), api_(api), kind_(kind) {
  owners.Listen(owner_listener_);
  children.Listen(child_listener_);
}

WorkloadController::~WorkloadController() {
  if (timer_ != kNoTimer) loop_.Cancel(timer_);
}

void WorkloadController::OnOwner(const json::value& object) {
  const std::string uid(MetaText(object, "uid"));
  Owner& owner = owners_[uid];
  // The answer to a write may have brought a newer object already.
  if (!owner.object.is_null() && VersionOf(owner.object) > VersionOf(object)) return;
  owner.object = object;
  Wake(uid, kChangeDelay);
}

void WorkloadController::OnOwnerGone(const ObjectName& gone) {
  const auto found = owners_.find(gone.uid);
  if (found == owners_.end()) return;
  found->second.object = nullptr;
  DropIfForgotten(gone.uid);
}

void WorkloadController::OnChild(const json::value& object) {
  const std::optional<Controller> controller = ControllerOf(object);
  const bool is_ours = controller && controller->kind == kind_.kind && controller->api_version == kind_.api_version;
  const std::string uid(is_ours ? controller->uid : std::string_view());
  const std::string key = fmt::format("{}/{}", MetaText(object, "namespace"), MetaText(object, "name"));
  if (const auto before = owner_uid_.find(key); before != owner_uid_.end() && before->second != uid) {
    Part(std::string(before->second), key);
  }
  if (!is_ours) return;
  Owner& owner = owners_[uid];
  Child child = kind_.child_of(object);
  owner.awaited.erase(key);
  owner_uid_[key] = uid;
  if (owner.deleted.count(child.uid) != 0) child.is_deleting = true;
  Child& known = owner.children[key];
  if (known.uid != child.uid || known.version <= child.version) known = std::move(child);
  Wake(uid, kChangeDelay);
}

void WorkloadController::OnChildGone(const ObjectName& gone) {
  const std::string key = fmt::format("{}/{}", gone.space, gone.name);
  const auto found = owner_uid_.find(key);
  if (found != owner_uid_.end()) Part(std::string(found->second), key);
}

void WorkloadController::Part(const std::string& uid, const std::string& key) {
  owner_uid_.erase(key);
  const auto found = owners_.find(uid);
  if (found == owners_.end()) return;
  Owner& owner = found->second;
  if (const auto child = owner.children.find(key); child != owner.children.end()) {
    owner.deleted.erase(child->second.uid);
    owner.children.erase(child);
  }
  owner.awaited.erase(key);
  if (owner.requests > 0) owner.ended.insert(key);
  Wake(uid, kChangeDelay);
  DropIfForgotten(uid);
}

void WorkloadController::DropIfForgotten(const std::string& uid) {
  const auto found = owners_.find(uid);
  if (found == owners_.end() || !found->second.object.is_null()) return;
  if (found->second.children.empty() && found->second.requests == 0) owners_.erase(found);
}

void WorkloadController::WakeAll() {
  for (const auto& [uid, owner] : owners_) Wake(uid, kChangeDelay);
}

void WorkloadController::Wake(const std::string& uid, absl::Duration delay) {
  const absl::Time when = loop_.Now() + delay;
  absl::Time& due = due_.try_emplace(uid, when).first->second;
  due = std::min(due, when);
  Arm(due);
}

void WorkloadController::Arm(absl::Time when) {
  if (timer_ != kNoTimer) {
    if (timer_at_ <= when) return;
    loop_.Cancel(timer_);
  }
  timer_at_ = when;
  timer_ = loop_.RunAt(when, [this] {
    timer_ = kNoTimer;
    RunDue();
  });
}

void WorkloadController::RunDue() {
  std::vector<std::string> now;
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [uid, time] : due_) {
    if (time <= loop_.Now()) {
      now.push_back(uid);
    } else {
      next = std::min(next, time);
    }
  }
  for (const std::string& uid : now) due_.erase(uid);
  if (next != absl::InfiniteFuture()) Arm(next);
  for (const std::string& uid : now) Converge(uid);
}

void WorkloadController::Converge(const std::string& uid) {
  if (!owner_listener_.is_synced() || !child_listener_.is_synced()) return;  // OnSynced() wakes all owners.
  const auto found = owners_.find(uid);
  if (found == owners_.end()) return;
  Owner& owner = found->second;
  if (owner.object.is_null() || owner.requests > 0 || !MetaText(owner.object, "deletionTimestamp").empty()) return;
  if (!owner.awaited.empty() && owner.awaited_until > loop_.Now()) return Wake(uid, owner.awaited_until - loop_.Now());
  owner.awaited.clear();
  owner.ended.clear();
  std::vector<Child> children;
  for (const auto& [key, child] : owner.children) {
    // A child in another namespace is no child: the garbage collector deletes it.
    if (child.ns == MetaText(owner.object, "namespace")) children.push_back(child);
  }
  Plan plan = kind_.plan(owner.object, children, loop_.Now());
  for (json::object& child : plan.create) Create(uid, std::move(child));
  for (const auto& [name, patch] : plan.change) Change(uid, name, patch);
  for (const std::string& name : plan.remove) Remove(uid, KeyOf(owner, name));
  if (!Says(owner.object, plan.status)) WriteStatus(uid, plan.status);
}

std::string WorkloadController::KeyOf(const Owner& owner, std::string_view child) {
  return fmt::format("{}/{}", MetaText(owner.object, "namespace"), child);
}

std::string WorkloadController::ChildTarget(const Owner& owner, std::string_view name) const {
  std::string target = fmt::format("{}/namespaces/{}/{}", kind_.child_base,
                                   http::Escape(MetaText(owner.object, "namespace")), kind_.child_plural);
  if (!name.empty()) target += "/" + http::Escape(name);
  return target;
}

void WorkloadController::Send(const std::string& uid, ApiRequest request,
                              std::function<void(Owner&, const ApiAnswer&)> done) {
  ++owners_.at(uid).requests;
  api_.Do(std::move(request), [this, uid, done = std::move(done)](const ApiAnswer& answer) {
    Owner& owner = owners_.at(uid);
    --owner.requests;
    if (!answer.ok()) owner.has_failed = true;
    done(owner, answer);
    if (owner.requests == 0) {
      owner.failures = std::exchange(owner.has_failed, false) ? std::min(owner.failures + 1, 10) : 0;
      const absl::Duration back_off = kLeastBackOff * (1 << std::max(0, owner.failures - 1));
      Wake(uid, owner.failures == 0 ? kChangeDelay : std::min(back_off, kMostBackOff));
    }
    DropIfForgotten(uid);
  });
}

// A child gets its name before the request is sent, so that a repeated request makes no second child.
void WorkloadController::Create(const std::string& uid, json::object child) {
  json::object& metadata = ObjectIn(child, "metadata");
  if (!metadata.contains("name")) {
    std::string name(FindString(metadata, "generateName"));
    for (int i = 0; i < 5; ++i) name += kNameLetters[api_.random().Uniform(kNameLetters.size())];
    metadata["name"] = Text(name);
  }
  const std::string key = KeyOf(owners_.at(uid), FindString(metadata, "name"));
  Send(uid, {"POST", ChildTarget(owners_.at(uid), ""), json::serialize(child)},
       [this, key](Owner& owner, const ApiAnswer& answer) {
         const bool is_taken = answer.status == 409;
         if (!answer.ok() && !is_taken) return;
         if (owner.children.count(key) != 0 || owner.ended.count(key) != 0) return;
         owner.awaited.insert(key);
         owner.awaited_until = loop_.Now() + (is_taken ? kTakenAwaited : kLongestAwaited);
       });
}

void WorkloadController::Change(const std::string& uid, const std::string& name, const json::object& patch) {
  const std::string key = KeyOf(owners_.at(uid), name);
  Send(uid, {"PATCH", ChildTarget(owners_.at(uid), name), json::serialize(patch), kMergePatchType},
       [this, key](Owner& owner, const ApiAnswer& answer) {
         if (!answer.ok()) return;
         Child changed = kind_.child_of(answer.body);
         const auto known = owner.children.find(key);
         if (known == owner.children.end() || known->second.uid != changed.uid) return;
         if (known->second.version < changed.version) known->second = std::move(changed);
       });
}

void WorkloadController::Remove(const std::string& uid, const std::string& key) {
  Owner& owner = owners_.at(uid);
  Child& child = owner.children.at(key);
  owner.deleted.insert(child.uid);
  child.is_deleting = true;
  const json::object body{{"apiVersion", "v1"},
                          {"kind", "DeleteOptions"},
                          {"propagationPolicy", "Background"},
                          {"preconditions", json::object{{"uid", Text(child.uid)}}}};
  Send(uid, {"DELETE", ChildTarget(owner, child.name), json::serialize(body)},
       [key, child_uid = child.uid](Owner& asked, const ApiAnswer& answer) {
         if (answer.ok() || answer.status == 404) return;
         asked.deleted.erase(child_uid);
         const auto known = asked.children.find(key);
         if (known != asked.children.end() && known->second.uid == child_uid) known->second.is_deleting = false;
       });
}

void WorkloadController::WriteStatus(const std::string& uid, const json::object& status) {
  const Owner& owner = owners_.at(uid);
  const std::string target = fmt::format("/apis/{}/namespaces/{}/{}/{}/status", kind_.api_version,
                                         http::Escape(MetaText(owner.object, "namespace")), kind_.plural,
                                         http::Escape(MetaText(owner.object, "name")));
  const json::object body{{"metadata", json::object{{"uid", Text(uid)}}}, {"status", status}};
  Send(uid, {"PATCH", target, json::serialize(body), kMergePatchType}, [uid](Owner& written, const ApiAnswer& answer) {
    if (!answer.ok() || written.object.is_null() || MetaText(answer.body, "uid") != uid) return;
    if (VersionOf(answer.body) > VersionOf(written.object)) written.object = answer.body;
  });
}

}  // namespace basalt::actors
