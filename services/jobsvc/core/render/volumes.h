#pragma once

// The claims and pod volumes of a job's spec.volumes (job spec 9.9 and 10 step 4). Names follow from the job's UID and
// the volume's position (W28), so a crash between any two steps leaves no orphan. Pure.
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/plugins/job_view.h"

namespace basalt::jobsvc {

struct JobVolume {
  std::string claim;       // volumeClaimName, else <job>-pvc-<12 characters>.
  std::string pod_volume;  // <job>-<12 characters>
  std::string mount_path;
  bool generated = false;  // We chose the claim's name.
  std::string claim_json;  // The PersistentVolumeClaim to create. Empty if the claim must exist already.
};

// Returns the volumes in the order of spec.volumes. A claim that is named twice is mounted once, for its first volume.
std::vector<JobVolume> VolumesOf(const JobView& job, const kube::v1::JobSpec& spec);

// The key in status.controlledResources by which a claim belongs to the job; its value is the claim's name.
std::string ClaimMarkerKey(const std::string& claim);

}  // namespace basalt::jobsvc
