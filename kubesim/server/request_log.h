#pragma once

// The log of requests for tests and benches: every write (and every delete) with its outcome.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// An object that the deletion of a collection has deleted. The object may still exist while it waits for its grace
// period or for finalizers.
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
  std::string name;  // May be a generated name.
  std::string subresource;
  int status = 0;  // HTTP code that the client got, or would have got.
  std::string uid;
  int64_t resource_version = 0;  // The version after the write. 0 if there is none.
  std::string user_agent;
  json::value body;  // Null if the body is no JSON or is not kept.
  bool dry_run = false;
  bool dropped_request = false;  // A fault broke the connection before any effect.
  bool dropped_answer = false;   // The request took effect, and a fault lost the answer.
  std::string label_selector;    // The selector of a deletion of a collection.
  absl::Time chosen;             // When the deletion of a collection chose its objects.
  std::vector<DeletedObject>
      deleted;  // The objects that the deletion of a collection deleted, also if it failed later.
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
