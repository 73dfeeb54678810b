#pragma once

// The API server's clock, as messages report it that took a while to arrive, run on by the local clock. Thread-safe.
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace basalt::runtime {

class ApiClock {
 public:
  // `api` was read at the server some time before `local`. The least delayed message of the last minute or so counts.
  // May be repeated.
  void Update(absl::Time api, absl::Time local) BASALT_EXCLUDES(mutex_);
  // Returns the local clock until the first Update. From then on the time never goes back, unless the API server's
  // clock was set back by more than messages may be late.
  absl::Time Now(absl::Time local) BASALT_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  bool known_ BASALT_GUARDED_BY(mutex_) = false;
  // The highest difference to the local clock that was observed in this window.
  absl::Duration current_ BASALT_GUARDED_BY(mutex_);
  // The highest difference in the window before.
  absl::Duration previous_ BASALT_GUARDED_BY(mutex_);
  absl::Time window_end_ BASALT_GUARDED_BY(mutex_);
  absl::Time last_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace basalt::runtime
