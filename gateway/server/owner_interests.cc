#include "gateway/server/owner_interests.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/obs/log.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using ObjectPtr = std::shared_ptr<const kube::v1::Object>;

ObjectPtr Unreadable(const InterestKey& key, std::string why) {
  auto unreadable = std::make_shared<kube::v1::Object>();
  kube::v1::GenericObject& generic = *unreadable->mutable_generic();
  generic.mutable_meta()->set_namespace_(key.ns);
  generic.mutable_meta()->set_name(key.name);
  generic.set_unreadable(std::move(why));
  return unreadable;
}

std::string_view JsonOf(const ObjectPtr& object) { return object->generic().json(); }

}  // namespace

class OwnerInterests::Kind final : public KindListener {
 public:
  Kind(OwnerInterests& owner, std::string watch, OwnerKind kind)
      : owner_(owner),
        watch_id_(std::move(watch)),
        wanted_{.group = std::move(kind.group), .version = std::move(kind.version), .kind = std::move(kind.kind)} {
    Search(/*absent=*/false);
  }
  ~Kind() override {
    *alive_ = false;
    owner_.loop_.Cancel(linger_);
  }

  void Add(Session& session, const InterestKey& key) {
    owner_.loop_.Cancel(std::exchange(linger_, kNoTimer));
    std::vector<Session*>& sessions = asked_[{key.ns, key.name}];
    if (std::find(sessions.begin(), sessions.end(), &session) == sessions.end()) sessions.push_back(&session);
    if (state_ != State::kUnknown) owner_.tell_(session, key, Told(key.ns, key.name));
  }
  void Withdraw(Session& session, const InterestKey& key) {
    const auto asked = asked_.find({key.ns, key.name});
    if (asked == asked_.end()) return;
    std::erase(asked->second, &session);
    if (asked->second.empty()) asked_.erase(asked);
  }
  void Forget(Session& session) {
    for (auto asked = asked_.begin(); asked != asked_.end();) {
      std::erase(asked->second, &session);
      asked = asked->second.empty() ? asked_.erase(asked) : std::next(asked);
    }
  }
  bool is_asked_for() const { return !asked_.empty(); }
  void Linger(std::function<void()> end) {
    if (linger_ == kNoTimer) linger_ = owner_.loop_.RunAfter(kLinger, std::move(end));
  }

 private:
  using Name = std::pair<std::string, std::string>;  // Namespace and name.
  enum class State { kUnknown, kListed, kNotServed, kForbidden };

  void Search(bool absent) {
    search_.reset();
    search_ = owner_.kube_.FindKind(wanted_, absent, [this](const ServedKind& served) { OnKind(served); });
  }

  void OnKind(const ServedKind& served) {
    if (served.version.empty()) {
      obs::LogWarning("a kind of owners of pods is not served; it is looked for", {{"kind", watch_id_}});
      return OnNotServed();
    }
    state_ = State::kUnknown;
    if (!served.is_watchable) return OnForbidden("objects of that kind cannot be listed and watched");
    is_namespaced_ = served.is_namespaced;
    v1::Resource resource;
    resource.set_group(wanted_.group);
    resource.set_version(served.version);
    resource.set_plural(served.plural);
    watch_ = owner_.kube_.WatchKind(resource, *this);
  }

  void OnReplaced(std::vector<kube::v1::Object> objects) override {
    const bool was_forbidden = !std::exchange(forbidden_, "").empty();
    const bool is_first = std::exchange(state_, State::kListed) != State::kListed || was_forbidden;
    std::map<Name, ObjectPtr> before = std::exchange(objects_, {});
    for (kube::v1::Object& object : objects) {
      Name name = NameOf(object);
      objects_[std::move(name)] = std::make_shared<const kube::v1::Object>(std::move(object));
    }
    for (const auto& [asked, sessions] : asked_) {
      const auto known = before.find(Stored(asked.first, asked.second));
      const ObjectPtr now = Told(asked.first, asked.second);
      const bool is_same = known == before.end() ? now == nullptr : now != nullptr && IsSame(known->second, now);
      if (is_first || !is_same) TellAll(asked, sessions, now);
    }
  }

  void OnState(kube::v1::Object object) override {
    const Name name = NameOf(object);
    ObjectPtr& known = objects_[name];
    if (known != nullptr && RefOf(object).resource_version <= RefOf(*known).resource_version) return;
    auto next = std::make_shared<const kube::v1::Object>(std::move(object));
    const bool is_same = known != nullptr && IsSame(known, next);
    known = std::move(next);
    if (!is_same) TellOf(name);
  }

  void OnGone(const kube::v1::Object& last) override {
    const auto known = objects_.find(NameOf(last));
    if (known == objects_.end() || RefOf(*known->second).uid != RefOf(last).uid) return;
    objects_.erase(known);
    TellOf(NameOf(last));
  }

