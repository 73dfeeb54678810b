#include "kubesim/server/state/store.h"

#include <algorithm>

namespace basalt::kubesim {

void StampVersion(json::value& object, int64_t version) {
  object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(version);
}

const std::string& Revision::Text() const {
  if (text_.empty()) text_ = ToText(object_);
  return text_;
}

const RevisionPtr& Change::Tombstone() const {
  if (tombstone_ == nullptr && before != nullptr) {
    json::value object = before->object();
    StampVersion(object, version);
    tombstone_ = std::make_shared<Revision>(std::move(object), version);
  }
  return tombstone_;
}

const Store::Bucket* Store::FindBucket(std::string_view resource) const {
  const auto found = buckets_.find(resource);
  return found == buckets_.end() ? nullptr : &found->second;
}

RevisionPtr Store::Get(std::string_view resource, const ObjectKey& key) const {
  const Bucket* bucket = FindBucket(resource);
  if (bucket == nullptr) return nullptr;
  const auto found = bucket->objects.find(key);
  return found == bucket->objects.end() ? nullptr : found->second;
}

size_t Store::Count(std::string_view resource) const {
  const Bucket* bucket = FindBucket(resource);
  return bucket == nullptr ? 0 : bucket->objects.size();
}

bool Store::HasAnyIn(std::string_view resource, std::string_view ns) const {
  bool any = false;
  Visit(resource, ns, nullptr, [&](const ObjectKey&, const RevisionPtr&) {
    any = true;
    return false;
  });
  return any;
}

RevisionPtr Store::Put(const std::string& resource, const ObjectKey& key, json::value object) {
  Bucket& bucket = buckets_[resource];
  Change change;
  change.version = ++version_;
  change.key = key;
  StampVersion(object, change.version);
  RevisionPtr& slot = bucket.objects[key];
  change.before = std::move(slot);
  slot = std::make_shared<Revision>(std::move(object), change.version);
  change.after = slot;
  RevisionPtr result = slot;
  Append(resource, bucket, std::move(change));
  return result;
}

void Store::Reread(std::string_view resource, const std::function<void(json::value&)>& reading) {
  const auto bucket = buckets_.find(resource);
  if (bucket == buckets_.end()) return;
  for (auto& [key, revision] : bucket->second.objects) {
    json::value object = revision->object();
    reading(object);
    if (object != revision->object()) revision = std::make_shared<Revision>(std::move(object), revision->version());
  }
}

const Change& Store::Delete(const std::string& resource, const ObjectKey& key) {
  Bucket& bucket = buckets_[resource];
  const auto found = bucket.objects.find(key);
  Change change;
  change.version = ++version_;
  change.key = key;
  change.before = std::move(found->second);
  bucket.objects.erase(found);
  return Append(resource, bucket, std::move(change));
}

const Change& Store::Append(const std::string& resource, Bucket& bucket, Change change) {
  bucket.log.push_back(std::move(change));
  // The newest change always stays, because the listeners and the caller use it.
  while (bucket.log.size() > std::max<size_t>(log_limit_, 1)) {
    bucket.floor = bucket.log.front().version;
    bucket.log.pop_front();
  }
  const Change& appended = bucket.log.back();
  for (const Listener& listener : listeners_) listener(resource, appended);
  return appended;
}

void Store::Visit(std::string_view resource, std::string_view ns, const ObjectKey* after, const Visitor& visit) const {
  const Bucket* bucket = FindBucket(resource);
  if (bucket == nullptr) return;
  auto at = bucket->objects.lower_bound(ObjectKey{std::string(ns), ""});
  if (after != nullptr && at != bucket->objects.end() && !(*after < at->first))
    at = bucket->objects.upper_bound(*after);
  for (; at != bucket->objects.end(); ++at) {
    if (!ns.empty() && at->first.ns != ns) return;
    if (!visit(at->first, at->second)) return;
  }
}

bool Store::VisitAt(std::string_view resource, std::string_view ns, const ObjectKey* after, int64_t version,
                    const Visitor& visit) const {
  if (version < Floor(resource)) return false;
  const Bucket* bucket = FindBucket(resource);
  if (bucket == nullptr) return true;
  // The state at `version` of each key that has changed since. Null if there was no object.
  std::map<ObjectKey, RevisionPtr> past;
  for (auto change = bucket->log.rbegin(); change != bucket->log.rend() && change->version > version; ++change) {
    if (!ns.empty() && change->key.ns != ns) continue;
    if (after != nullptr && !(*after < change->key)) continue;
    past[change->key] = change->before;
  }
  bool more = true;
  auto old = past.begin();
  const auto show_past_before = [&](const ObjectKey* bound) {
    for (; more && old != past.end() && (bound == nullptr || old->first < *bound); ++old) {
      if (old->second != nullptr) more = visit(old->first, old->second);
    }
  };
  Visit(resource, ns, after, [&](const ObjectKey& key, const RevisionPtr& revision) {
    show_past_before(&key);
    if (!more) return false;
    if (old != past.end() && old->first == key) {
      if (old->second != nullptr) more = visit(key, old->second);
      ++old;
      return more;
    }
    more = visit(key, revision);
    return more;
  });
  show_past_before(nullptr);
  return true;
}

int64_t Store::Floor(std::string_view resource) const {
  const Bucket* bucket = FindBucket(resource);
  return bucket == nullptr ? compacted_ : std::max(compacted_, bucket->floor);
}

const Change* Store::Next(std::string_view resource, int64_t version) const {
  const Bucket* bucket = FindBucket(resource);
  if (bucket == nullptr) return nullptr;
  const auto found = std::upper_bound(bucket->log.begin(), bucket->log.end(), version,
                                      [](int64_t wanted, const Change& change) { return wanted < change.version; });
  return found == bucket->log.end() ? nullptr : &*found;
}

void Store::Compact() {
  compacted_ = version_;
  for (auto& [resource, bucket] : buckets_) {
    bucket.floor = version_;
    bucket.log.clear();
  }
}

}  // namespace basalt::kubesim
