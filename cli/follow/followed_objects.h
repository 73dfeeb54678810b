#pragma once

// The objects that a watch has published, over interruptions of the stream. Finds the objects whose deletion the watch
// has not published. Pure.
//
// A watch continues from its newest token (WatchJobs in basalt/job/v1/job.proto). Objects published after this token
// are published again if they still exist; their deletion may not be published. So an object that is not published
// again before SYNCED is gone. The same holds for the objects of slots that were RESET.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/kube/group_profile.h"
#include "common/kube/object_key.h"

namespace basalt::cli {

// Returns "namespace/name", or the name if there is no namespace. The keys of two groups of one name differ by their
// profile.
template <typename Object>
std::string KeyOf(const Object& object) {
  if constexpr (requires { object.profile(); }) {
    return kube::ShownGroupKey(object.object().meta().namespace_(), object.object().meta().name(),
                               static_cast<kube::GroupProfile>(object.profile()));
  }
  return kube::ObjectKey(object.object().meta().namespace_(), object.object().meta().name());
}

// For `Watched` see cli/connect/watched.h.
template <typename Watched>
class FollowedObjects {
 public:
  using Message = typename Watched::Response;

  // Takes a message. Returns a message of type DELETED for each object that is gone by it.
  std::vector<Message> Take(const Message& message) {
    ++messages_;
    if (!message.token().empty()) {
      token_ = message.token();
      token_message_ = messages_;
    }
    const auto& object = Watched::ObjectOf(message);
    switch (message.type()) {
      case Message::TYPE_STATE:
        objects_[KeyOf(object)] = {object.object().meta().uid(), message.slot(), messages_, false};
        return {};
      case Message::TYPE_DELETED:
        objects_.erase(KeyOf(object));
        return {message};
      case Message::TYPE_RESET: {
        const std::set<uint32_t> slots(message.slots().begin(), message.slots().end());
        for (auto& [key, followed] : objects_) followed.unsure |= slots.contains(followed.slot);
        return {};
      }
      case Message::TYPE_SYNCED:
        return TakeUnsure();
      default:
        return {};
    }
  }
  // Must be called when a stream has ended and the next one will continue from token().
  void Interrupted() {
    for (auto& [key, followed] : objects_) followed.unsure |= followed.message > token_message_;
  }

  const std::string& token() const { return token_; }
  bool empty() const { return objects_.empty(); }

 private:
  struct Followed {
    std::string uid;
    uint32_t slot = 0;
    int64_t message = 0;  // Number of the last message about the object.
    bool unsure = false;  // The object may be gone. False once it is published again.
  };

  static Message Gone(const std::string& key, const Followed& followed) {
    Message gone;
    gone.set_type(Message::TYPE_DELETED);
    gone.set_slot(followed.slot);
    auto& meta = *Watched::ObjectOf(gone).mutable_object()->mutable_meta();
    const auto [ns, name] = kube::SplitKey(key);
    meta.set_namespace_(std::string(ns));
    meta.set_name(std::string(name));
    meta.set_uid(followed.uid);
    if constexpr (requires { Watched::ObjectOf(gone).profile(); }) {
      using Profile = decltype(Watched::ObjectOf(gone).profile());
      Watched::ObjectOf(gone).set_profile(static_cast<Profile>(kube::ProfileOfShown(key)));
    }
    return gone;
  }
  std::vector<Message> TakeUnsure() {
    std::vector<Message> gone;
    for (auto object = objects_.begin(); object != objects_.end();) {
      if (!object->second.unsure) {
        ++object;
        continue;
      }
      gone.push_back(Gone(object->first, object->second));
      object = objects_.erase(object);
    }
    return gone;
  }

  std::map<std::string, Followed> objects_;  // By key.
  int64_t messages_ = 0;                     // Number of messages so far.
  std::string token_;
  int64_t token_message_ = 0;  // Number of the message that had the token.
};

}  // namespace basalt::cli
