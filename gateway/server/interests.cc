#include "gateway/server/interests.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {

std::optional<v1::Resource> ResourceOf(std::string_view watch) {
  static const std::map<std::string_view, std::string_view> kVersions = {
      {"", "v1"},
      {"apps", "v1"},
      {"batch", "v1"},
      {"autoscaling", "v2"},
      {"networking.k8s.io", "v1"},
      {"storage.k8s.io", "v1"},
      {"scheduling.k8s.io", "v1"},
      {"policy", "v1"},
      {"batch.volcano.sh", "v1alpha1"},
      {"bus.volcano.sh", "v1alpha1"},
      {"scheduling.volcano.sh", "v1beta1"},
      {"flow.volcano.sh", "v1alpha1"},
      {"kubeflow.org", "v1"},
      {"ray.io", "v1"},
      {"sparkoperator.k8s.io", "v1beta2"},
      {"argoproj.io", "v1alpha1"},
      {"leaderworkerset.x-k8s.io", "v1"},
      {"jobset.x-k8s.io", "v1alpha2"},
  };
  const size_t dot = watch.find('.');
  const std::string_view plural = watch.substr(0, dot);
  const std::string_view group = dot == std::string_view::npos ? std::string_view() : watch.substr(dot + 1);
  const auto it = kVersions.find(group);
  if (plural.empty() || it == kVersions.end()) return std::nullopt;
  v1::Resource resource;
  resource.set_group(std::string(group));
  resource.set_version(std::string(it->second));
  resource.set_plural(std::string(plural));
  return resource;
}

Interests::Interests(Loop& loop, KubeAccess& kube, InterestOptions options, Tell tell)
    : loop_(loop), kube_(kube), options_(options), tell_(std::move(tell)) {}

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

absl::Status Interests::Add(Session& session, const InterestKey& key) {
  const std::optional<v1::Resource> resource = ResourceOf(key.watch);
  if (!resource.has_value()) {
    return Invalid(fmt::format("interest in '{}' of '{}': no API version is known for that group", key.watch,
                               kube::ObjectKey(key.ns, key.name)));
  }
  Entry& entry = entries_[key];
  const bool first = entry.sessions.empty();
  entry.resource = *resource;
  entry.sessions.insert(IdOf(session));
  if (entry.known) tell_(session, key, entry.object);
  if (first) WatchOrRead(key);
  return absl::OkStatus();
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

void Interests::Drop(std::map<InterestKey, Entry>::iterator it) {
  loop_.Cancel(it->second.timer);
  if (it->second.watch != nullptr) --watches_;
  entries_.erase(it);
}

void Interests::WatchOrRead(const InterestKey& key) {
  Entry& entry = entries_[key];
  if (entry.watch != nullptr || watches_ >= options_.max_watches) return Read(key);
  ++watches_;
  entry.watch = kube_.Watch(
      entry.resource, key.ns, key.name,
      [this, key](absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen) { OnSeen(key, std::move(seen)); });
}

void Interests::OnSeen(const InterestKey& key, absl::StatusOr<std::shared_ptr<const kube::v1::Object>> seen) {
  Entry& entry = entries_[key];
  loop_.Cancel(std::exchange(entry.timer, kNoTimer));
  if (!seen.ok()) return Read(key);
  entry.generation = 0;  // What a read may still bring is no newer.
  Learn(key, entry, *std::move(seen));
}

void Interests::Read(const InterestKey& key) {
  Entry& entry = entries_[key];
  entry.generation = next_id_++;
  v1::GetRequest request;
  *request.mutable_resource() = entry.resource;
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
  // One after the other, however many were read at once.
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
    return;  // Neither there nor not there: ask again later.
  }
  Learn(key, entry, std::move(object));
}

void Interests::Learn(const InterestKey& key, Entry& entry, std::shared_ptr<const kube::v1::Object> object) {
  const bool changed = !entry.known || (object == nullptr) != (entry.object == nullptr) ||
                       (object && RefOf(*object).resource_version != RefOf(*entry.object).resource_version);
  if (!changed) return;
  entry.known = true;
  entry.object = std::move(object);
  for (const uint64_t id : entry.sessions) tell_(*sessions_[id], key, entry.object);
}

}  // namespace basalt::gateway
