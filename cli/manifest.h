#pragma once

// Reads manifests. All or nothing: one bad document refuses the whole file, with file, document, field and
// rule.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace basalt::cli {

struct JobManifest {
  std::string source;  // "job.yaml" or "job.yaml, document 2", for messages.
  std::string json;
  std::string ns;  // Empty where the manifest names none.
  std::string name;
};

inline constexpr size_t kMaxManifestBytes = 3 << 20;  // What the API server accepts at most in one request.

// `text` may hold several documents. INVALID_ARGUMENT: not YAML (with line and column), not an object, a kind other
// than Job of batch.volcano.sh, a missing name, or too large.
absl::StatusOr<std::vector<JobManifest>> ParseJobManifests(std::string_view file, std::string_view text);

// INVALID_ARGUMENT where one job stands twice: the second could not be submitted once the first was. `ns` is that of
// manifests that name none.
absl::Status CheckDistinct(const std::vector<JobManifest>& manifests, std::string_view ns);

// Reads the file ("-" = standard input) and parses it. INVALID_ARGUMENT names the file that cannot be read.
absl::StatusOr<std::vector<JobManifest>> ReadJobManifests(const std::string& file);
// The JSON of each object of the file, of whatever kind; of a List that of its items. INVALID_ARGUMENT names the file
// and what cannot be read of it.
absl::StatusOr<std::vector<std::string>> ReadObjects(const std::string& file);

// The status with the manifest's source in front of each line of its message: a refusal has a line for each rule.
absl::Status AnnotateLines(const absl::Status& status, std::string_view source);

}  // namespace basalt::cli
