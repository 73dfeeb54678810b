#include "services/jobsvc/control/pods/pod_creates.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

class PodCreatesTest : public PartTest {
 protected:
  PodCreatesTest() {
    kube::v1::Job& stored = *job.job;
    stored.mutable_meta()->set_namespace_("default");
    stored.mutable_meta()->set_name("j");
    kube::v1::JobSpec& spec = *stored.mutable_spec();
    spec.set_min_available(1);
    kube::v1::TaskSpec& task = *spec.add_tasks();
    task.set_name("t");
    task.set_replicas(1);
    task.set_template_json(R"({"spec":{"containers":[{"name":"main","image":"busybox"}],"restartPolicy":"Never"}})");
    job.compiled = CompileSpec(stored, [](std::string_view) { return 0; });
    job.pods.Reset("j", "job-uid");
    job.pods.SetTasks(job.compiled->shape);
  }
  void Begin() {
    BeginAnew();
    PodEffect effect{PodEffect::Kind::kCreate};
    effect.name = "j-t-0";
    effect.place = {0, 0};
    job.pod_creates.Create(job, effect, host);
  }
};

TEST_F(PodCreatesTest, AnAnswerSaysWhetherTheNameTheTaskOrTheWayIsTheTrouble) {
  ASSERT_FALSE(job.compiled->invalid()) << job.compiled->refusal.message;
  struct Case {
    const char* what;
    WriteOutcome outcome;
    bool is_read;
    bool backs_off;
    bool task_is_refused;
    bool has_problem;
  };
  const Case cases[] = {
      {"made", Done(), false, false, false, false},
      {"the name is taken", Refused(409, "AlreadyExists"), true, false, false, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false, false, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, false, true, false, false},
      {"a quota is written", Refused(409, "Conflict"), false, false, true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), false, false, true, true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    Answer(test.outcome);
    EXPECT_EQ(context.gets.size(), test.is_read ? 1U : 0U);
    EXPECT_EQ(job.pod_creates.retry().Blocks(host.Now()), test.backs_off);
    EXPECT_EQ(job.pod_creates.refused_tasks().size(), test.task_is_refused ? 1U : 0U);
    EXPECT_EQ(job.problems.has("FailedCreate"), test.has_problem);
  }
}

TEST_F(PodCreatesTest, TheOwnerOfAPodThatWasReadDecides) {
  struct Case {
    const char* what;
    const char* owner;
    int code;  // 0 if a pod is there.
    bool task_is_refused;
    bool has_problem;
  };
  const Case cases[] = {
      {"ours", "job-uid", 0, false, false},    {"somebody else's", "another", 0, false, true},
      {"nobody's", "", 0, false, true},        {"gone since", "", 404, true, false},
      {"not to be seen", "", 403, true, true},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    Answer(Refused(409, "AlreadyExists"));
    gateway::v1::GetResponse response;
    if (test.code != 0) {
      response.mutable_error()->set_code(test.code);
    } else {
      kube::v1::Pod& pod = *response.mutable_object()->mutable_pod();
      pod.set_uid("pod-uid");
      pod.set_owner_uid(test.owner);
      pod.set_creation_ms(absl::ToUnixMillis(host.Now()));
    }
    AnswerRead(std::move(response));
    EXPECT_EQ(job.pod_creates.refused_tasks().size(), test.task_is_refused ? 1U : 0U);
    EXPECT_EQ(job.problems.has("FailedCreate"), test.has_problem);
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
