// Arguments, output and refusals of the commands of jobs.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "cli/suite_fixture.h"
#include "common/base/yaml.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using kube::v1::JOB_PHASE_COMPLETED;
using kube::v1::JOB_PHASE_RUNNING;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobCommandsTest : public SuiteTest {
 protected:
  void Refuses(const std::vector<std::string>& words, std::string_view says) {
    jobs().TakeAsked();
    const Ran ran = Run(words);
    EXPECT_EQ(ran.exit_code, kExitBadInput) << ran.out << ran.err;
    EXPECT_THAT(ran.out + ran.err, HasSubstr(std::string(says)));
    EXPECT_THAT(jobs().TakeAsked(), IsEmpty()) << says;
  }
  std::string Manifest(const std::string& file, const std::vector<std::string>& names) {
    std::ofstream out(dir_ / file);
    for (const std::string& name : names) {
      out << "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: " << name << "}\nspec: {}\n";
    }
    return dir_ / file;
  }

 private:
  testing::TempDir dir_;
};

TEST_F(JobCommandsTest, AMistakeIsRefusedBeforeAnythingIsAsked) {
  Refuses({"job", "list", "-n", ""}, "-A");
  Refuses({"job", "delete", "j", "-o", "json"}, "-o json: job delete prints no object");
  Refuses({"job", "wait", "j", "--for", "Running", "-o", "yaml"}, "-o yaml: job wait prints no object");
  Refuses({"job", "scale", "j"}, "give TASK=N, --min-available N or --task-min-available TASK=N");
  Refuses({"job", "scale", "j", "b=2", "b=3"}, "replicas: task b is given twice");
  Refuses({"job", "scale", "j", "--task-min-available", "b=2", "--task-min-available", "b=3"},
          "--task-min-available: task b is given twice");
  for (const std::string size : {"b", "b=", "b=-1", "b=2x", "=2", "b=30000000000"}) {
    const std::string rule = "'" + size + "' is not TASK=N, like worker=8, with N from 0 to 2147483647";
    Refuses({"job", "scale", "j", size}, "replicas: " + rule);
    Refuses({"job", "scale", "j", "--task-min-available", size}, "--task-min-available: " + rule);
  }
  Refuses({"job", "restart", "j", "--partition", "1"}, "--task");
  Refuses({"job", "restart", "j", "--timeout", "9s"}, "--wait");
  Refuses({"job", "wait", "j", "--for", "Sleeping"}, "--for: 'Sleeping' is no phase of a job");
  Refuses({"job", "wait", "j", "--for", "Running", "--timeout", "soon"}, "--timeout: 'soon' is no duration");
  for (const std::string number : {"-1", "3000000000", "x"}) {
    Refuses({"job", "scale", "j", "--min-available", number},
            "--min-available: '" + number + "' is no whole number from 0 to 2147483647");
    Refuses({"job", "restart", "j", "--task", "t", "--partition", number},
            "--partition: '" + number + "' is no whole number from 0 to 2147483647");
  }
}

TEST_F(JobCommandsTest, AnEmptyListIsOneInJsonAndYaml) {
  EXPECT_EQ(Run({"job", "list", "-o", "json"}).out, "{\n \"jobs\": []\n}\n");
  EXPECT_EQ(Run({"job", "list", "-o", "yaml"}).out, "jobs: []\n");
  jobs().jobs["j"] = MakeJob("j", JOB_PHASE_RUNNING);
  EXPECT_THAT(Run({"job", "list", "-o", "json"}).out, HasSubstr("\"name\": \"j\""));
}

TEST_F(JobCommandsTest, AJobThatIsGoneIsReportedWithItsHistory) {
  for (const std::string command : {"get", "explain"}) {
    EXPECT_EQ(Run({"job", command, "j"}).err,
              "error: job default/j does not exist; basaltctl job list -n default tells those that there are\n");
  }
  jobs().history["j"].add_entries()->set_sequence(1);
  for (const std::string command : {"get", "explain"}) {
    const Ran ran = Run({"job", command, "j"});
    EXPECT_EQ(ran.exit_code, kExitRefused);
    EXPECT_EQ(ran.err,
              "error: job default/j does not exist; basaltctl job history j -n default tells what became of it\n");
  }
}

