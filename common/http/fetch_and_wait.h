#pragma once

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::http {

// Does one exchange from outside of the client's loop, and returns the whole answer. The statuses are those of
// ResponseObserver. Any thread but the loop's own.
absl::StatusOr<Response> FetchAndWait(Loop& loop, Client& client, Request request);

}  // namespace basalt::http
