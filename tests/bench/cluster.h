#pragma once

// The cluster that a run serves to the gateway: running Volcano jobs of one task each, and their pods as an API server
// writes them (4.6 KB of JSON, managedFields and status included). Every object is computed from its numbers; nothing
// is stored.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace basalt::bench {

struct ClusterShape {
  int jobs = 1000;
  int pods_per_job = 100;
  int pods() const { return jobs * pods_per_job; }
};

inline constexpr std::string_view kNamespace = "ml-team";

std::string JobName(int job);
std::string JobUid(int job);

// Returns a running job whose status counts all its pods as running.
std::string JobJson(const ClusterShape& shape, int job, int64_t resource_version);
// Returns the PodGroup that the job needs.
absl::StatusOr<std::string> PodGroupJson(const ClusterShape& shape, int job, int64_t resource_version);

// Writes pods. Not thread-safe: the writer keeps buffers.
class PodWriter {
 public:
  explicit PodWriter(ClusterShape shape);
  // Appends a line of a watch to `out`, with the newline: {"type": `type`, "object": pod number `pod`}.
  void AppendLine(std::string_view type, int pod, bool running, bool ready, int64_t resource_version, std::string& out);

 private:
  enum class Field { kName, kUid, kJob, kJobUid, kIndex, kVersion, kPhase, kReady };
  const ClusterShape shape_;
  std::vector<std::pair<std::string, Field>> parts_;  // Each is a text and the field whose value follows the text.
  std::string rest_;
};

}  // namespace basalt::bench
