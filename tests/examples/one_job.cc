#include "tests/examples/one_job.h"

#include <vector>

#include "cli/manifest.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::examples {

absl::StatusOr<jobsvc::Manifest> ReadOneJob(std::string_view yaml) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<cli::JobManifest> documents, cli::ParseJobManifests("example", yaml));
  if (documents.size() != 1) return Invalid("an example is one job");
  return jobsvc::ReadManifest(documents[0].json, kNamespace);
}

}  // namespace basalt::examples
