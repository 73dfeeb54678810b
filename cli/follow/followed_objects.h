#pragma once

// What a watch has told of objects, over interruptions: which there are, and which of them went unseen. Pure.
//
// A watch goes on by its newest token (WatchJobs in basalt/job/v1/job.proto). What was told after that is told again
// where it is still there; its deletion may not be told. So what is not told again before SYNCED is gone, as are the
// objects of slots that were RESET.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/kube/group_profile.h"
#include "common/kube/object_key.h"

namespace basalt::cli {

// "namespace/name", or the name where there is no namespace. Groups of one name are told apart by their profile.
template <typename Object>
std::string KeyOf(const Object& object) {
  if constexpr (requires { object.profile(); }) {
    return kube::ShownGroupKey(object.object().meta().namespace_(), object.object().meta().name(),
                               static_cast<kube::GroupProfile>(object.profile()));
  }
  return kube::ObjectKey(object.object().meta().namespace_(), object.object().meta().name());
}

// `Watched`: see cli/connect/watched.h.
template <typename Watched>
class FollowedObjects {
 public:
  using Message = typename Watched::Response;

  // The objects that are gone with this message, each as DELETED tells of it.
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
        for (auto& [key, told] : objects_) told.unsure |= slots.contains(told.slot);
        return {};
      }
      case Message::TYPE_SYNCED:
        return TakeUnsure();
      default:
        return {};
    }
  }
  // The stream has ended; another goes on by token().
  void Interrupted() {
    for (auto& [key, told] : objects_) told.unsure |= told.message > token_message_;
  }

  const std::string& token() const { return token_; }
  bool empty() const { return objects_.empty(); }

 private:
  struct Told {
    std::string uid;
    uint32_t slot = 0;
    int64_t message = 0;  // The last of it.
    bool unsure = false;  // Until it is told again.
  };

  static Message Gone(const std::string& key, const Told& told) {
    Message gone;
    gone.set_type(Message::TYPE_DELETED);
    gone.set_slot(told.slot);
    auto& meta = *Watched::ObjectOf(gone).mutable_object()->mutable_meta();
    const auto [ns, name] = kube::SplitKey(key);
    meta.set_namespace_(std::string(ns));
    meta.set_name(std::string(name));
    meta.set_uid(told.uid);
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

  std::map<std::string, Told> objects_;  // By key.
  int64_t messages_ = 0;                 // So far.
  std::string token_;
  int64_t token_message_ = 0;  // The one that brought it.
};

}  // namespace basalt::cli
