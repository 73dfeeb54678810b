#pragma once

// The setup of tests of one job, "default/j", in a rig of its own. Its members are public for the rows of tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {

class JobTest : public ::testing::Test {
 public:
  JobRig& rig() { return *rig_; }
  JobKube& kube() { return rig_->kube(); }
  void Fresh() { rig_ = std::make_unique<JobRig>(); }

  const kube::v1::JobStatus& Status() { return kube().job("default/j").status(); }
  kube::v1::JobPhase Phase() { return rig_->PhaseOf("default/j"); }
  const JobEntry& Entry() { return *rig_->controller().Find("default/j"); }
  const kube::v1::PodGroup& Group() { return kube().groups().begin()->second; }
  std::string UidOf(const std::string& pod) { return kube().pods().at("default/" + pod).uid(); }
  std::vector<storage::v1::HistoryRecord> History() { return rig_->History("default/j"); }

  // Runs until the job's pods are made.
  void Begin(kube::v1::Job job) { rig_->Begin(std::move(job)); }
  // Runs until the pods run and everything is reported, and forgets the requests until then.
  void BeginRunning(kube::v1::Job job) {
    rig_->StartRunning(std::move(job));
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
  void StartAgain(bool lose_disk = false) { rig_->StartAgain(lose_disk); }
  void Command(const std::string& name, const std::string& action) { kube().PutCommand("default", name, action, "j"); }
  void EditSpec(const std::function<void(kube::v1::JobSpec&)>& edit) {
    kube().EditJob("default/j", [&](kube::v1::Job& job) { edit(*job.mutable_spec()); });
  }
  // Changes the size of the first task.
  void Scale(int32_t replicas) {
    EditSpec([&](kube::v1::JobSpec& spec) { spec.mutable_tasks(0)->set_replicas(replicas); });
  }
  void Scale(int32_t replicas, int32_t min_available) {
    EditSpec([&](kube::v1::JobSpec& spec) {
      spec.set_min_available(min_available);
      spec.mutable_tasks(0)->set_replicas(replicas);
    });
  }
  // Returns how many Events of the reason there are.
  int Events(std::string_view reason) {
    int events = 0;
    for (const auto& [name, body] : kube().others()) {
      events += name.starts_with("events/") && body.at("reason").as_string() == reason ? 1 : 0;
    }
    return events;
  }
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