TEST_F(JobCommandsTest, HistorySaysWhatIsNotKept) {
  job::v1::JobHistory& history = jobs().history["j"];
  history.set_uid("u");
  const Ran nothing = Run({"job", "history", "j"});
  EXPECT_EQ(nothing.exit_code, kExitDone);
  EXPECT_EQ(nothing.out, "");
  EXPECT_EQ(nothing.err,
            "No decisions about job default/j are kept: none has been taken yet, or they were lost with their disk\n");
  history.add_entries()->set_sequence(1);
  EXPECT_EQ(Run({"job", "history", "j"}).err, "");
  history.mutable_entries(0)->set_sequence(42);
  const Ran ran = Run({"job", "history", "j"});
  EXPECT_THAT(ran.out, HasSubstr("\n42 "));
  EXPECT_EQ(ran.err, "Nothing that may have been decided before #42 is kept\n");
  for (const std::string format : {"json", "yaml"}) EXPECT_EQ(Run({"job", "history", "j", "-o", format}).err, "");
}

TEST_F(JobCommandsTest, ATaskThatDoesNotExistIsToldWithThoseThatDo) {
  job::v1::Job& job = jobs().jobs["j"] = MakeJob("j", JOB_PHASE_RUNNING);
  job.mutable_object()->mutable_spec()->add_tasks()->set_name("driver");
  job.mutable_object()->mutable_spec()->add_tasks()->set_name("worker");
  EXPECT_EQ(Run({"job", "scale", "j", "zz=3"}).err, "error: job default/j has no task zz; it has driver, worker\n");
  EXPECT_THAT(Run({"job", "scale", "nobody", "zz=3"}).err, HasSubstr("basaltctl job list"));
}

TEST_F(JobCommandsTest, SeveralFilesAreSubmittedInOrderAllOrNone) {
  const std::string first = Manifest("a.yaml", {"a", "b"});
  const std::string second = Manifest("b.yaml", {"c"});
  EXPECT_EQ(Run({"job", "submit", "-f", first, "-f", second}).exit_code, kExitDone);
  EXPECT_THAT(jobs().TakeAsked(), ElementsAre("dry run", "dry run", "dry run", "SubmitJob", "SubmitJob", "SubmitJob"));
  Refuses({"job", "submit", "-f", first, "-f", Manifest("again.yaml", {"b"})},
          "job default/b stands in " + first + ", document 2, job b already");
  Refuses({"job", "submit", "-f", first, "-f", "/nonexistent/x.yaml"}, "/nonexistent/x.yaml");
  Refuses({"job", "submit", "-f", "-", "-f", "-"}, "-f -: standard input can be read once");
}

