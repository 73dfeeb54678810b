#pragma once

// The API server of a run, pods apart: jobs and pod groups from memory, everything else empty. It takes merge patches
// of what it has and creations of Events, and tells its watches of them; whatever else is written is refused with 404
// and counted, for in a run nothing else is to be written.
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
  // Handles on one loop. `version`: the cluster's resourceVersion, outlives it.
  explicit ScriptedKube(std::atomic<int64_t>& version) : version_(version) {}
  absl::Status Fill(const ClusterShape& shape);  // Before it is served.

  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override;

  // On the handler's loop: jobs whose status counts all their pods as `running`, or all as pending.
  int JobsThatCount(bool running, int pods) const;

  // Any thread.
  int64_t status_writes() const { return status_writes_.load(); }
  int64_t unexpected() const { return unexpected_.load(); }
  std::string first_unexpected() const;  // On the handler's loop.

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
