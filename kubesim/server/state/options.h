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
  std::vector<json::value> crds;                         // Definitions that are served from the start.
  size_t event_log_size = 20'000;                        // Changes kept per resource. Older versions are answered 410.
  size_t max_request_bytes = 3 << 20;                    // A larger request is answered 413.
  size_t max_object_bytes = 3 << 19;                     // A larger object is refused, as etcd does.
  size_t slow_watcher_bytes = 64 << 20;                  // A watch with more unread bytes is ended.
  absl::Duration bookmark_interval = absl::Seconds(15);  // The interval of bookmarks, in watches that allow them.
  // A watch whose client states no timeout ends after this time, or after up to twice as long.
  absl::Duration min_watch_timeout = absl::Minutes(30);
  absl::Duration gc_delay = absl::ZeroDuration();          // The garbage collector's delay after a change.
  size_t collection_slice = 100;                           // Objects in one slice of the deletion of a collection.
  absl::Duration collection_pause = absl::ZeroDuration();  // The pause between two such slices.
  bool managed_fields = true;                              // Keep metadata.managedFields.
  size_t request_log_size = 200'000;                       // The oldest entries are dropped first.
  bool log_bodies = true;
};

}  // namespace basalt::kubesim
