// The reports about a job to people and Prometheus: Events and series (job spec 9.11, 13).
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

class JobReports : public ConformanceTest {
 public:
  using Chosen = std::function<bool(const gateway::v1::WriteRequest& request)>;
  void Refuse(Chosen chosen) {
    kube().SetRefuse([chosen = std::move(chosen)](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& e) {
      if (!chosen(request)) return false;
      e.set_code(403);
      e.set_reason("Forbidden");
      e.set_message("denied by policy");
      return true;
    });
  }
  void RefuseCreates(const std::string& plural) {
    Refuse([plural](const auto& request) { return request.has_create() && request.resource().plural() == plural; });
  }

  // Returns the first Event with that reason.
  std::optional<json::value> Event(std::string_view reason) {
    for (const auto& [key, body] : kube().others()) {
      if (key.starts_with("events/") && body.at("reason").as_string() == reason) return body;
    }
    return std::nullopt;
  }
};

struct EventRow {
  std::string reason;  // A suffix from `_` on distinguishes two rows of one reason.
  std::string type;
  std::string says;  // Part of the message.
  std::function<void(JobReports&)> happens;
};

class EventTest : public JobReports, public ::testing::WithParamInterface<EventRow> {};

TEST_P(EventTest, IsRecordedOnTheJob) {
  GetParam().happens(*this);
  rig().Run(absl::Minutes(1));
  const std::string reason = GetParam().reason.substr(0, GetParam().reason.find('_'));
  const std::optional<json::value> event = Event(reason);
  ASSERT_TRUE(event) << reason;
  EXPECT_EQ(FindString(*event, "type"), GetParam().type);
  EXPECT_NE(FindString(*event, "message").find(GetParam().says), std::string::npos) << ToText(*event);
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, EventTest,
    ::testing::Values(EventRow{"CommandIssued", "Normal", "AbortJob",
                               [](JobReports& test) {
                                 test.BeginRunning(MakeJob("j", 1, 2));
                                 test.Command("stop", "AbortJob");
                               }},
                      EventRow{"ExecuteAction", "Normal", "RestartJob",
                               [](JobReports& test) {
                                 test.BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
                                 test.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
                               }},
                      EventRow{"ExecuteAction_Later", "Normal", "RestartJob in 1h0m0s",
                               [](JobReports& test) {
                                 test.BeginRunning(
                                     WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob", absl::Hours(1)));
                                 test.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
                               }},
                      EventRow{"JobStatusError", "Warning", "denied by policy",
                               [](JobReports& test) {
                                 test.Refuse([](const auto& request) { return request.subresource() == "status"; });
                                 test.Begin(MakeJob("j", 1, 2));
                               }},
                      EventRow{"PluginError", "Warning", "denied by policy",
                               [](JobReports& test) {
                                 test.RefuseCreates("services");
                                 test.Begin(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
                               }},
                      EventRow{"PVCError", "Warning", "data",
                               [](JobReports& test) {
                                 kube::v1::Job job = MakeJob("j", 1, 2);
                                 job.mutable_spec()->add_volumes()->set_mount_path("/data");
                                 job.mutable_spec()->mutable_volumes(0)->set_volume_claim_name("data");
                                 test.Begin(job);
                               }},
                      EventRow{"PodGroupError", "Warning", "denied by policy",
                               [](JobReports& test) {
                                 test.kube().refuse_group = absl::UnavailableError("denied by policy");
                                 test.Begin(MakeJob("j", 1, 2));
                               }},
                      EventRow{"PodGroupPending", "Warning", "unschedulable: 2/2 tasks",
                               [](JobReports& test) {
                                 test.kube().new_group_phase = "Pending";
                                 test.Begin(MakeJob("j", 1, 2));
                                 test.kube().EditGroup(
                                     test.kube().groups().begin()->first, [&](kube::v1::PodGroup& group) {
                                       auto* condition = group.add_conditions();
                                       condition->set_type("Unschedulable");
                                       condition->set_status("True");
                                       condition->set_message("2/2 tasks in gang unschedulable");
                                       condition->set_last_transition_ms(absl::ToUnixMillis(test.rig().time().Now()));
                                     });
                               }},
                      EventRow{"FailedCreate", "Warning", "denied by policy",
                               [](JobReports& test) {
                                 test.RefuseCreates("pods");
                                 test.Begin(MakeJob("j", 1, 2));
                               }},
                      EventRow{"FailedDelete", "Warning", "denied by policy",
                               [](JobReports& test) {
                                 test.BeginRunning(MakeJob("j", 1, 2));
                                 test.Refuse([](const auto& request) {
                                   return (request.has_delete_() || request.has_delete_collection()) &&
                                          request.resource().plural() == "pods";
                                 });
                                 test.Command("stop", "AbortJob");
                               }}),
    [](const auto& row) { return row.param.reason; });

// `vcctl job view` finds the Events by this.
TEST_F(JobReports, EventsBeginWithTheNameOfTheirJobAndNameTheController) {
  RefuseCreates("pods");
  Begin(MakeJob("j", 1, 2));
  rig().Run(absl::Minutes(1));
  const std::optional<json::value> event = Event("FailedCreate");
  ASSERT_TRUE(event);
  EXPECT_TRUE(FindString(event->at("metadata"), "name").starts_with("j.")) << ToText(*event);
  EXPECT_EQ(FindString(event->at("source"), "component"), "vc-controller-manager");
  const json::value& about = event->at("involvedObject");
  EXPECT_EQ(FindString(about, "apiVersion"), "batch.volcano.sh/v1alpha1");
  EXPECT_EQ(FindString(about, "kind"), "Job");
  EXPECT_EQ(FindString(about, "name"), "j");
  EXPECT_EQ(FindString(about, "uid"), kube().job("default/j").meta().uid());
}

TEST_F(JobReports, CompletedAndFailedAreCountedTerminatedAndAbortedAreNot) {
  const auto count = [&](std::string_view which) {
    const std::string series = fmt::format("volcano_job_{}_phase_count{{queue_name=\"default\"}} ", which);
    const std::string text = rig().prometheus->Text();
    const size_t at = text.find(series);
    return at == text.npos ? 0 : std::stoi(text.substr(at + series.size()));
  };
  rig().Start();
  const auto end = [&](const std::string& name, const std::function<void(const std::string& pod)>& how) {
    kube().PutJob(MakeJob(name, 1, 1));
    rig().Run(absl::Seconds(5));
    kube().SetPodPhase("default/" + name + "-t0-0", kPodRunning);
    rig().Run(absl::Seconds(5));
    how("default/" + name + "-t0-0");
    rig().Run(absl::Minutes(1));
  };
  end("a", [&](const std::string& pod) { kube().SetPodPhase(pod, kPodSucceeded); });
  EXPECT_EQ(count("completed"), 1);
  end("b", [&](const std::string& pod) { kube().SetPodPhase(pod, kPodSucceeded); });
  EXPECT_EQ(count("completed"), 2);
  EXPECT_EQ(count("failed"), 0);
  end("c", [&](const std::string& pod) { kube().SetPodPhase(pod, kPodFailed, 1); });
  EXPECT_EQ(count("failed"), 1);
  end("d", [&](const std::string&) { kube().PutCommand("default", "d", "TerminateJob", "d"); });
  end("e", [&](const std::string&) { kube().PutCommand("default", "e", "AbortJob", "e"); });
  EXPECT_EQ(rig().PhaseOf("default/d"), kube::v1::JOB_PHASE_TERMINATED);
  EXPECT_EQ(rig().PhaseOf("default/e"), kAborted);
  EXPECT_EQ(count("completed"), 2);
  EXPECT_EQ(count("failed"), 1);
}

TEST_F(JobReports, EachPodThatIsMadeIsMeasuredAlsoOneThatIsMadeAgain) {
  const std::string name = "volcano_controller_job_to_pod_creation_latency_milliseconds";
  const auto says = [&](const std::string& line) {
    return rig().prometheus->Text().find(name + line + "\n") != std::string::npos;
  };
  BeginRunning(MakeJob("j", 1, 3));
  EXPECT_TRUE(says("_count 3")) << rig().prometheus->Text();
  EXPECT_TRUE(says("_bucket{le=\"50\"} 3")) << rig().prometheus->Text();
  rig().Run(absl::Seconds(70));
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Seconds(5));
  EXPECT_TRUE(says("_count 4"));
  EXPECT_TRUE(says("_bucket{le=\"60000\"} 3")) << rig().prometheus->Text();
}

// The creation is measured once, also if nothing confirms it and another process finds the pod under its name.
TEST_F(JobReports, APodWhoseCreationIsNotConfirmedIsMeasuredOnce) {
  const std::string line = "volcano_controller_job_to_pod_creation_latency_milliseconds_count 3\n";
  for (const absl::Duration known_after : {absl::ZeroDuration(), absl::Seconds(40)}) {
    SCOPED_TRACE(known_after);
    Fresh();
    rig().unknown_after = known_after;
    rig().fate = [](const gateway::v1::WriteRequest& request) {
      return request.has_create() && request.resource().plural() == "pods" ? Fate::kLostAnswer : Fate::kNormal;
    };
    Begin(MakeJob("j", 1, 3));
    rig().Run(absl::Minutes(1));
    EXPECT_THAT(rig().prometheus->Text(), ::testing::HasSubstr(line));
    StartAgain(/*lose_disk=*/true);
    rig().Run(absl::Minutes(1));
    EXPECT_THAT(rig().prometheus->Text(), ::testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