// A replica may publish the previous job of the same name, or the next one.
TEST_F(JobCommandsTest, ASubmittedJobIsFollowedAndNoOtherOfItsName) {
  const auto state = [](const std::string& uid, int64_t version, kube::v1::JobPhase phase) {
    job::v1::Job job = MakeJob("submitted", phase);
    job.mutable_object()->mutable_meta()->set_uid(uid);
    job.mutable_object()->mutable_meta()->set_resource_version(version);
    return job;
  };
  const job::v1::WatchJobsResponse synced = MakeResponse(job::v1::WatchJobsResponse::TYPE_SYNCED);
  const job::v1::Job before = state("uid-before", ScriptedJobs::kMadeAt - 1, JOB_PHASE_COMPLETED);
  const job::v1::Job submitted = state("uid-submitted", ScriptedJobs::kMadeAt, JOB_PHASE_RUNNING);
  const job::v1::Job after = state("uid-after", ScriptedJobs::kMadeAt + 1, JOB_PHASE_COMPLETED);
  const auto deleted = [](const job::v1::Job& job) {
    return MakeResponse(job::v1::WatchJobsResponse::TYPE_DELETED, job);
  };
  struct Row {
    std::vector<job::v1::WatchJobsResponse> responses;
    int exit_code;
    const char* err;
  };
  const char* const gone = "error: job default/submitted was deleted\n";
  const Row rows[] = {
      {{State(before), deleted(before), synced, State(submitted),
        State(state("uid-submitted", ScriptedJobs::kMadeAt + 5, kube::v1::JOB_PHASE_FAILED))},
       kExitJobNotCompleted,
       ""},
      {{State(submitted), synced, State(after)}, kExitRefused, gone},
      {{synced, State(after)}, kExitRefused, gone},
      {{State(submitted), synced, deleted(after)}, kExitRefused, gone},
      {{State(before), State(submitted), synced, deleted(submitted)}, kExitRefused, gone},
  };
  const std::string file = Manifest("a.yaml", {"submitted"});
  for (const Row& row : rows) {
    jobs().SetStreams({EndsWith(row.responses)});
    const Ran ran = Run({"job", "submit", "-f", file, "--watch"});
    EXPECT_EQ(ran.exit_code, row.exit_code) << ran.out << ran.err;
    EXPECT_EQ(ran.err, row.err);
    EXPECT_EQ(ran.out.find("Completed"), std::string::npos) << ran.out;
  }
}

// The watch publishes neither a job that has had no pass yet, nor its deletion: no message would end the command.
TEST_F(JobCommandsTest, WatchOfASubmissionEndsWhereTheJobGoesBeforeItIsShown) {
  const job::v1::WatchJobsResponse synced = MakeResponse(job::v1::WatchJobsResponse::TYPE_SYNCED);
  job::v1::Job after = MakeJob("submitted", JOB_PHASE_RUNNING);
  after.mutable_object()->mutable_meta()->set_uid("uid-after");
  after.mutable_object()->mutable_meta()->set_resource_version(ScriptedJobs::kMadeAt + 1);
  const std::string file = Manifest("a.yaml", {"submitted"});
  for (const std::optional<job::v1::Job>& there : {std::optional<job::v1::Job>(), std::optional(after)}) {
    if (there) jobs().jobs["submitted"] = *there;
    jobs().SetStreams({Stream{{synced}, std::nullopt}});
    const Ran ran = Run({"job", "submit", "-f", file, "--watch"});
    EXPECT_EQ(ran.exit_code, kExitRefused);
    EXPECT_EQ(ran.err, "error: job default/submitted was deleted\n");
  }
}

TEST_F(JobCommandsTest, WatchOfASubmissionWaitsForTheFirstPass) {
  const job::v1::WatchJobsResponse synced = MakeResponse(job::v1::WatchJobsResponse::TYPE_SYNCED);
  jobs().jobs["submitted"] = MakeJob("submitted", kube::v1::JOB_PHASE_UNSPECIFIED);
  jobs().SetStreams({Stream{{synced}, std::nullopt}});
  jobs().Say(EndsWith({State(MakeJob("submitted", JOB_PHASE_COMPLETED))}));
  const Ran ran = Run({"job", "submit", "-f", Manifest("a.yaml", {"submitted"}), "--watch"});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Completed"));
}

TEST_F(JobCommandsTest, ObjectsOfSeveralDocumentsInYamlAreDocumentsOfAStream) {
  const Ran ran = Run({"job", "submit", "--dry-run", "-o", "yaml", "-f", Manifest("a.yaml", {"a", "b"})});
  const auto documents = ParseYamlDocuments(ran.out);
  ASSERT_TRUE(documents.ok()) << documents.status() << "\n" << ran.out;
  EXPECT_EQ(documents->size(), 2u);
}

TEST_F(JobCommandsTest, EachViolationNamesItsFile) {
  const std::string file = Manifest("a.yaml", {"a"});
  jobs().refusal = "spec.tasks: is required\nspec.queue: is no name";
  const Ran ran = Run({"job", "submit", "-f", file});
  EXPECT_EQ(ran.exit_code, kExitBadInput);
  EXPECT_EQ(ran.err, "error: " + file + ", job a: spec.tasks: is required\nerror: " + file +
                         ", job a: spec.queue: is no name\n");
}

