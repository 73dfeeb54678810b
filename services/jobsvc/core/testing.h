#pragma once

// The setup of the tests of this folder: a job named j, and everything that one decision about the job follows from.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc::testing {

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
  // The result refers to these facts.
  DecideInput Input() const {
    return {.job = job,
            .spec = spec,
            .persisted = persisted,
            .pods = pods,
            .pending = pending,
            .deadlines = deadlines,
            .words = words,
            .objects = objects,
            .wanted_objects = wanted_objects,
            .markers = none,
            .unreported_answered = unreported_answered,
            .now_ms = 1000,
            .draw_nonce = [] { return std::string("00000001"); }};
  }

  kube::v1::Job job;
  kube::v1::JobSpec spec;
  ControlledState persisted;
  PodSet pods;
  PendingActions pending;
  DeadlineSet deadlines;
  StatusMessage words;
  std::map<std::string, std::string> objects;
  std::map<std::string, std::string> none;
  std::vector<WantedObject> wanted_objects;
  std::vector<std::string> unreported_answered;
};

}  // namespace basalt::jobsvc::testing
