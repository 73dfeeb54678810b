// Every field of a Job's status has the value that the job specification requires (1.6).
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/kube/text.h"
#include "common/testing/proto_text.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

class JobStatusFields : public ConformanceTest {
 public:
  int64_t NowMs() { return absl::ToUnixMillis(kube().Now()); }
  std::string Resource(std::string_view key) {
    for (const auto& resource : Status().controlled_resources()) {
      if (resource.key() == key) return resource.value();
    }
    return {};
  }
  std::vector<std::string> Conditions() {
    std::vector<std::string> phases;
    for (const auto& condition : Status().conditions()) phases.emplace_back(kube::JobPhaseName(condition.phase()));
    return phases;
  }
  const kube::v1::PodCounts& Counts() { return Status().counts(); }
};

struct StatusRow {
  std::string id;
  std::function<void(JobStatusFields&)> says;
};

class StatusTest : public JobStatusFields, public ::testing::WithParamInterface<StatusRow> {};

TEST_P(StatusTest, SaysWhatIs) { GetParam().says(*this); }

void RefusePods(JobStatusFields& f) {
  f.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_create() || request.resource().plural() != "pods") return false;
    error.set_code(403);
    error.set_message("exceeded quota");
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(
    State, StatusTest,
    ::testing::Values(StatusRow{"state_phase",
                                [](JobStatusFields& f) {
                                  f.Begin(MakeJob("j", 1, 2));
                                  EXPECT_EQ(f.Phase(), kPending);
                                  f.kube().SetAllPods(kPodRunning);
                                  f.Wait();
                                  EXPECT_EQ(f.Phase(), kRunning);
                                  f.kube().SetAllPods(kPodSucceeded);
                                  f.Wait();
                                  EXPECT_EQ(f.Phase(), kCompleted);
                                }},
                      StatusRow{"state_reason",
                                [](JobStatusFields& f) {
                                  RefusePods(f);
                                  f.Begin(MakeJob("j", 1, 2));
                                  f.Wait();
                                  EXPECT_EQ(f.Status().reason(), "FailedCreate");
                                  f.kube().SetRefuse(nullptr);
                                  f.Wait(absl::Minutes(5));
                                  EXPECT_EQ(f.Status().reason(), "");
                                }},
                      StatusRow{"state_message",
                                [](JobStatusFields& f) {
                                  RefusePods(f);
                                  f.Begin(MakeJob("j", 1, 2));
                                  f.Wait();
                                  EXPECT_NE(f.Status().message().find("exceeded quota"), std::string::npos)
                                      << f.Status().message();
                                  f.kube().SetRefuse(nullptr);
                                  f.Wait(absl::Minutes(5));
                                  EXPECT_EQ(f.Status().message(), "");
                                }},
                      StatusRow{"state_lastTransitionTime",
                                [](JobStatusFields& f) {
                                  f.BeginRunning(MakeJob("j", 1, 2));
                                  const int64_t running = f.Status().last_transition_ms();
                                  EXPECT_GT(running, 0);
                                  f.Wait(absl::Minutes(1));
                                  EXPECT_EQ(f.Status().last_transition_ms(), running);
                                  const int64_t before = f.NowMs();
                                  f.Pod(0, kPodSucceeded);
                                  EXPECT_EQ(f.Phase(), kRunning);
                                  EXPECT_GE(f.Status().last_transition_ms(), before / 1000 * 1000)
                                      << "a change of counts is one, too";
                                  f.Pod(1, kPodSucceeded);
                                  const int64_t completed = f.Status().last_transition_ms();
                                  f.kube().RemovePod("default/j-t0-0");
                                  f.Wait(absl::Minutes(1));
                                  EXPECT_EQ(f.Status().last_transition_ms(), completed) << "the time of the end stays";
                                }},
                      StatusRow{"minAvailable",
                                [](JobStatusFields& f) {
                                  f.Begin(MakeJob("j", 1, 3));
                                  EXPECT_EQ(f.Status().min_available(), 3);
                                  f.kube().SetAllPods(kPodRunning);
                                  f.Wait();
                                  f.kube().EditJob("default/j", [](kube::v1::Job& job) {
                                    job.mutable_spec()->set_min_available(2);
                                  });
                                  f.Wait();
                                  EXPECT_EQ(f.Status().min_available(), 2);
                                }},
                      StatusRow{"taskStatusCount",
                                [](JobStatusFields& f) {
                                  f.BeginRunning(MakeJob("j", 2, 2));
                                  f.Pod(0, kPodSucceeded);
                                  f.kube().SetPodPhase("default/j-t1-0", kube::v1::POD_PHASE_UNKNOWN);
                                  f.Wait();
                                  const auto& tasks = f.Status().task_status_count();
                                  ASSERT_EQ(tasks.size(), 2);
                                  EXPECT_EQ(tasks[0].task(), "t0");
                                  EXPECT_EQ(basalt::testing::LineOf(tasks[0].counts()), "running: 1 succeeded: 1");
                                  EXPECT_EQ(basalt::testing::LineOf(tasks[1].counts()), "running: 1 unknown: 1");
                                }}),
    [](const auto& row) { return row.param.id; });

