#include "gateway/interests/owner_interests.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "common/base/status.h"
#include "common/base/status_macros.h"
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
    for (const TimerId timer : {linger_, drop_, read_again_}) owner_.loop_.Cancel(timer);
  }

  void Add(Session& session, const InterestKey& key) {
    owner_.loop_.Cancel(std::exchange(linger_, kNoTimer));
    const auto asked = entries_.try_emplace({key.name, key.ns}).first;
    Entry& entry = asked->second;
    unasked_.erase({std::exchange(entry.kept_until, absl::InfiniteFuture()), asked->first});
    if (entry.sessions.empty()) ++asked_;
    if (std::find(entry.sessions.begin(), entry.sessions.end(), &session) == entry.sessions.end()) {
      entry.sessions.push_back(&session);
      ++asked_by_[&session];
    }
    if (CanAnswer(entry)) return owner_.notify_(session, key, AnswerFor(*asked));
    if (state_ == State::kListed) Read(*asked);
  }
  void Withdraw(Session& session, const InterestKey& key) {
    const auto asked = entries_.find(Name(key.name, key.ns));
    if (asked != entries_.end()) Leave(*asked, session);
  }
  void Forget(Session& session) {
    for (Asked& asked : entries_) Leave(asked, session);
  }
  bool is_asked_for() const { return asked_ > 0; }
  bool IsAskedForBy(const Session& session) const { return asked_by_.contains(&session); }
  void Linger(std::function<void()> end) {
    if (linger_ == kNoTimer) linger_ = owner_.loop_.RunAfter(kLinger, std::move(end));
  }
  void Count(Kept& kept) const {
    for (const auto& [name, entry] : entries_) {
      if (entry.object == nullptr) continue;
      ++kept.objects;
      kept.bytes += entry.object->SpaceUsedLong();
    }
  }

 private:
  using Name = std::pair<std::string, std::string>;  // Name and namespace: entries of one name lie side by side.
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      const int order = std::string_view(a.first).compare(std::string_view(b.first));
      return order < 0 || (order == 0 && std::string_view(a.second) < std::string_view(b.second));
    }
  };
  struct Entry {
    std::vector<Session*> sessions;  // The sessions that request the object, in the order of their requests.
    bool is_known = false;           // Whether `object` and `version` are known.
    ObjectPtr object;                // Null if there is no such object.
    int64_t version = 0;             // The version as of which `object` holds.
    bool is_read = false;            // A read is under way or waits.
    absl::Time kept_until = absl::InfiniteFuture();  // The end of the entry if nobody requests the object.
  };
  using Entries = std::map<Name, Entry, Less>;
  using Asked = Entries::value_type;
  enum class State { kUnknown, kListed, kNotServed, kForbidden };

  // ---- the kind ----

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

  void OnNotServed() override {
    state_ = State::kNotServed;
    forbidden_.clear();
    EndReads();
    for (Asked& asked : entries_) {
      asked.second.is_known = false;
      asked.second.object = nullptr;
      SendAll(asked);
    }
    if (watch_ == nullptr) return;
    // The watch is calling, and must not be destroyed within its own callback.
    owner_.loop_.Post([this, alive = alive_] {
      if (!*alive) return;
      watch_.reset();
      Search(/*absent=*/true);
    });
  }

  // Known objects stay known: a refusal to list them does not show that they are deleted.
  void OnForbidden(const std::string& message) override {
    forbidden_ = message.empty() ? "forbidden" : message;
    if (state_ != State::kListed) state_ = State::kForbidden;
    EndReads();
    for (Asked& asked : entries_) {
      if (asked.second.object == nullptr) SendAll(asked);
    }
  }

  // ---- its objects ----

  bool Wants(std::string_view ns, std::string_view name) const override {
    if (is_namespaced_) return entries_.contains(std::pair(name, ns));
    const auto first = entries_.lower_bound(std::pair(name, std::string_view()));
    return first != entries_.end() && first->first.first == name;
  }

  void OnReplaced(std::vector<kube::v1::Object> objects, int64_t version) override {
    const bool was_forbidden = !std::exchange(forbidden_, "").empty();
    const bool is_first = std::exchange(state_, State::kListed) != State::kListed || was_forbidden;
    std::set<Name> listed;
    for (kube::v1::Object& object : objects) {
      const auto shared = std::make_shared<const kube::v1::Object>(std::move(object));
      ForEach(*shared, [&](Asked& asked) {
        listed.insert(asked.first);
        Learn(asked, shared, RefOf(*shared).resource_version, is_first);
      });
    }
    for (Asked& asked : entries_) {
      if (listed.contains(asked.first)) continue;
      if (asked.second.is_known) {
        Learn(asked, nullptr, version, is_first);
      } else {
        Read(asked);  // The list may have come by before the object was requested.
      }
    }
  }

  void OnState(kube::v1::Object object) override {
    const auto shared = std::make_shared<const kube::v1::Object>(std::move(object));
    ForEach(*shared, [&](Asked& asked) { Learn(asked, shared, RefOf(*shared).resource_version); });
  }

  void OnGone(const kube::v1::Object& last) override {
    ForEach(last, [&](Asked& asked) { Learn(asked, nullptr, RefOf(last).resource_version); });
  }

  // Calls `fn` for each entry of the object. A cluster-wide object may be requested from several namespaces.
  template <typename Fn>
  void ForEach(const kube::v1::Object& object, Fn fn) {
    const ObjectRef ref = RefOf(object);
    if (is_namespaced_) {
      const auto asked = entries_.find(std::pair(ref.name, ref.ns));
      if (asked != entries_.end()) fn(*asked);
      return;
    }
    auto asked = entries_.lower_bound(std::pair(ref.name, std::string_view()));
    for (; asked != entries_.end() && asked->first.first == ref.name; ++asked) fn(*asked);
  }

  // Takes the object's state as of a version; null if there is no such object. With `is_news`, the state is sent even
  // if it is the known one.
  void Learn(Asked& asked, ObjectPtr object, int64_t version, bool is_news = false) {
    Entry& entry = asked.second;
    const bool is_newer = !entry.is_known || version > entry.version;
    if (is_newer) {
      is_news |= !entry.is_known || !IsSame(entry.object, object);
      entry.is_known = true;
      entry.object = Placed(std::move(object), asked.first.second);
      entry.version = version;
    }
    if (is_news) SendAll(asked);
  }

  static bool IsSame(const ObjectPtr& a, const ObjectPtr& b) {
    if (a == nullptr || b == nullptr) return a == b;
    return RefOf(*a).uid == RefOf(*b).uid && JsonOf(a) == JsonOf(b);
  }

  // Returns the object in the namespace from which it is requested.
  ObjectPtr Placed(ObjectPtr object, const std::string& ns) const {
    if (object == nullptr || is_namespaced_) return object;
    auto placed = std::make_shared<kube::v1::Object>(*object);
    placed->mutable_generic()->mutable_meta()->set_namespace_(ns);
    return placed;
  }

  // ---- reads ----

  void Read(Asked& asked) {
    if (std::exchange(asked.second.is_read, true)) return;
    to_read_.push_back(asked.first);
    StartReads();
  }

  void StartReads() {
    while (!to_read_.empty() && reads_ < kMostReads && read_again_ == kNoTimer) {
      const Name name = std::move(to_read_.front());
      to_read_.pop_front();
      if (!entries_.contains(name)) continue;
      ++reads_;
      watch_->Read(is_namespaced_ ? name.second : "", name.first,
                   [this, name, round = round_](absl::StatusOr<ReadObject> read) { OnRead(name, round, read); });
    }
  }

  void OnRead(const Name& name, uint64_t round, const absl::StatusOr<ReadObject>& read) {
    if (round != round_) return;
    --reads_;
    const auto asked = entries_.find(name);
    if (asked != entries_.end()) asked->second.is_read = false;
    if (asked != entries_.end() && read.ok()) {
      Learn(*asked, read->object, read->version);
    } else if (asked != entries_.end() && !asked->second.is_known) {
      ReadAgain(*asked, read.status());
    }
    StartReads();
  }

  void ReadAgain(Asked& asked, const absl::Status& why) {
    obs::LogWarning("an owner of pods could not be read, reading it again",
                    {{"kind", watch_id_}, {"name", asked.first.first}, {"why", std::string(ToStd(why.message()))}});
    asked.second.is_read = true;
    to_read_.push_back(asked.first);
    if (read_again_ != kNoTimer) return;
    read_again_ = owner_.loop_.RunAfter(kReadAgain, [this] {
      read_again_ = kNoTimer;
      StartReads();
    });
  }

  // The next list reads those that are not known again.
  void EndReads() {
    ++round_;
    reads_ = 0;
    to_read_.clear();
    owner_.loop_.Cancel(std::exchange(read_again_, kNoTimer));
    for (auto& [name, entry] : entries_) entry.is_read = false;
  }

  // ---- requests of sessions ----

  bool CanAnswer(const Entry& entry) const {
    return state_ == State::kNotServed || !forbidden_.empty() || (state_ == State::kListed && entry.is_known);
  }
  ObjectPtr AnswerFor(const Asked& asked) const {
    if (asked.second.object != nullptr || forbidden_.empty()) return asked.second.object;
    return Unreadable(KeyOf(asked), forbidden_);
  }
  InterestKey KeyOf(const Asked& asked) const {
    return {.watch = watch_id_, .ns = asked.first.second, .name = asked.first.first};
  }
  void SendAll(const Asked& asked) {
    for (Session* const session : asked.second.sessions) owner_.notify_(*session, KeyOf(asked), AnswerFor(asked));
  }

  void Leave(Asked& asked, Session& session) {
    Entry& entry = asked.second;
    if (std::erase(entry.sessions, &session) == 0) return;
    const auto by = asked_by_.find(&session);
    if (--by->second == 0) asked_by_.erase(by);
    if (!entry.sessions.empty()) return;
    --asked_;
    entry.kept_until = owner_.loop_.Now() + kKept;
    unasked_.emplace(entry.kept_until, asked.first);
    if (drop_ == kNoTimer) drop_ = owner_.loop_.RunAt(entry.kept_until, [this] { DropUnasked(); });
  }

  void DropUnasked() {
    drop_ = kNoTimer;
    while (!unasked_.empty() && unasked_.begin()->first <= owner_.loop_.Now()) {
      entries_.erase(unasked_.begin()->second);
      unasked_.erase(unasked_.begin());
    }
    if (!unasked_.empty()) drop_ = owner_.loop_.RunAt(unasked_.begin()->first, [this] { DropUnasked(); });
  }

  OwnerInterests& owner_;
  const std::string watch_id_;
  const WantedKind wanted_;
  State state_ = State::kUnknown;
  std::string forbidden_;  // Why objects that are not known cannot be sent, in the server's text. Empty if they can.
  bool is_namespaced_ = true;
  Entries entries_;
  size_t asked_ = 0;                               // How many entries somebody requests.
  std::map<const Session*, size_t> asked_by_;      // How many entries each session requests.
  std::set<std::pair<absl::Time, Name>> unasked_;  // The other entries, by when they are dropped.
  std::deque<Name> to_read_;
  size_t reads_ = 0;           // How many reads are under way.
  uint64_t round_ = 0;         // The round of reads: answers of earlier rounds are of no use.
  TimerId linger_ = kNoTimer;  // Runs while nobody requests the kind.
  TimerId drop_ = kNoTimer;
  TimerId read_again_ = kNoTimer;
  std::unique_ptr<KindSearch> search_;
  std::unique_ptr<KindWatch> watch_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

