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
  std::string claim_json;  // The PersistentVolumeClaim to create; empty: it must exist already.
};

// In the order of spec.volumes. A claim that is named twice is mounted once, for its first volume: later ones are left
// out.
std::vector<JobVolume> VolumesOf(const JobView& job, const kube::v1::JobSpec& spec);

// The key in status.controlledResources that says a claim belongs to the job; its value is the claim's name.
std::string ClaimMarkerKey(const std::string& claim);

}  // namespace basalt::jobsvc
