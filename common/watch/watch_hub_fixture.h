#pragma once

// A fixture with a hub, and a service with one worker, which publishes the objects that the test changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/watch/watch_hub.h"

namespace basalt::watch {

using kube::v1::ObjectMeta;

inline constexpr uint64_t kIncarnation = 7;

// Returns the message of an object that a service would publish.
inline WatchHub::Message MakeMessage(const std::string& key, int64_t version = 1) {
  auto meta = std::make_shared<ObjectMeta>();
  const size_t slash = key.find('/');
  meta->set_namespace_(key.substr(0, slash));
  meta->set_name(key.substr(slash + 1));
  meta->set_resource_version(version);
  return meta;
}

inline const ObjectMeta& MetaOf(const WatchEvent& event) {
  return static_cast<const ObjectMeta&>(*event.published->message);
}

inline constexpr std::string_view kNames[] = {"STATE", "DELETED", "SYNCED", "RESET", "PROGRESS", "MOVED"};

// A service with one worker: the objects of its slots, and their hub.
class WatchHubTest : public ::testing::Test {
 protected:
  using SubscriptionPtr = WatchHub::SubscriptionPtr;
  struct Object {
    int64_t revision = 0;
    int64_t version = 0;
    bool deleted = false;
  };
  struct Slot {
    std::map<std::string, Object> objects;
    int64_t newest = 0;
    int64_t forgotten = 0;  // Positions below this revision are not known.
    bool here = true;
    bool unpublished = false;
  };

  // Publishes an object, of slot 0 by default.
  void Publish(const std::string& key, int64_t version = 1, uint32_t slot = 0) {
    Put(slot, key, {++revision_, version, /*deleted=*/false});
    hub_.Publish(slot, {kIncarnation, revision_}, key, [=, this] { return Make(key, version); });
  }
  void PublishDeleted(const std::string& key, int64_t version = 1) {
    Put(0, key, {++revision_, version, /*deleted=*/true});
    hub_.PublishDeleted(0, {kIncarnation, revision_}, key, [=, this] { return Make(key, version); });
  }
  void Put(uint32_t slot, const std::string& key, const Object& object) {
    service_[slot].objects[key] = object;
    service_[slot].newest = object.revision;
  }
  // Returns a subscription that begins with nothing.
  SubscriptionPtr Subscribe(const std::string& ns = "", const std::string& name = "",
                            const std::vector<uint32_t>& slots = {0}) {
    std::map<uint32_t, WatchPosition> from;
    for (const uint32_t slot : slots) from[slot] = {};
    return *hub_.Subscribe(ns, name, from, [this] { ++notified_; });
  }
  // Returns a subscription that has its snapshot, which is empty.
  SubscriptionPtr Synced(const std::string& ns = "", const std::string& name = "") {
    auto subscription = Subscribe(ns, name);
    EXPECT_EQ(Drain(subscription), "SYNCED");
    notified_ = 0;
    return subscription;
  }
  void Fill(const SubscriptionPtr& subscription) {
    for (const std::vector<uint32_t>& slots : hub_.StartFill(subscription, 1)) {
      for (const uint32_t slot : slots) FillSlot(subscription, slot);
      hub_.FillDone(subscription);
    }
  }
  void FillSlot(const SubscriptionPtr& subscription, uint32_t slot) {
    const auto since = hub_.Since(subscription, slot);
    if (!since) return;
    const Slot& there = service_[slot];
    if (!there.here) return hub_.Refuse(subscription, slot);
    const bool reset = since->revision != 0 && since->revision < there.forgotten;
    const int64_t from = reset ? 0 : since->revision;
    WatchHub::Snapshot snapshot;
    snapshot.unpublished = there.unpublished;
    for (const auto& [key, object] : there.objects) {
      if (object.revision <= from || (object.deleted && from == 0) || !subscription->Wants(key)) continue;
      snapshot.items.push_back(
          {{kIncarnation, object.revision}, key, object.deleted, [this, key = key, version = object.version] {
             return Make(key, version);
           }});
    }
    std::sort(snapshot.items.begin(), snapshot.items.end(),
              [](const auto& a, const auto& b) { return a.position.revision < b.position.revision; });
    hub_.Fill(subscription, slot, {kIncarnation, there.newest}, reset, snapshot);
  }
  WatchHub::Message Make(const std::string& key, int64_t version) {
    ++made_;
    ++live_;
    auto message = MakeMessage(key, version);
    const google::protobuf::Message* const bare = message.get();
    return {bare, [this, message = std::move(message)](const auto*) { --live_; }};
  }
  std::optional<WatchEvent> Take(const SubscriptionPtr& subscription) {
    Fill(subscription);
    return hub_.Take(subscription);
  }
  // Takes all events that wait, and returns them as "STATE ns/name@version", joined by ", ".
  std::string Drain(const SubscriptionPtr& subscription) {
    std::string text;
    while (const auto event = Take(subscription)) {
      if (!text.empty()) text += ", ";
      text += kNames[static_cast<size_t>(event->type)];
      if (event->published != nullptr) {
        const ObjectMeta& meta = MetaOf(*event);
        text += " " + meta.namespace_() + "/" + meta.name() + "@" + std::to_string(meta.resource_version());
        position_ = event->published->position.revision;
      }
      for (const uint32_t slot : event->slots) text += " " + std::to_string(slot);
      for (const auto& [slot, position] : event->positions) position_ = position.revision;
    }
    return text;
  }

  // Takes all states that wait. Returns the newest version of each name, and the number of its states.
  std::map<std::string, std::pair<int64_t, int>> Read(const SubscriptionPtr& subscription) {
    std::map<std::string, std::pair<int64_t, int>> seen;
    while (const auto event = Take(subscription)) {
      if (event->published == nullptr) continue;
      const ObjectMeta& meta = MetaOf(*event);
      EXPECT_GT(meta.resource_version(), seen[meta.name()].first) << "never older";
      seen[meta.name()] = {meta.resource_version(), seen[meta.name()].second + 1};
    }
    return seen;
  }

  int made_ = 0;  // The number of messages that were made.
  int live_ = 0;  // The number of messages that still exist.
  std::map<uint32_t, Slot> service_;
  WatchHub hub_;
  int notified_ = 0;
  int64_t revision_ = 0;
  int64_t position_ = 0;  // The revision of the last event that Drain took.
};

}  // namespace basalt::watch
