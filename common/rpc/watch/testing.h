#pragma once

// What tests of a service's watch share. Used by one thread.
#include <string>
#include <vector>

#include "common/rpc/feed.h"
#include "common/rpc/members.h"

namespace basalt::rpc::testing {

// The only replica of its service.
class OneMember final : public Members {
 public:
  gateway::v1::Member self() const override {
    gateway::v1::Member member;
    member.set_replica("replica-0");
    return member;
  }
  std::vector<gateway::v1::Member> all() const override { return {self()}; }
};

// What a client reads of its watches, one after the other, as text. `Watched`: see merged_watch.h.
template <typename Watched>
class WatchReader {
 public:
  using Response = typename Watched::Response;
  using Object = typename Watched::Object;

  // Adds what is there now to `text`: "STATE name, …", without progress. False: nothing was there.
  bool TakeAll(Feed<Response>& watch, std::string& text) {
    bool any = false;
    Response response;
    while (watch.Take(&response)) {
      any = true;
      if (!response.token().empty()) token = response.token();
      if (Watched::HasObject(response)) last = Watched::ObjectOf(response);
      if (response.type() != Response::TYPE_PROGRESS) {
        text += (text.empty() ? "" : ", ") + Response::Type_Name(response.type()).substr(5);
        if (Watched::HasObject(response)) text += " " + last.object().meta().name();
      }
      response.Clear();
    }
    return any;
  }
  // The same where the members answer at once; a look that finds nothing may ask them for more.
  std::string Drain(Feed<Response>& watch) {
    std::string text;
    TakeAll(watch, text);
    while (TakeAll(watch, text)) {
    }
    return text;
  }

  std::string token;  // The newest.
  Object last;        // The newest state, or what was told of the one that is gone.
};

}  // namespace basalt::rpc::testing
