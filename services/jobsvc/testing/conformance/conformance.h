#pragma once

// The setup of the tests of this folder: one job, "default/j", in a rig of its own. Each test is named after the rows
// of the job specification that it proves (tests/rows/spec/job-controller.tsv).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {

class ConformanceTest : public ::testing::Test {
 protected:
  JobRig& rig() { return *rig_; }
  JobKube& kube() { return rig_->kube(); }
  void Fresh() { rig_ = std::make_unique<JobRig>(); }

  const kube::v1::JobStatus& Status() { return kube().job("default/j").status(); }
  kube::v1::JobPhase Phase() { return rig_->PhaseOf("default/j"); }
  const JobEntry& Entry() { return *rig_->controller().Find("default/j"); }
  const kube::v1::PodGroup& Group() { return kube().groups().begin()->second; }
  std::string UidOf(const std::string& pod) { return kube().pods().at("default/" + pod).uid(); }

  // Runs until the job's pods are made.
  void Begin(kube::v1::Job job) {
    rig_->Start();
    kube().PutJob(std::move(job));
    rig_->Run();
  }
  // Runs until the pods run and everything is reported.
  void BeginRunning(kube::v1::Job job) {
    Begin(std::move(job));
    kube().SetAllPods(kPodRunning);
    rig_->Run(absl::Seconds(20));
    ASSERT_EQ(Phase(), kRunning);
    kube().ClearLog();
  }
  void Wait(absl::Duration duration = absl::Seconds(20)) { rig_->Run(duration); }
  // Changes a pod of the first task, and waits for the consequences.
  void Pod(int index, kube::v1::PodPhase phase, int exit_code = 0) {
    const std::string& task = kube().job("default/j").spec().tasks(0).name();
    kube().SetPodPhase(fmt::format("default/j-{}-{}", task, index), phase, exit_code);
    Wait();
  }
  void StartAgain(bool lose_disk) {
    rig_->Kill();
    if (lose_disk) rig_->LoseDisk();
    rig_->Start();
  }
  void Command(const std::string& name, const std::string& action) { kube().PutCommand("default", name, action, "j"); }
  // Writes an object that is neither a job nor a pod, as somebody else.
  gateway::v1::WriteResponse Write(const std::string& plural, const std::string& name,
                                   const std::function<void(gateway::v1::WriteRequest&)>& edit) {
    gateway::v1::WriteRequest request;
    request.mutable_resource()->set_plural(plural);
    request.set_namespace_("default");
    request.set_name(name);
    edit(request);
    return kube().Write(request);
  }

 private:
  std::unique_ptr<JobRig> rig_ = std::make_unique<JobRig>();
};

inline kube::v1::Job WithPlugins(kube::v1::Job job, std::initializer_list<const char*> names) {
  for (const char* name : names) job.mutable_spec()->add_plugins()->set_name(name);
  return job;
}

}  // namespace basalt::jobsvc::testing
