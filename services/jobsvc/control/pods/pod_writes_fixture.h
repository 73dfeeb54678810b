#pragma once

// A job of three pods, for tests of the requests about them. At most two writes of the job are under way at once.
#include <fmt/format.h>

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/control/part_fixture.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc::testing {

class PodWritesTest : public PartTest {
 protected:
  PodWritesTest() : PartTest(TwoAtOnce()) {
    kube::v1::Job& stored = *job.job;
    stored.mutable_meta()->set_namespace_("default");
    stored.mutable_meta()->set_name("j");
    stored.mutable_spec()->set_min_available(1);
    kube::v1::TaskSpec& task = *stored.mutable_spec()->add_tasks();
    task.set_name("t");
    task.set_replicas(3);
    task.set_template_json(R"({"spec":{"containers":[{"name":"main","image":"busybox"}],"restartPolicy":"Never"}})");
    job.compiled = CompileSpec(stored, [](std::string_view) { return 0; });
    kube::v1::PodGroup& group = job.groups["j"];
    group.mutable_meta()->set_name("j");
    group.mutable_meta()->set_uid("group-uid");
    group.mutable_meta()->add_owner_references()->set_uid(kJobUid);
    Begin();
  }

  // Begins anew with a running job that has all of its three pods.
  void Begin() {
    job.ResetParts();
    job.pod_changes = {};
    job.persisted = {};
    job.record.clear_pending();
    job.record.set_uid(kJobUid);
    job.compiled->refusal = {};
    job.groups["j"].set_phase("Running");
    SetPhase(kube::v1::JOB_PHASE_RUNNING);
    host.collecting().clear();
    context.writes.clear();
    job.pods.Reset("j", kJobUid);
    job.pods.SetTasks(job.compiled->shape);
    for (int index = 0; index < 3; ++index) Observe(index);
  }
  void Observe(int index, bool is_marked = false, bool is_labelled = false) {
    kube::v1::Pod pod =
        MakePod(fmt::format("j-t-{}", index), fmt::format("uid-{}", index), kube::v1::POD_PHASE_RUNNING);
    pod.set_resource_version(5);
    pod.set_out_of_sync(is_marked);
    if (is_labelled) pod.set_job_uid_label(kJobUid);
    job.pods.Apply(pod);
  }
  void Lose(int index) { job.pods.Remove(fmt::format("j-t-{}", index), fmt::format("uid-{}", index)); }
  void Target(std::set<std::string> uids) {
    PodRules rules;
    rules.targets = std::move(uids);
    job.pods.SetRules(std::move(rules));
  }
  void Apply() { job.pod_writes.Apply(job, host); }
  void AnswerAll(const runtime::WriteOutcome& outcome) {
    std::deque<runtime::testing::ScriptedContext::PendingWrite> writes = std::exchange(context.writes, {});
    for (auto& write : writes) write.done(outcome);
  }
  // Returns the requests under way: "mark j-t-0 uid-0 at 5; delete j-t-1 uid-1; create j-t-2; ".
  std::string UnderWay() {
    std::string text;
    for (const auto& write : context.writes) {
      const gateway::v1::WriteRequest& request = write.request;
      if (request.has_patch()) {
        text += fmt::format("mark {} {} at {}; ", request.name(), request.patch().uid(),
                            request.patch().resource_version());
      } else if (request.has_delete_()) {
        text += fmt::format("delete {} {}; ", request.name(), request.delete_().uid());
      } else {
        text += request.has_create() ? fmt::format("create {}; ", request.name()) : "delete together; ";
      }
    }
    return text;
  }

 private:
  static JobControllerOptions TwoAtOnce() {
    JobControllerOptions options;
    options.max_in_flight_per_job = 2;
    return options;
  }
};

}  // namespace basalt::jobsvc::testing