// The result of a command that was waited for.
struct CommandRow {
  job::v1::HistoryEntry::Result result;
  const char* outcome;
  int exit_code;
  const char* out;
  const char* err;
};

TEST_F(JobCommandsTest, TheOutcomeOfACommandIsItsExitCode) {
  using job::v1::HistoryEntry;
  const CommandRow rows[] = {
      {HistoryEntry::RESULT_CARRIED_OUT, "kill of 2 pods", kExitDone, "RestartTask: kill of 2 pods\n", ""},
      // A server may not state the result.
      {HistoryEntry::RESULT_UNSPECIFIED, "nothing to do", kExitDone, "RestartTask: nothing to do\n", ""},
      {HistoryEntry::RESULT_NOTHING_TO_DO, "nothing to do: the job is Failed, which is final; submit it again",
       kExitNothingToDo, "",
       "error: job default/j: RestartTask: nothing to do: the job is Failed, which is final; submit it again\n"},
      {HistoryEntry::RESULT_REFUSED, "RestartTask of task t is refused: it is about 20001 pods", kExitRefused, "",
       "error: job default/j: RestartTask of task t is refused: it is about 20001 pods; basaltctl job restart j -n "
       "default restarts all of it\n"},
  };
  jobs().jobs["j"] = MakeJob("j", JOB_PHASE_RUNNING);
  for (const CommandRow& row : rows) {
    job::v1::HistoryEntry entry;
    entry.set_sequence(4);
    entry.set_subject("command j-command for task t");
    entry.set_action("RestartTask");
    entry.set_outcome(row.outcome);
    entry.set_result(row.result);
    entry.set_committed(true);
    jobs().history["j"].clear_entries();
    *jobs().history["j"].add_entries() = entry;
    const Ran ran = Run({"job", "restart", "j", "--task", "t", "--wait"});
    EXPECT_EQ(ran.exit_code, row.exit_code) << row.outcome;
    EXPECT_EQ(ran.err, row.err);
    const std::string asked = "job default/j: RestartTask asked for (command j-command)\n";
    EXPECT_EQ(ran.out, asked + (*row.out == '\0' ? "" : std::string("job default/j: ") + row.out));
    // Scripts get the entry for every result.
    const Ran as_json = Run({"job", "restart", "j", "--task", "t", "--wait", "-o", "json"});
    EXPECT_EQ(as_json.exit_code, row.exit_code);
    EXPECT_EQ(as_json.err, row.err);
    EXPECT_THAT(as_json.out, HasSubstr(row.outcome));
    if (row.result != HistoryEntry::RESULT_UNSPECIFIED) {
      EXPECT_THAT(as_json.out, HasSubstr("\"result\": \"" + HistoryEntry::Result_Name(row.result) + "\""));
    }
  }
}

TEST_F(JobCommandsTest, ARefusedCommandOfTheWholeJobNamesWhereToLook) {
  jobs().jobs["j"] = MakeJob("j", JOB_PHASE_RUNNING);
  job::v1::HistoryEntry& entry = *jobs().history["j"].add_entries();
  entry.set_subject("command j-command");
  entry.set_outcome("AbortJob is refused: there is no such action");
  entry.set_result(job::v1::HistoryEntry::RESULT_REFUSED);
  entry.set_committed(true);
  EXPECT_EQ(Run({"job", "suspend", "j", "--wait"}).err,
            "error: job default/j: AbortJob is refused: there is no such action; basaltctl job explain j -n default "
            "tells where it is\n");
}

TEST_F(JobCommandsTest, AServerThatIsNoGatewayIsNamed) {
  const Ran ran = Run({"--gateway", jobs_address(), "job", "list"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_THAT(ran.err,
              HasSubstr("error: what answers at " + jobs_address() + " is no gateway; name it with --gateway"));
}

}  // namespace
}  // namespace basalt::cli
