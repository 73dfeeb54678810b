#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

struct ApiServerOptions {
  std::vector<json::value> crds;                         // Served from the start.
  size_t event_log_size = 20'000;                        // Changes remembered per resource; then 410.
  size_t max_request_bytes = 3 << 20;                    // Then 413.
  size_t max_object_bytes = 3 << 19;                     // Then refused, as etcd does.
  size_t slow_watcher_bytes = 64 << 20;                  // A watch with more unread than this is ended.
  absl::Duration bookmark_interval = absl::Seconds(15);  // For watches that allow bookmarks.
  absl::Duration min_watch_timeout = absl::Minutes(30);  // Up to twice that, where the client names none.
  absl::Duration gc_delay = absl::ZeroDuration();        // From a change to the garbage collector's look at it.
  // The deletion of a collection: so many objects at a time, and a pause before the next ones.
  size_t collection_slice = 100;
  absl::Duration collection_pause = absl::ZeroDuration();
  bool managed_fields = true;         // Keep metadata.managedFields.
  size_t request_log_size = 200'000;  // Oldest entries go first.
  bool log_bodies = true;
};

}  // namespace basalt::kubesim
