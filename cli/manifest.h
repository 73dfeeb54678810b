#pragma once

// Reads manifests as kubectl does: YAML or JSON, lists of objects, of a key that stands twice the last value. All or
// nothing: one bad document refuses the whole file, with file, document, field and rule.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::cli {

struct ObjectManifest {
  // For messages: the file, where it has several objects which of them, and its name: "jobs.yaml, document 2, job a".
  std::string source;
  std::string json;
};

struct JobManifest : ObjectManifest {
  std::string ns;  // Empty where the manifest names none.
  std::string name;
};

inline constexpr size_t kMaxManifestBytes = 3 << 20;  // What the API server accepts at most in one request.

// `text` may hold several documents, and lists of objects. INVALID_ARGUMENT: not YAML (with line and column), not an
// object, a kind other than Job of batch.volcano.sh, a missing name, or too large.
absl::StatusOr<std::vector<JobManifest>> ParseJobManifests(std::string_view file, std::string_view text);

// INVALID_ARGUMENT where one job stands twice: the second could not be submitted once the first was. `ns` is that of
// manifests that name none.
absl::Status CheckDistinct(const std::vector<JobManifest>& manifests, std::string_view ns);

// For so long a pipe is waited for that nobody has opened to write.
inline constexpr absl::Duration kPipePatience = absl::Seconds(10);

// Reads the file ("-" = standard input) and parses it. INVALID_ARGUMENT names the file that cannot be read.
absl::StatusOr<std::vector<JobManifest>> ReadJobManifests(const std::string& file,
                                                          absl::Duration patience = kPipePatience);
// Each object of the file, of whatever kind; of a list its items. INVALID_ARGUMENT names the file and what cannot be
// read of it.
absl::StatusOr<std::vector<ObjectManifest>> ReadObjects(const std::string& file,
                                                        absl::Duration patience = kPipePatience);
absl::StatusOr<std::vector<ObjectManifest>> ParseObjects(std::string_view file, std::string_view text);

// The status with the manifest's source in front of each line of its message: a refusal has a line for each rule.
absl::Status AnnotateLines(const absl::Status& status, std::string_view source);

}  // namespace basalt::cli
