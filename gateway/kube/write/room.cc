#include "gateway/kube/write/admission_limit.h"

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::gateway {

absl::Status AdmissionLimit::Check(const Held& held, size_t bytes, double part, std::string_view whose) const {
  const auto full = [&](std::string_view what) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      fmt::format("{} requests with {} bytes of {} wait for the API server already, the most {} there "
                                  "is room for; come again later",
                                  held.requests, held.bytes, whose, what));
  };
  if (held.requests == 0) return absl::OkStatus();
  if (static_cast<double>(held.requests) >= static_cast<double>(options_.max_requests) * part) return full("requests");
  if (static_cast<double>(held.bytes + bytes) > static_cast<double>(options_.max_bytes) * part) return full("bytes");
  return absl::OkStatus();
}

absl::Status AdmissionLimit::Take(std::string_view sender, size_t bytes) {
  BASALT_RETURN_IF_ERROR(Check(all_, bytes, 1, "all replicas"));
  auto it = senders_.find(sender);
  if (it != senders_.end()) {
    BASALT_RETURN_IF_ERROR(Check(it->second, bytes, options_.share, fmt::format("'{}'", sender)));
  } else {
    it = senders_.emplace(sender, Held()).first;
  }
  for (Held* held : {&all_, &it->second}) {
    ++held->requests;
    held->bytes += bytes;
  }
  return absl::OkStatus();
}

void AdmissionLimit::Give(std::string_view sender, size_t bytes) {
  const auto it = senders_.find(sender);
  for (Held* held : {&all_, &it->second}) {
    --held->requests;
    held->bytes -= bytes;
  }
  if (it->second.requests == 0) senders_.erase(it);
}

}  // namespace basalt::gateway
