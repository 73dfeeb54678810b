#pragma once

// What the tests of this folder begin with: pods of a job named j, and all that one decision about it follows from.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc::testing {

inline constexpr char kJobUid[] = "job-uid";

inline PodSet MakePodSet(std::vector<TaskShape> tasks) {
  PodSet pods;
  pods.Reset("j", kJobUid);
  pods.Reshape(std::move(tasks));
  return pods;
}

// That it says a task makes it the job's (job spec 3.2); of which one it is, its name says.
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

// A running job.
struct DecideFacts {
  explicit DecideFacts(std::vector<TaskShape> tasks) : pods(MakePodSet(tasks)) {
    job.mutable_meta()->set_name("j");
    job.mutable_status()->set_phase(kube::v1::JOB_PHASE_RUNNING);
    spec.set_max_retry(3);
    spec.set_min_available(1);
    for (const TaskShape& task : tasks) {
      auto& added = *spec.add_tasks();
      added.set_name(task.name);
      added.set_replicas(task.replicas);
    }
  }
  // Refers to these facts.
  DecideInput Input() const {
    return {.job = job,
            .spec = spec,
            .own = own,
            .pods = pods,
            .pending = pending,
            .deadlines = deadlines,
            .words = words,
            .objects = none,
            .markers = none,
            .now_ms = 1000};
  }

  kube::v1::Job job;
  kube::v1::JobSpec spec;
  ControlledState own;
  PodSet pods;
  PendingActions pending;
  DeadlineSet deadlines;
  Words words;
  std::map<std::string, std::string> none;
};

}  // namespace basalt::jobsvc::testing
