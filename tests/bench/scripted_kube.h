#pragma once

// The API server of a run, except for pods. It serves jobs and pod groups from memory and every other collection empty.
// It accepts merge patches of its objects and creations of Events, and sends the changes to its watches. It refuses
// every other write with 404 and counts the refusal, because a run must not write anything else.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "common/exec/loop.h"
#include "common/http/direct_client.h"
#include "common/http/http.h"
#include "tests/bench/cluster.h"

namespace basalt::bench {

class ScriptedKube final : public http::Handler {
 public:
  // Handles requests on one loop. `version` is the cluster's resourceVersion and must outlive the handler.
  explicit ScriptedKube(std::atomic<int64_t>& version) : version_(version) {}
  // Requires: no request has been handled yet.
  absl::Status Fill(const ClusterShape& shape);

  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override;

  // Returns the number of jobs whose status counts all their pods as running, or all as pending if `running` is false.
  // Call on the handler's loop.
  int JobsThatCount(bool running, int pods) const;

  // The counters may be read on any thread.
  int64_t status_writes() const { return status_writes_.load(); }
  int64_t unexpected() const { return unexpected_.load(); }
  // Call on the handler's loop.
  std::string first_unexpected() const;

 private:
  struct Collection {
    std::map<std::string, json::value> objects;  // By namespace/name.
    std::vector<std::shared_ptr<http::ResponseWriter>> watches;
  };
  void Watch(Collection& collection, bool list, http::ResponseWriter& writer);
  void Patch(Collection& collection, const std::string& key, std::string_view body, http::ResponseWriter& writer);
  void Refuse(const http::Request& request, http::ResponseWriter& writer);

  std::atomic<int64_t>& version_;
  std::map<std::string, Collection> collections_;  // By plural.
  std::string first_unexpected_;
  std::atomic<int64_t> status_writes_ = 0;
  std::atomic<int64_t> unexpected_ = 0;
};

}  // namespace basalt::bench
