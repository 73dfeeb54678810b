#include "services/jobsvc/core/render/volumes.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "services/jobsvc/core/plugins/plugin.h"
#include "services/jobsvc/core/plugins/stable_text.h"

namespace basalt::jobsvc {
namespace {

std::string ClaimJson(const JobView& job, const std::string& name, const std::string& claim_spec) {
  json::object claim = OwnedObject(job, "v1", "PersistentVolumeClaim", name);
  absl::StatusOr<json::value> spec = ParseJson(claim_spec);
  // A text that does not parse is left to the API server, which refuses it with its own message.
  claim["spec"] = spec.ok() ? *std::move(spec) : json::value(claim_spec);
  return ToText(claim);
}

}  // namespace

std::string ClaimMarkerKey(const std::string& claim) { return fmt::format("volume-pvc-{}", claim); }

std::vector<JobVolume> VolumesOf(const JobView& job, const kube::v1::JobSpec& spec) {
  std::vector<JobVolume> volumes;
  std::set<std::string> seen;
  for (int i = 0; i < spec.volumes_size(); ++i) {
    const kube::v1::VolumeSpec& wanted = spec.volumes(i);
    JobVolume volume;
    volume.generated = wanted.volume_claim_name().empty();
    volume.claim = volume.generated
                       ? fmt::format("{}-pvc-{}", job.name, StableSuffix(fmt::format("claim/{}/{}", job.uid, i)))
                       : wanted.volume_claim_name();
    if (!seen.insert(volume.claim).second) continue;
    volume.pod_volume = fmt::format("{}-{}", job.name, StableSuffix(fmt::format("volume/{}/{}", job.uid, i)));
    volume.mount_path = wanted.mount_path();
    if (volume.generated && !wanted.volume_claim_json().empty()) {
      volume.claim_json = ClaimJson(job, volume.claim, wanted.volume_claim_json());
    }
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

}  // namespace basalt::jobsvc
