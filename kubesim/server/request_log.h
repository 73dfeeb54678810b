#pragma once

// What clients asked for, as a judge in tests and benches reads it: every write (and every delete) with its outcome.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// One of the objects that the deletion of a collection took. It may be there still: then it waits for its grace or for
// finalizers.
struct DeletedObject {
  std::string name;
  std::string uid;
};

struct LoggedRequest {
  absl::Time time;
  std::string verb;
  std::string group;
  std::string resource;  // Plural.
  std::string ns;
  std::string name;  // Also of a generated name.
  std::string subresource;
  int status = 0;  // HTTP code that the client got, or would have got.
  std::string uid;
  int64_t resource_version = 0;  // After the write; 0 = none.
  std::string user_agent;
  json::value body;  // Null where it is not JSON or not kept.
  bool dry_run = false;
  bool dropped_request = false;  // A fault cut the connection before any effect.
  bool dropped_answer = false;   // It took effect; a fault lost the answer.
  // Of the deletion of a collection: by what it chose, when, and what it deleted until it ended, with or without
  // success.
  std::string label_selector;
  absl::Time chosen;
  std::vector<DeletedObject> deleted;
};

class RequestLog {
 public:
  explicit RequestLog(size_t limit) : limit_(limit) {}
  void Add(LoggedRequest request) {
    entries_.push_back(std::move(request));
    if (entries_.size() > limit_) entries_.pop_front();
  }
  void Clear() { entries_.clear(); }
  const std::deque<LoggedRequest>& entries() const { return entries_; }

 private:
  const size_t limit_;
  std::deque<LoggedRequest> entries_;
};

json::value ToJson(const LoggedRequest& request);

}  // namespace basalt::kubesim
