#pragma once

// The part of a job's status that reports its pods and the objects made for it: written, and compared without writing,
// since most passes change nothing (job spec 1.6, 9.6, 11.1). Pure.
#include <map>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

// Tasks without counted pods are left out; the others are sorted by name.
void PutCounts(const kube::v1::PodCounts& counts, const std::vector<TaskCounts>& tasks,
               const std::vector<TaskShape>& shapes, kube::v1::JobStatus& status);
bool SameCounts(const kube::v1::PodCounts& a, const kube::v1::PodCounts& b);

// Sets these markers in controlledResources, and removes other markers of plugins.
void PutMarkers(const std::map<std::string, std::string>& markers, kube::v1::JobStatus& status);
// Returns whether the status has these markers and no other markers of plugins.
bool HasMarkers(const kube::v1::JobStatus& stored, const std::map<std::string, std::string>& markers);

}  // namespace basalt::jobsvc
