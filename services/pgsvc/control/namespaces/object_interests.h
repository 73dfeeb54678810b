#pragma once

// Combines the interests of several parts of one worker: an object is requested until no part wants it any more.
// Confined to the worker's loop.
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "common/runtime/controller.h"

namespace basalt::pgsvc {

class ObjectInterests {
 public:
  // `context` outlives this object.
  explicit ObjectInterests(runtime::Context& context) : context_(context) {}

  // If another part has requested the object before, requests it anew, so that it is sent once more. All parts get it
  // then.
  void Add(std::string_view watch, std::string_view ns, std::string_view name) {
    if (++users_[{std::string(watch), std::string(ns), std::string(name)}] > 1) context_.DropInterest(watch, ns, name);
    context_.AddInterest(watch, ns, name);
  }
  void Drop(std::string_view watch, std::string_view ns, std::string_view name) {
    const auto known = users_.find({std::string(watch), std::string(ns), std::string(name)});
    if (known == users_.end() || --known->second > 0) return;
    users_.erase(known);
    context_.DropInterest(watch, ns, name);
  }

 private:
  runtime::Context& context_;
  std::map<std::tuple<std::string, std::string, std::string>, int> users_;
};

}  // namespace basalt::pgsvc
