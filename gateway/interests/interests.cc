#include "gateway/interests/interests.h"

#include <algorithm>
#include <utility>

#include "common/obs/log.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

v1::Resource ResourceOf(std::string_view watch) {
  const size_t dot = watch.find('.');
  v1::Resource resource;
  resource.set_plural(std::string(watch.substr(0, dot)));
  if (dot == std::string_view::npos) {
    resource.set_version("v1");  // The core group has no other version.
  } else {
    resource.set_group(std::string(watch.substr(dot + 1)));
  }
  return resource;
}

}  // namespace

Interests::Interests(Loop& loop, KubeAccess& kube, InterestOptions options, Notify notify)
    : loop_(loop), kube_(kube), options_(options), notify_(std::move(notify)) {}

Interests::~Interests() {
  *alive_ = false;
  for (auto& [key, entry] : entries_) loop_.Cancel(entry.timer);
}

uint64_t Interests::IdOf(Session& session) {
  for (const auto& [id, known] : sessions_) {
    if (known == &session) return id;
  }
  sessions_[next_id_] = &session;
  return next_id_++;
}

void Interests::Add(Session& session, const InterestKey& key) {
  Entry& entry = entries_[key];
  const bool first = entry.sessions.empty();
  entry.sessions.insert(IdOf(session));
  if (entry.known) notify_(session, key, entry.object);
  if (!first) return;
  const Kind& kind = KindOf(key.watch);
  if (kind.absent) return Learn(key, entry, nullptr);
  if (!kind.resource.version().empty()) WatchOrRead(key);
}

void Interests::Withdraw(Session& session, const InterestKey& key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;
  it->second.sessions.erase(IdOf(session));
  session.DropInterest(key);
  if (it->second.sessions.empty()) Drop(it);
}

void Interests::Forget(Session& session) {
  const uint64_t id = IdOf(session);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto current = it++;
    current->second.sessions.erase(id);
    if (current->second.sessions.empty()) Drop(current);
  }
  sessions_.erase(id);
}

void Interests::Stop(Entry& entry) {
  loop_.Cancel(std::exchange(entry.timer, kNoTimer));
  entry.generation = 0;
  if (entry.watch == nullptr) return;
  entry.watch.reset();
  --watches_;
}

void Interests::Drop(Entries::iterator it) {
  const std::string watch = it->first.watch;
  Stop(it->second);
  entries_.erase(it);
  const auto left = FirstOf(watch);
  if (left == entries_.end() || left->first.watch != watch) kinds_.erase(watch);
}

// ---- kinds ----

Interests::Entries::iterator Interests::FirstOf(const std::string& watch) {
  return entries_.lower_bound({.watch = watch, .ns = "", .name = ""});
}

const Interests::Kind& Interests::KindOf(const std::string& watch) {
  const auto [it, is_new] = kinds_.try_emplace(watch);
  Kind& kind = it->second;
  if (!is_new) return kind;
  kind.resource = ResourceOf(watch);
  if (kind.resource.version().empty()) Search(watch, kind);
  return kind;
}

void Interests::Search(const std::string& watch, Kind& kind) {
  kind.search.reset();
  kind.search = kube_.FindKind({.group = kind.resource.group(), .plural = kind.resource.plural()}, kind.absent,
                               [this, watch](const ServedKind& served) { OnKind(watch, served.version); });
}

void Interests::OnKind(const std::string& watch, const std::string& version) {
  Kind& kind = kinds_[watch];
  kind.resource.set_version(version);
  kind.absent = version.empty();
  if (kind.absent) {
    obs::LogWarning("a kind that replicas ask for is not served; it is looked for", {{"kind", watch}});
  } else {
    obs::LogInfo("a kind that replicas ask for is served", {{"kind", watch}, {"version", version}});
  }
  for (auto it = FirstOf(watch); it != entries_.end() && it->first.watch == watch; ++it) {
    if (kind.absent) {
      Stop(it->second);
      Learn(it->first, it->second, nullptr);
    } else {
      WatchOrRead(it->first);
    }
  }
}

void Interests::OnNotServed(const std::string& watch) {
  const auto it = kinds_.find(watch);
  if (it == kinds_.end() || it->second.absent) return;  // Another object's watch has reported that before.
  OnKind(watch, "");
  Search(watch, it->second);
}

// ---- objects ----

void Interests::WatchOrRead(const InterestKey& key) {
  Entry& entry = entries_[key];
  if (entry.watch != nullptr || watches_ >= options_.max_watches) return Read(key);
  ++watches_;
  entry.watch = kube_.Watch(
      KindOf(key.watch).resource, key.ns, key.name,
      [this, key](absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen) { OnSeen(key, std::move(seen)); });
}

void Interests::OnSeen(const InterestKey& key, absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen) {
  Entry& entry = entries_[key];
  loop_.Cancel(std::exchange(entry.timer, kNoTimer));
  if (absl::IsNotFound(seen.status())) {
    return loop_.Post([this, alive = alive_, watch = key.watch] {
      if (*alive) OnNotServed(watch);  // OnNotServed ends the watch that is calling.
    });
  }
  if (!seen.ok()) return Read(key);
  entry.generation = 0;  // A read under way can bring no newer state.
  Learn(key, entry, *std::move(seen));
}

void Interests::Read(const InterestKey& key) {
  Entry& entry = entries_[key];
  entry.generation = next_id_++;
  v1::GetRequest request;
  *request.mutable_resource() = KindOf(key.watch).resource;
  request.set_namespace_(key.ns);
  request.set_name(key.name);
  kube_.Get(std::move(request), [this, alive = alive_, key, generation = entry.generation](auto answer) {
    if (*alive) OnAnswer(key, generation, std::move(answer));
  });
}

void Interests::OnAnswer(const InterestKey& key, uint64_t generation, absl::StatusOr<v1::GetResponse> answer) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.generation != generation) return;
  Entry& entry = it->second;
  // The objects are read again one after the other, however many were read at once.
  const absl::Time now = loop_.Now();
  const absl::Duration turn = static_cast<int64_t>(entries_.size() - watches_) * options_.between_reads;
  const absl::Time at = std::min(std::max(now + options_.period, next_read_), now + options_.period + turn);
  next_read_ = at + options_.between_reads;
  entry.timer = loop_.RunAt(at, [this, alive = alive_, key] {
    if (!*alive) return;
    entries_[key].timer = kNoTimer;
    WatchOrRead(key);
  });
  if (!answer.ok()) return;
  std::shared_ptr<kube::v1::Object> object;
  if (answer->has_object()) {
    object = std::make_shared<kube::v1::Object>(std::move(*answer->mutable_object()));
    if (object->has_generic()) object->mutable_generic()->clear_json();
  } else if (answer->error().code() != 404) {
    return;  // The answer shows neither presence nor absence: ask again later.
  }
  Learn(key, entry, std::move(object));
}

void Interests::Learn(const InterestKey& key, Entry& entry, std::shared_ptr<const kube::v1::Object> object) {
  const bool changed = !entry.known || (object == nullptr) != (entry.object == nullptr) ||
                       (object && RefOf(*object).resource_version != RefOf(*entry.object).resource_version);
  if (!changed) return;
  entry.known = true;
  entry.object = std::move(object);
  for (const uint64_t id : entry.sessions) notify_(*sessions_[id], key, entry.object);
}

}  // namespace basalt::gateway
