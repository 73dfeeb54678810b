#pragma once

// One job without a controller, for tests of its parts. Time stands until the test moves it, and each write, each read
// and each key pair waits until the test decides how it ends.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kv/kv_store.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc::testing {

// Returns the changes of the batch to pod records and to family kAux, in order: "put j-w-0; drop ended uid; ".
inline std::string ChangesOf(const kv::WriteBatch& batch) {
  std::string text;
  for (size_t i = 0; i < batch.size(); ++i) {
    const kv::WriteBatch::Operation operation = batch[i];
    const bool is_pod = operation.family == kv::Family::kPods;
    if (!is_pod && operation.family != kv::Family::kAux) continue;
    std::string_view key = operation.key;
    uint32_t slot = 0;
    kv::TakeSlot(key, slot);
    std::vector<std::string> parts;  // [kind,] job[, name].
    for (std::string part; kv::TakeText(key, part);) parts.push_back(part);
    const size_t name = is_pod ? 1 : 2;
    text += operation.type == kv::WriteBatch::Operation::Type::kPut ? "put" : "drop";
    if (!is_pod && !parts.empty()) text += " " + parts[0];
    if (name < parts.size()) text += " " + parts[name];
    text += "; ";
  }
  return text;
}

// The expected effects of an answer to the only request of a part.
struct AnswerCase {
  const char* what;
  runtime::WriteOutcome outcome;
  bool again;        // The request is sent once more after the pause.
  bool has_problem;  // The answer is reported to users.
};

// Records the keys for which passes run. The passes do nothing.
class NotedPasses : public runtime::Controller {
 public:
  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t) override {
    return std::vector<runtime::KnownObject>();
  }
  void CloseSlot(uint32_t) override {}
  void OnState(std::string_view, const std::string&, kube::v1::Object&&) override {}
  void OnGone(std::string_view, const runtime::Gone&) override {}
  void OnShared(const std::string&, const kube::v1::Object&, bool) override {}
  void Decide(std::string_view key, kv::WriteBatch&) override { keys.emplace(key); }
  void Act(std::string_view) override {}

  std::set<std::string> keys;
};

class PartTest : public ::testing::Test {
 protected:
  class HeldKeys : public KeyMaker {
   public:
    struct Asked {
      std::string seed;
      std::function<void(absl::StatusOr<SshKeyPair>)> done;
    };
    void MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) override {
      asked.push_back({std::move(seed), std::move(done)});
    }
    std::vector<Asked> asked;
  };

  // Makes a job default/j of UID job-uid, which has reached phase Running now.
  explicit PartTest(JobControllerOptions options = {})
      : host(context, keys, metrics, std::move(options)), job(host.entries().FindOrMake("default/j")) {
    host.entries().Open(SlotOf("default/j"));
    job.key = "default/j";
    job.ns = "default";
    job.name = "j";
    job.record.set_uid("job-uid");
    job.compiled.emplace();
    job.job.emplace();
    job.job->mutable_meta()->set_uid("job-uid");
    job.job->mutable_meta()->set_resource_version(7);
    SetPhase(kube::v1::JOB_PHASE_RUNNING);
  }

  // The answer to a read that the API server refuses.
  static gateway::v1::GetResponse Error(int code) {
    gateway::v1::GetResponse response;
    response.mutable_error()->set_code(code);
    response.mutable_error()->set_message("no");
    return response;
  }

  void SetPhase(kube::v1::JobPhase phase) {
    job.job->mutable_status()->set_phase(phase);
    job.job->mutable_status()->set_last_transition_ms(absl::ToUnixMillis(host.Now()));
  }
  // Resets the parts, and forgets everything under way.
  void BeginAnew() {
    job.ResetParts();
    context.writes.clear();
    context.gets.clear();
    keys.asked.clear();
  }
  // Gives the name to another job. Everything under way is about the job before.
  void BecomeAnotherJob() {
    job.ResetParts();
    job.record.set_uid("another");
  }
  void AnswerOldest(runtime::WriteOutcome outcome) {
    ASSERT_FALSE(context.writes.empty());
    auto write = std::move(context.writes.front());
    context.writes.pop_front();
    write.done(std::move(outcome));
  }
  // Ends the only write that is under way.
  void Answer(runtime::WriteOutcome outcome) {
    ASSERT_EQ(context.writes.size(), 1U);
    AnswerOldest(std::move(outcome));
  }
  // Ends the only read that is under way.
  void AnswerRead(absl::StatusOr<gateway::v1::GetResponse> response) {
    ASSERT_EQ(context.gets.size(), 1U);
    auto get = std::move(context.gets.front());
    context.gets.pop_front();
    get.done(std::move(response));
  }
  // Moves time, and returns the keys of the passes that were due by then.
  std::set<std::string> Passes(absl::Duration within = absl::ZeroDuration()) {
    NotedPasses passes;
    context.Advance(within, passes);
    return std::move(passes.keys);
  }
  // `apply` sends one request at first. `reason` is that of the problem after a refusal.
  template <typename Apply>
  void CheckAnswer(const AnswerCase& test, std::string_view reason, Apply apply) {
    SCOPED_TRACE(test.what);
    BeginAnew();
    apply();
    ASSERT_EQ(context.writes.size(), 1U);
    apply();
    ASSERT_EQ(context.writes.size(), 1U) << "it is under way";
    Answer(test.outcome);
    apply();
    EXPECT_TRUE(context.writes.empty()) << "it backs off, or is over";
    EXPECT_EQ(job.problems.has(reason), test.has_problem);
    EXPECT_EQ(Passes().contains(job.key), test.has_problem);
    EXPECT_EQ(Passes(absl::Seconds(1)).contains(job.key), test.again);
    apply();
    EXPECT_EQ(context.writes.size(), test.again ? 1U : 0U);
  }

  // `apply` sends one request at first, and `retry` returns its pause. Checks that a refusal holds it back until
  // `try_now`, and that no answer reaches the next job of the name.
  template <typename Apply, typename TryNow, typename Retry>
  void CheckPause(std::string_view reason, Apply apply, TryNow try_now, Retry retry) {
    BeginAnew();
    apply();
    Answer(runtime::testing::Refused(403, "Forbidden", "no"));
    EXPECT_TRUE(job.problems.has(reason));
    apply();
    EXPECT_TRUE(context.writes.empty());
    try_now();
    apply();
    ASSERT_EQ(context.writes.size(), 1U) << "another spec does not wait";
    BecomeAnotherJob();
    Answer(runtime::testing::Refused(403, "Forbidden", "no"));
    EXPECT_FALSE(job.problems.has(reason));
    EXPECT_FALSE(retry().since());
    apply();
    EXPECT_EQ(context.writes.size(), 1U) << "nothing of the job before is under way";
  }

  runtime::testing::ScriptedContext context;
  HeldKeys keys;
  const std::unique_ptr<obs::Metrics> prometheus = obs::MakeMetrics();
  JobMetrics metrics{*prometheus, /*series_per_job=*/false};
  PartHost host;
  JobEntry& job;
};

}  // namespace basalt::jobsvc::testing
