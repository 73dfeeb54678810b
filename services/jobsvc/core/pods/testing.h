#pragma once

// The setup of the tests of this folder: pods of a job named j.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/core/pods/places/place_set.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/pods/status_facts.h"

namespace basalt::jobsvc::testing {

inline constexpr char kJobUid[] = "job-uid";

inline std::vector<PodIndex> PlacesOf(const PlaceSet& set) {
  std::vector<PodIndex> places;
  for (const PodIndex& place : set) places.push_back(place);
  return places;
}

inline PodSet MakePodSet(std::vector<TaskShape> tasks) {
  PodSet pods;
  pods.Reset("j", kJobUid);
  pods.SetTasks(std::move(tasks));
  return pods;
}

// The annotation of the task makes the pod the job's (job spec 3.2). Its name determines the task.
inline kube::v1::Pod MakePod(std::string name, std::string uid, kube::v1::PodPhase phase, int32_t version = 0) {
  kube::v1::Pod pod;
  pod.set_namespace_("default");
  pod.set_name(std::move(name));
  pod.set_uid(std::move(uid));
  pod.set_owner_uid(kJobUid);
  pod.set_task("-");
  pod.set_job_version(version);
  pod.set_phase(phase);
  return pod;
}

// A status that was written for the pods of an earlier time.
struct ReportedStatus {
  void Write(PodSet& pods) {
    counts.clear_task_status_count();
    PutCounts(pods.counts(), pods.task_counts(), pods.shape().tasks(), counts);
    done.clear();
    for (size_t task = 0; task < pods.done().by_task().size(); ++task) {
      if (!pods.done().by_task()[task].empty()) done[pods.shape().tasks()[task].name] = pods.done().by_task()[task];
    }
    pods.SetReported(counts, done);
  }
  kube::v1::JobStatus counts;
  std::map<std::string, std::set<int32_t>> done;
};

}  // namespace basalt::jobsvc::testing
