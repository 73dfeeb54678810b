#pragma once

// Reads manifests as kubectl does: YAML or JSON, also lists of objects. If a key stands twice, the last value counts.
// One bad document refuses the whole file; the error names file, document, field and rule.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::cli {

struct ObjectManifest {
  // Names the object in messages by its file, its place among several objects, and its name: "jobs.yaml, document 2,
  // job a".
  std::string source;
  std::string json;
};

struct JobManifest : ObjectManifest {
  std::string ns;  // Empty if the manifest names no namespace.
  std::string name;
};

inline constexpr size_t kMaxManifestBytes = 3 << 20;  // The API server's limit for one request.

// Parses the jobs of `text`, which may have several documents, and lists of objects. INVALID_ARGUMENT if the text is
// no YAML (with line and column) or too large, or if a document is no object, has a kind other than Job of
// batch.volcano.sh, or has no name.
absl::StatusOr<std::vector<JobManifest>> ParseJobManifests(std::string_view file, std::string_view text);

// Returns INVALID_ARGUMENT if one job stands twice: the second could not be submitted once the first was. `ns` is the
// namespace of manifests that name none.
absl::Status CheckDistinct(const std::vector<JobManifest>& manifests, std::string_view ns);

// How long a reader waits for a writer to open a pipe.
inline constexpr absl::Duration kPipePatience = absl::Seconds(10);

// Reads the file ("-" = standard input) and parses it. INVALID_ARGUMENT names the file that cannot be read.
absl::StatusOr<std::vector<JobManifest>> ReadJobManifests(const std::string& file,
                                                          absl::Duration patience = kPipePatience);
// Reads each object of the file, of any kind. A list is replaced by its items. INVALID_ARGUMENT names the file and the
// part that cannot be read.
absl::StatusOr<std::vector<ObjectManifest>> ReadObjects(const std::string& file,
                                                        absl::Duration patience = kPipePatience);
absl::StatusOr<std::vector<ObjectManifest>> ParseObjects(std::string_view file, std::string_view text);

// Returns the status with the manifest's source in front of each line of its message. A refusal has a line for each
// rule.
absl::Status AnnotateLines(const absl::Status& status, std::string_view source);

}  // namespace basalt::cli
