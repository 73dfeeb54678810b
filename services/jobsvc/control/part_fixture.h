#pragma once

// One job without a controller, for tests of its parts: time stands until the test moves it, and each write waits until
// the test says how it ended.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kv/kv_store.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/jobsvc/control/part_host.h"

namespace basalt::jobsvc::testing {

// What the batch does to records of pods and to those of family kAux, in its order: "put j-w-0; drop ended uid; ".
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

class PartTest : public ::testing::Test {
 protected:
  class NoKeys : public KeyMaker {
   public:
    void MakeKeys(std::string, std::function<void(absl::StatusOr<SshKeyPair>)>) override {}
  };

  // A job default/j of UID job-uid in that phase, which reached it now.
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

  void SetPhase(kube::v1::JobPhase phase) {
    job.job->mutable_status()->set_phase(phase);
    job.job->mutable_status()->set_last_transition_ms(absl::ToUnixMillis(host.Now()));
  }
  // Ends the only write that is under way.
  void Answer(runtime::WriteOutcome outcome) {
    ASSERT_EQ(context.writes.size(), 1U);
    auto write = std::move(context.writes.front());
    context.writes.pop_front();
    write.done(std::move(outcome));
  }

  runtime::testing::ScriptedContext context;
  NoKeys keys;
  const std::unique_ptr<obs::Metrics> prometheus = obs::MakeMetrics();
  JobMetrics metrics{*prometheus, /*series_per_job=*/false};
  PartHost host;
  JobEntry& job;
};

}  // namespace basalt::jobsvc::testing
