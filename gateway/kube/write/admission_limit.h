#pragma once

// Limits the requests that wait for the API server, in number and in bytes: of all senders together, and of each
// sender, so that one that floods leaves capacity for the others. Not thread-safe.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace basalt::gateway {

struct AdmissionLimits {
  size_t max_requests = 100'000;
  size_t max_bytes = 128 << 20;
  double share = 0.5;  // The part of both limits that one sender may have.
};

class AdmissionLimit {
 public:
  explicit AdmissionLimit(AdmissionLimits options = {}) : options_(options) {}

  // RESOURCE_EXHAUSTED names the limit that is reached, and for whom. A request alone is always admitted.
  absl::Status Take(std::string_view sender, size_t bytes);
  // Requires: a Take of the same size.
  void Give(std::string_view sender, size_t bytes);

  size_t requests() const { return all_.requests; }
  size_t bytes() const { return all_.bytes; }

 private:
  struct Held {
    size_t requests = 0;
    size_t bytes = 0;
  };
  absl::Status Check(const Held& held, size_t bytes, double part, std::string_view whose) const;

  const AdmissionLimits options_;
  Held all_;
  std::map<std::string, Held, std::less<>> senders_;
};

}  // namespace basalt::gateway
