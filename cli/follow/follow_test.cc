// job watch and job wait: the output for changes, for a server that is away, and on a terminal.
#include "cli/follow/follow.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <thread>

#include "cli/suite_fixture.h"
#include "common/base/yaml.h"

namespace basalt::cli {
namespace {

using job::v1::WatchJobsResponse;
using kube::v1::JOB_PHASE_COMPLETED;
using kube::v1::JOB_PHASE_PENDING;
using kube::v1::JOB_PHASE_RUNNING;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const WatchJobsResponse kSynced = MakeResponse(WatchJobsResponse::TYPE_SYNCED);

size_t Count(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

class FollowTest : public SuiteTest {
 protected:
  ~FollowTest() override { setenv("TERM", term_.c_str(), 1); }

  // Runs a command on a terminal of this size and returns the text sent to the terminal, without carriage returns.
  // `seen` is called on another thread with all text so far, whenever more comes.
  std::string RunOnTerminal(unsigned short rows, unsigned short columns, const std::vector<std::string>& words,
                            const std::function<void(std::string_view)>& seen = nullptr) {
    int master = -1;
    int slave = -1;
    winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
    std::string sent;
    std::thread reader([&] {
      std::array<char, 4096> buffer;
      for (ssize_t got = 0; (got = read(master, buffer.data(), buffer.size())) > 0;) {
        sent.append(buffer.data(), static_cast<size_t>(got));
        if (seen != nullptr) seen(sent);
      }
    });
    std::fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    dup2(slave, STDOUT_FILENO);
    close(slave);
    Type(words);
    std::fflush(stdout);
    dup2(before, STDOUT_FILENO);  // Closes the last descriptor of the terminal, so that the reader's read() fails.
    close(before);
    reader.join();
    close(master);
    std::erase(sent, '\r');
    return sent;
  }

 private:
  const std::string term_ = std::getenv("TERM") == nullptr ? "dumb" : std::getenv("TERM");
};

TEST_F(FollowTest, APipeIsToldChangesAndDeletionsALineEach) {
  jobs().SetStreams({cli::EndsWith({State(MakeJob("a", JOB_PHASE_RUNNING)), kSynced,
                                    MakeResponse(WatchJobsResponse::TYPE_DELETED, MakeJob("a", JOB_PHASE_RUNNING))})});
  EXPECT_EQ(Run({"job", "watch"}).out,
            "default/a  Running  0 pending, 0 running, 0 succeeded, 0 failed of 0\n"
            "default/a  deleted\n");
}

// The watch has missed the deletion: the snapshot after a reset does not contain the job.
TEST_F(FollowTest, AnObjectThatASnapshotLacksWasDeleted) {
  WatchJobsResponse reset = MakeResponse(WatchJobsResponse::TYPE_RESET);
  reset.add_slots(0);
  jobs().SetStreams(
      {cli::EndsWith({State(MakeJob("a", JOB_PHASE_RUNNING)), State(MakeJob("b", JOB_PHASE_RUNNING)), kSynced, reset,
                      State(MakeJob("b", JOB_PHASE_RUNNING)), kSynced, State(MakeJob("c", JOB_PHASE_RUNNING))})});
  const std::string out = Run({"job", "watch"}).out;
  EXPECT_EQ(Count(out, "deleted"), 1u) << out;
  EXPECT_THAT(out, HasSubstr("default/a  deleted\ndefault/c  Running"));
  EXPECT_THAT(Run({"job", "watch", "-o", "json"}).out, HasSubstr("\"TYPE_DELETED\""));
}

// A job may be gone before it is published. After an interruption, a deletion may be published again.
TEST_F(FollowTest, ThatAJobWentOfWhichNoLineWasPrintedIsNoLine) {
  const WatchJobsResponse gone = MakeResponse(WatchJobsResponse::TYPE_DELETED, MakeJob("a", JOB_PHASE_RUNNING));
  jobs().SetStreams({cli::EndsWith({gone, kSynced, State(MakeJob("a", JOB_PHASE_RUNNING)), gone, gone})});
  EXPECT_EQ(Run({"job", "watch"}).out,
            "default/a  Running  0 pending, 0 running, 0 succeeded, 0 failed of 0\n"
            "default/a  deleted\n");
  EXPECT_EQ(Count(Run({"job", "watch", "-o", "json"}).out, "\"TYPE_DELETED\""), 3u) << "programs are told all";
}

// Jobs published after the token, if there is one, are published again if they still exist.
TEST_F(FollowTest, AnObjectThatWentWhileNobodyAnsweredIsDeleted) {
  const grpc::StatusCode away = grpc::StatusCode::UNAVAILABLE;
  jobs().SetStreams(
      {cli::EndsWith({State(MakeJob("a", JOB_PHASE_RUNNING)), State(MakeJob("b", JOB_PHASE_RUNNING))}, away),
       cli::EndsWith({State(MakeJob("b", JOB_PHASE_RUNNING)), kSynced})});
  std::string out = Run({"job", "watch", "-A"}).out;
  EXPECT_EQ(Count(out, "deleted"), 1u) << out;
  EXPECT_THAT(out, HasSubstr("default/a  deleted\n"));
  EXPECT_THAT(jobs().TakeTokens(), ElementsAre("", ""));

  WatchJobsResponse with_token = State(MakeJob("a", JOB_PHASE_RUNNING));
  with_token.set_token("1");
  jobs().SetStreams(
      {cli::EndsWith({with_token, State(MakeJob("b", JOB_PHASE_RUNNING))}, away), cli::EndsWith({kSynced})});
  out = Run({"job", "watch", "-A"}).out;
  EXPECT_EQ(Count(out, "deleted"), 1u) << out;
  EXPECT_THAT(out, HasSubstr("default/b  deleted\n"));
  EXPECT_THAT(jobs().TakeTokens(), ElementsAre("", "1"));
}

TEST_F(FollowTest, ObjectsInYamlAreDocumentsOfAStream) {
  jobs().SetStreams(
      {cli::EndsWith({State(MakeJob("a", JOB_PHASE_PENDING)), State(MakeJob("b", JOB_PHASE_RUNNING)), kSynced})});
  const std::string out = Run({"job", "watch", "-o", "yaml"}).out;
  const auto documents = ParseYamlDocuments(out);
  ASSERT_TRUE(documents.ok()) << documents.status() << "\n" << out;
  EXPECT_EQ(documents->size(), 2u);
  EXPECT_THAT(out, StartsWith("---\n"));
}

TEST_F(FollowTest, AJobThatDoesNotExistIsNotWaitedFor) {
  jobs().SetStreams({cli::EndsWith({kSynced})});
  const Ran ran = Run({"job", "watch", "nobody"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_EQ(ran.err,
            "error: job default/nobody does not exist; basaltctl job list -n default tells those that there are\n");
}

TEST_F(FollowTest, AnInterruptionIsToldOnce) {
  const grpc::StatusCode away = grpc::StatusCode::UNAVAILABLE;
  jobs().SetStreams({cli::EndsWith({State(MakeJob("a", JOB_PHASE_RUNNING)), kSynced}, away), cli::EndsWith({}, away),
                     cli::EndsWith({State(MakeJob("a", JOB_PHASE_COMPLETED)), kSynced})});
  const Ran ran = Run({"job", "watch", "a"});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_EQ(ran.err, "no jobsvc answers (that was all): looking for it …\n");
}

TEST_F(FollowTest, WaitDistinguishesAJobThatIsNotThereYetFromASuiteThatDoesNotAnswer) {
  jobs().SetStreams({Stream{{State(MakeJob("a", JOB_PHASE_RUNNING)), kSynced}, std::nullopt}});
  const Ran late = Run({"job", "wait", "a", "--for", "Completed", "--timeout", "300ms"});
  EXPECT_EQ(late.exit_code, kExitRefused);
  EXPECT_THAT(late.err, HasSubstr("job default/a is Running after 300ms, not Completed; basaltctl job explain a"));
  jobs().SetStreams({cli::EndsWith({}, grpc::StatusCode::UNAVAILABLE)});
  const Ran away = Run({"job", "wait", "a", "--for", "Completed", "--timeout", "300ms"});
  EXPECT_EQ(away.exit_code, kExitRefused);
  EXPECT_THAT(away.err, HasSubstr("error: no jobsvc answered within 300ms (that was all)"));
  EXPECT_THAT(away.err, Not(HasSubstr("is not Completed")));
  jobs().SetStreams({Stream{}});  // The server keeps the stream open and sends nothing.
  EXPECT_THAT(Run({"job", "wait", "a", "--for", "Completed", "--timeout", "300ms"}).err,
              HasSubstr("error: no jobsvc answered within 300ms"));
}

TEST_F(FollowTest, WaitSaysSinceWhenNobodyAnswersWhereSomebodyDid) {
  const Stream answers =
      cli::EndsWith({State(MakeJob("a", JOB_PHASE_RUNNING)), kSynced}, grpc::StatusCode::UNAVAILABLE);
  for (const Stream& then : {cli::EndsWith({}, grpc::StatusCode::UNAVAILABLE), Stream{}}) {
    jobs().SetStreams({answers, then});
    const Ran ran = Run({"job", "wait", "a", "--for", "Completed", "--timeout", "700ms"});
    EXPECT_EQ(ran.exit_code, kExitRefused);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("error: no jobsvc has answered for the last "),
                               HasSubstr("ms (that was all), and --timeout 700ms is over; job default/a was Running "
                                         "before; see 'basaltctl topology'\n")));
  }
}

TEST_F(FollowTest, AJobThatWasNotShownYetHasNoPhase) {
  jobs().jobs["a"] = MakeJob("a", kube::v1::JOB_PHASE_UNSPECIFIED);
  jobs().SetStreams({Stream{{kSynced}, std::nullopt}});
  EXPECT_EQ(
      Run({"job", "wait", "a", "--for", "Completed,Failed", "--timeout", "300ms"}).err,
      "error: job default/a is not Completed or Failed after 300ms; basaltctl job explain a -n default tells why\n");
}

TEST_F(FollowTest, ATimeoutOfNothingLooksOnce) {
  struct Row {
    std::optional<kube::v1::JobPhase> phase;
    const char* awaited;
    int exit_code;
    const char* says;
  };
  const Row rows[] = {
      {JOB_PHASE_COMPLETED, "Completed", kExitDone, "job default/a is Completed\n"},
      {JOB_PHASE_COMPLETED, "Failed", kExitJobNotCompleted, "job default/a is Completed\n"},
      {JOB_PHASE_RUNNING, "Completed", kExitRefused,
       "error: job default/a is Running, not Completed; basaltctl job explain a -n default tells why\n"},
      {JOB_PHASE_COMPLETED, "Deleted", kExitRefused,
       "error: job default/a is Completed, not Deleted; basaltctl job explain a -n default tells why\n"},
      {std::nullopt, "Deleted", kExitDone, "job default/a is gone\n"},
      {std::nullopt, "Completed", kExitRefused,
       "error: job default/a does not exist; basaltctl job list tells the jobs that there are\n"},
  };
  for (const Row& row : rows) {
    jobs().jobs.clear();
    if (row.phase) jobs().jobs["a"] = MakeJob("a", *row.phase);
    for (const char* timeout : {"0s", "0"}) {
      const Ran ran = Run({"job", "wait", "a", "--for", row.awaited, "--timeout", timeout});
      EXPECT_EQ(ran.exit_code, row.exit_code) << row.says;
      EXPECT_EQ(ran.out + ran.err, row.says);
      EXPECT_THAT(jobs().TakeAsked(), ElementsAre("GetJob"));
    }
  }
}

// The table is drawn after the first list and, because of a later change, once more at the end.
TEST_F(FollowTest, APictureIsNoHigherThanTheTerminal) {
  setenv("TERM", "xterm", 1);
  std::vector<WatchJobsResponse> responses;
  for (char name = 'a'; name < 'l'; ++name) {
    responses.push_back(State(MakeJob(std::string(1, name), JOB_PHASE_RUNNING)));
  }
  responses.push_back(kSynced);
  responses.push_back(State(MakeJob("l", JOB_PHASE_RUNNING)));
  jobs().SetStreams({cli::EndsWith(responses)});
  const std::string sent = RunOnTerminal(8, 80, {"job", "watch"});
  EXPECT_THAT(sent, HasSubstr("\x1b[7A"));
  EXPECT_EQ(Count(sent, "\x1b["), 2u) << "up and clear, once: " << sent;
  EXPECT_THAT(sent, EndsWith("7 more are not shown\n"));
  EXPECT_THAT(RunOnTerminal(30, 80, {"job", "watch"}), Not(HasSubstr("not shown")));
}

TEST_F(FollowTest, AChangeIsDrawnAlsoIfNothingFollows) {
  setenv("TERM", "xterm", 1);
  jobs().SetStreams({Stream{
      {State(MakeJob("one", JOB_PHASE_RUNNING)), kSynced, State(MakeJob("two", JOB_PHASE_RUNNING))}, std::nullopt}});
  bool ended = false;
  const std::string sent = RunOnTerminal(30, 80, {"job", "watch"}, [&](std::string_view so_far) {
    if (ended || so_far.find("\ntwo ") == so_far.npos) return;
    ended = true;
    jobs().Say(cli::EndsWith({}));
  });
  EXPECT_EQ(Count(sent, "NAME"), 2u) << sent;
}

TEST_F(FollowTest, AnEndIsDrawnBeforeTheListIsComplete) {
  setenv("TERM", "xterm", 1);
  jobs().SetStreams({cli::EndsWith({State(MakeJob("a", JOB_PHASE_COMPLETED)), kSynced})});
  const std::string sent = RunOnTerminal(30, 80, {"job", "watch", "a"});
  EXPECT_THAT(sent, HasSubstr("Completed"));
}

TEST_F(FollowTest, ATerminalThatCannotMoveItsCursorIsSentLines) {
  jobs().SetStreams(
      {cli::EndsWith({State(MakeJob("a", JOB_PHASE_RUNNING)), State(MakeJob("a", JOB_PHASE_COMPLETED))})});
  setenv("TERM", "dumb", 1);
  const std::string sent = RunOnTerminal(8, 80, {"job", "watch"});
  EXPECT_THAT(sent, Not(HasSubstr("\x1b")));
  EXPECT_THAT(sent, HasSubstr("default/a  Running"));
  unsetenv("TERM");
  EXPECT_THAT(RunOnTerminal(8, 80, {"job", "watch"}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace basalt::cli