// Makes a row in which this happens to one of four running pods.
StatusRow CountRow(std::string id, std::function<void(JobStatusFields&)> becomes, std::string counts) {
  return {std::move(id), [becomes = std::move(becomes), counts = std::move(counts)](JobStatusFields& f) {
            f.BeginRunning(MakeJob("j", 1, 4));
            becomes(f);
            f.Wait();
            EXPECT_EQ(basalt::testing::LineOf(f.Counts()), counts);
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Counts, StatusTest,
    ::testing::Values(
        CountRow(
            "pending", [](JobStatusFields& f) { f.kube().RemovePod("default/j-t0-1"); }, "pending: 1 running: 3"),
        CountRow(
            "running", [](JobStatusFields&) {}, "running: 4"),
        CountRow(
            "succeeded", [](JobStatusFields& f) { f.Pod(2, kPodSucceeded); }, "running: 3 succeeded: 1"),
        CountRow(
            "failed", [](JobStatusFields& f) { f.Pod(2, kPodFailed, 1); }, "running: 3 failed: 1"),
        CountRow(
            "terminating",
            [](JobStatusFields& f) {
              f.kube().EditPod("default/j-t0-3", [&](kube::v1::Pod& pod) { pod.set_deletion_ms(f.NowMs()); });
            },
            "running: 3 terminating: 1"),
        CountRow(
            "unknown", [](JobStatusFields& f) { f.Pod(2, kube::v1::POD_PHASE_UNKNOWN); }, "running: 3 unknown: 1")),
    [](const auto& row) { return row.param.id; });

INSTANTIATE_TEST_SUITE_P(
    OfTheRun, StatusTest,
    ::testing::Values(StatusRow{"version",
                                [](JobStatusFields& f) {
                                  f.BeginRunning(WithPolicy(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartPod"),
                                                            "PodFailed", "RestartJob"));
                                  EXPECT_EQ(f.Status().version(), 0);
                                  f.kube().RemovePod("default/j-t0-1");
                                  f.Wait();
                                  EXPECT_EQ(f.Status().version(), 0) << "a targeted kill";
                                  f.Pod(0, kPodFailed, 1);
                                  EXPECT_EQ(f.Status().version(), 1);
                                  const json::value pod = f.kube().pod_body("default/j-t0-0");
                                  EXPECT_EQ(pod.at("metadata").at("annotations").at("volcano.sh/job-version"), "1");
                                }},
                      StatusRow{"retryCount",
                                [](JobStatusFields& f) {
                                  f.BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartPod"));
                                  EXPECT_EQ(f.Status().retry_count(), 0);
                                  for (int failure = 1; failure <= 2; ++failure) {
                                    f.Pod(0, kPodFailed, 1);
                                    EXPECT_EQ(f.Status().retry_count(), failure);
                                    f.kube().SetAllPods(kPodRunning);
                                    f.Wait();
                                  }
                                }},
                      StatusRow{"runningDuration",
                                [](JobStatusFields& f) {
                                  f.BeginRunning(MakeJob("j", 1, 2));
                                  EXPECT_EQ(f.Status().running_duration(), "");
                                  f.Wait(absl::Minutes(2));
                                  f.kube().SchedulePods();
                                  f.Command("stop", "AbortJob");
                                  f.Wait();
                                  f.kube().FinishDeletions();
                                  f.Wait();
                                  ASSERT_EQ(f.Phase(), kAborted) << "the duration lasts until the pods are gone";
                                  const absl::Duration reported =
                                      kube::ParseGoDuration(f.Status().running_duration()).value();
                                  const auto lasted = absl::Milliseconds(
                                      f.Status().last_transition_ms() - f.kube().job("default/j").meta().creation_ms());
                                  EXPECT_GE(reported, lasted);
                                  EXPECT_LT(reported, lasted + absl::Seconds(1))
                                      << "times in a status are whole seconds";
                                  f.Command("go", "ResumeJob");
                                  f.Wait();
                                  f.kube().SetAllPods(kPodRunning);
                                  f.Wait();
                                  ASSERT_EQ(f.Phase(), kRunning);
                                  EXPECT_EQ(f.Status().running_duration(), "");
                                }},
                      StatusRow{"controlledResources",
                                [](JobStatusFields& f) {
                                  kube::v1::Job job = WithPlugins(MakeJob("j", 1, 2), {"env", "svc"});
                                  job.mutable_spec()->add_volumes()->set_mount_path("/d");
                                  job.mutable_spec()->mutable_volumes(0)->set_volume_claim_name("mine");
                                  f.Begin(job);
                                  gateway::v1::WriteRequest claim;
                                  claim.mutable_resource()->set_plural("persistentvolumeclaims");
                                  claim.set_namespace_("default");
                                  claim.set_name("mine");
                                  claim.mutable_create()->set_body(R"({"metadata":{"name":"mine"}})");
                                  f.kube().Write(claim);
                                  f.Wait(absl::Minutes(1));
                                  EXPECT_EQ(f.Resource("plugin-env"), "env");
                                  EXPECT_EQ(f.Resource("plugin-svc"), "svc");
                                  EXPECT_EQ(f.Resource("volume-pvc-mine"), "mine");
                                  f.Command("stop", "AbortJob");
                                  f.Wait();
                                  EXPECT_EQ(f.Resource("plugin-svc"), "") << "what it stands for is gone";
                                  EXPECT_EQ(f.Resource("volume-pvc-mine"), "mine");
                                }},
                      StatusRow{
                          "conditions",
                          [](JobStatusFields& f) {
                            f.BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
                            EXPECT_EQ(f.Conditions(), (std::vector<std::string>{"Pending", "Running"}));
                            f.Pod(0, kPodFailed, 1);
                            EXPECT_EQ(f.Conditions(), (std::vector<std::string>{"Running", "Restarting", "Pending"}));
                            EXPECT_EQ(f.Status().conditions(2).last_transition_ms(), f.Status().last_transition_ms());
                          }}),
    [](const auto& row) { return row.param.id; });

}  // namespace
}  // namespace basalt::jobsvc::testing
