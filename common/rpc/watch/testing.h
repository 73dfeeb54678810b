#pragma once

// Shared by tests of a service's watch. Used by one thread.
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/rpc/feed.h"
#include "common/rpc/members.h"

namespace basalt::rpc::testing {

// The only replica of its service.
class OneMember final : public Members {
 public:
  explicit OneMember(const std::string& replica) { self_.set_replica(replica); }
  gateway::v1::Member self() const override { return self_; }
  std::vector<gateway::v1::Member> all() const override { return {self_}; }

 private:
  gateway::v1::Member self_;
};

// Reads a client's watches, one after the other, as text. `kHasObject` and `kObject` are the response's methods for its
// object: &WatchQueuesResponse::has_queue, &WatchQueuesResponse::queue.
template <typename Response, auto kHasObject, auto kObject>
class WatchReader {
 public:
  using Object = std::remove_cvref_t<decltype((std::declval<const Response&>().*kObject)())>;

  // Adds the messages that the watch has now to `text`: "STATE name, …", without PROGRESS. Returns false if it had
  // none.
  bool TakeAll(Feed<Response>& watch, std::string& text) {
    bool any = false;
    Response response;
    while (watch.Take(&response)) {
      any = true;
      if (!response.token().empty()) token = response.token();
      const bool has_object = (response.*kHasObject)();
      if (has_object) last = (response.*kObject)();
      if (response.type() != Response::TYPE_PROGRESS) {
        text += (text.empty() ? "" : ", ") + Response::Type_Name(response.type()).substr(5);
        if (has_object) text += " " + last.object().meta().name();
      }
      response.Clear();
    }
    return any;
  }
  // Does what TakeAll does, for members that answer at once: a Take that finds nothing may call them for more.
  std::string Drain(Feed<Response>& watch) {
    std::string text;
    TakeAll(watch, text);
    while (TakeAll(watch, text)) {
    }
    return text;
  }

  std::string token;  // The newest token.
  Object last;        // The newest state, or the object in the last deletion.
};

}  // namespace basalt::rpc::testing
