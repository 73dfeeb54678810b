// The services for all parts of a job: which job an answer is about, and how problems are reported.
#include "services/jobsvc/control/part_host.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class PartHostTest : public PartTest {};

TEST_F(PartHostTest, AJobIsFoundByItsKeyAndItsUid) {
  EXPECT_EQ(host.Live("default/j", "job-uid"), &job);
  EXPECT_EQ(host.Live("default/j", "another"), nullptr);
  EXPECT_EQ(host.Live("default/k", "job-uid"), nullptr);
}

TEST_F(PartHostTest, AProblemLastsSinceTheStatusToldOfIt) {
  struct Case {
    const char* what;
    std::string reason;  // The reason of the status.
    absl::Duration ago;  // The age of the last transition; zero if it is not known.
    absl::Duration since;
  };
  const absl::Duration hour = absl::Hours(1);
  const Case cases[] = {
      {"the status told of it", "PVCError", hour, hour},
      {"the status told of another", "PluginError", hour, absl::ZeroDuration()},
      {"nobody knows since when", "PVCError", absl::ZeroDuration(), absl::ZeroDuration()},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    job.ResetParts();
    kube::v1::JobStatus& status = *job.job->mutable_status();
    status.set_reason(test.reason);
    status.clear_last_transition_ms();
    if (test.ago > absl::ZeroDuration()) status.set_last_transition_ms(absl::ToUnixMillis(host.Now() - test.ago));
    host.ReportProblem(job, "PVCError", "no");
    EXPECT_EQ(job.problems.SinceMs("PVCError", ""), absl::ToUnixMillis(host.Now() - test.since));
  }
}

TEST_F(PartHostTest, AProblemIsOneEventForEachCause) {
  host.ReportProblem(job, "FailedCreate", "pod a: no", {"a"});
  host.ReportProblem(job, "FailedCreate", "pod b: no", {"b"});
  host.ReportProblem(job, "FailedCreate", "pod b: never", {"b"});
  ASSERT_EQ(job.pending_events.size(), 2U);
  EXPECT_EQ(job.pending_events[0].message, "pod a: no");
  EXPECT_EQ(job.pending_events[1].message, "pod b: never");
}

TEST_F(PartHostTest, AJobThatHasGoneHasNoProblem) {
  job.job.reset();
  host.ReportProblem(job, "FailedCreate", "no");
  EXPECT_TRUE(job.problems.empty());
  EXPECT_TRUE(job.pending_events.empty());
}

TEST_F(PartHostTest, TheInputOfEffectsNamesWhatHoldsThemBack) {
  const std::set<std::string> busy;
  struct Case {
    const char* what;
    std::function<void()> become;
    bool blocked;
    bool action_waits;
    bool collecting;
  };
  const Case cases[] = {
      {"nothing", [] {}, false, false, false},
      {"the spec is refused",
       [this] {
         job.compiled->refusal = {"SpecError", "no"};
       },
       true, false, false},
      {"and an action waits", [this] { job.record.add_pending(); }, true, true, false},
      {"and pods are deleted together", [this] { host.collecting().insert(job.key); }, true, true, true},
  };
  for (const Case& test : cases) {
    test.become();
    const EffectInput view = host.ViewOf(job, busy);
    EXPECT_EQ(view.blocked, test.blocked) << test.what;
    EXPECT_EQ(view.action_waits, test.action_waits) << test.what;
    EXPECT_EQ(view.collecting, test.collecting) << test.what;
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