  void OnNotServed() override {
    state_ = State::kNotServed;
    forbidden_.clear();
    objects_.clear();
    for (const auto& [asked, sessions] : asked_) TellAll(asked, sessions, nullptr);
    if (watch_ == nullptr) return;
    // The watch is calling, and must not be destroyed within its own callback.
    owner_.loop_.Post([this, alive = alive_] {
      if (!*alive) return;
      watch_.reset();
      Search(/*absent=*/true);
    });
  }

  // Objects that are known stay known: a refusal to list them does not say that they are deleted.
  void OnForbidden(const std::string& message) override {
    forbidden_ = message.empty() ? "forbidden" : message;
    if (state_ != State::kListed) state_ = State::kForbidden;
    for (const auto& [asked, sessions] : asked_) {
      if (objects_.contains(Stored(asked.first, asked.second))) continue;
      TellAll(asked, sessions, Told(asked.first, asked.second));
    }
  }

  static Name NameOf(const kube::v1::Object& object) {
    const ObjectRef ref = RefOf(object);
    return {std::string(ref.ns), std::string(ref.name)};
  }
  static bool IsSame(const ObjectPtr& a, const ObjectPtr& b) {
    return RefOf(*a).uid == RefOf(*b).uid && JsonOf(a) == JsonOf(b);
  }
  // Under what an object is kept that is asked for by that name: one of the whole cluster has no namespace.
  Name Stored(const std::string& ns, const std::string& name) const { return {is_namespaced_ ? ns : "", name}; }

  ObjectPtr Told(const std::string& ns, const std::string& name) const {
    const auto known = objects_.find(Stored(ns, name));
    if (known == objects_.end() && !forbidden_.empty()) {
      return Unreadable({.watch = watch_id_, .ns = ns, .name = name}, forbidden_);
    }
    if (known == objects_.end() || is_namespaced_) return known == objects_.end() ? nullptr : known->second;
    auto placed = std::make_shared<kube::v1::Object>(*known->second);
    placed->mutable_generic()->mutable_meta()->set_namespace_(ns);  // By which it is asked for.
    return placed;
  }

  void TellOf(const Name& stored) {
    if (is_namespaced_) {
      const auto asked = asked_.find(stored);
      if (asked != asked_.end()) TellAll(asked->first, asked->second, Told(stored.first, stored.second));
      return;
    }
    for (const auto& [asked, sessions] : asked_) {
      if (asked.second == stored.second) TellAll(asked, sessions, Told(asked.first, asked.second));
    }
  }

  void TellAll(const Name& asked, const std::vector<Session*>& sessions, const ObjectPtr& object) {
    const InterestKey key{.watch = watch_id_, .ns = asked.first, .name = asked.second};
    for (Session* const session : sessions) owner_.tell_(*session, key, object);
  }

  OwnerInterests& owner_;
  const std::string watch_id_;
  const WantedKind wanted_;
  State state_ = State::kUnknown;
  std::string forbidden_;  // Why objects that are not known are not told, in the server's words; empty: they are.
  bool is_namespaced_ = true;
  std::map<Name, ObjectPtr> objects_;
  std::map<Name, std::vector<Session*>> asked_;  // Who asks, in the order in which they began to.
  std::unique_ptr<KindSearch> search_;
  std::unique_ptr<ObjectWatch> watch_;
  TimerId linger_ = kNoTimer;  // While nobody asks.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

OwnerInterests::OwnerInterests(Loop& loop, KubeAccess& kube, Tell tell)
    : loop_(loop), kube_(kube), tell_(std::move(tell)) {}

OwnerInterests::~OwnerInterests() = default;

OwnerInterests::Kind* OwnerInterests::FindOrMake(const std::string& watch, OwnerKind kind) {
  const auto known = kinds_.find(watch);
  if (known != kinds_.end()) return known->second.get();
  if (kinds_.size() >= kMostKinds) return nullptr;
  return kinds_.emplace(watch, std::make_unique<Kind>(*this, watch, std::move(kind))).first->second.get();
}

void OwnerInterests::Add(Session& session, const InterestKey& key) {
  absl::StatusOr<OwnerKind> named = OwnerKindOf(key.watch);
  if (!named.ok()) return tell_(session, key, Unreadable(key, std::string(ToStd(named.status().message()))));
  Kind* const kind = FindOrMake(key.watch, *std::move(named));
  if (kind == nullptr) {
    return tell_(session, key, Unreadable(key, fmt::format("{} kinds of owners are watched already", kMostKinds)));
  }
  kind->Add(session, key);
}

void OwnerInterests::Withdraw(Session& session, const InterestKey& key) {
  session.DropInterest(key);
  const auto kind = kinds_.find(key.watch);
  if (kind == kinds_.end()) return;
  kind->second->Withdraw(session, key);
  LingerIfUnwanted(key.watch);
}

void OwnerInterests::Forget(Session& session) {
  for (const auto& [watch, kind] : kinds_) {
    kind->Forget(session);
    LingerIfUnwanted(watch);
  }
}

void OwnerInterests::LingerIfUnwanted(const std::string& watch) {
  Kind& kind = *kinds_.at(watch);
  if (!kind.is_asked_for()) kind.Linger([this, watch] { kinds_.erase(watch); });
}

}  // namespace basalt::gateway