OwnerInterests::OwnerInterests(Loop& loop, KubeAccess& kube, Notify notify)
    : loop_(loop), kube_(kube), notify_(std::move(notify)) {}

OwnerInterests::~OwnerInterests() = default;

size_t OwnerInterests::CountKindsOf(const Session& session) const {
  return static_cast<size_t>(std::count_if(
      kinds_.begin(), kinds_.end(), [&session](const auto& kind) { return kind.second->IsAskedForBy(session); }));
}

bool OwnerInterests::DropOneThatLingers() {
  const auto lingers =
      std::find_if(kinds_.begin(), kinds_.end(), [](const auto& kind) { return !kind.second->is_asked_for(); });
  if (lingers == kinds_.end()) return false;
  kinds_.erase(lingers);
  return true;
}

absl::StatusOr<OwnerInterests::Kind*> OwnerInterests::FindOrMake(const Session& session, const std::string& watch) {
  BASALT_ASSIGN_OR_RETURN(OwnerKind named, OwnerKindOf(watch));
  const auto known = kinds_.find(watch);
  if (known != kinds_.end() && known->second->IsAskedForBy(session)) return known->second.get();
  if (CountKindsOf(session) >= kMostKindsOfOne) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      fmt::format("this replica has {} kinds of owners watched, which is its share", kMostKindsOfOne));
  }
  if (known != kinds_.end()) return known->second.get();
  if (kinds_.size() >= kMostKinds && !DropOneThatLingers()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      fmt::format("{} kinds of owners are watched already", kMostKinds));
  }
  return kinds_.emplace(watch, std::make_unique<Kind>(*this, watch, std::move(named))).first->second.get();
}

OwnerInterests::Kept OwnerInterests::kept() const {
  Kept kept;
  for (const auto& [watch, kind] : kinds_) kind->Count(kept);
  return kept;
}

void OwnerInterests::Add(Session& session, const InterestKey& key) {
  const absl::StatusOr<Kind*> kind = FindOrMake(session, key.watch);
  if (!kind.ok()) return notify_(session, key, Unreadable(key, std::string(ToStd(kind.status().message()))));
  (*kind)->Add(session, key);
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
