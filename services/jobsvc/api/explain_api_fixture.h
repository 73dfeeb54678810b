#pragma once

// The API's explanation of a job's state, over a real controller and a small API server, under simulated time. The job
// is named j.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/kube/timestamp.h"
#include "services/jobsvc/api/testing.h"

namespace basalt::jobsvc::testing {

// Returns 0 if the time is unset.
inline int64_t SinceMs(const job::v1::Cause& cause) { return kube::ToMs(cause.since_time()); }
inline int64_t UntilMs(const job::v1::Cause& cause) { return kube::ToMs(cause.until_time()); }

class ExplainApiTest : public ::testing::Test {
 protected:
  ExplainApiTest() {
    rig_.Start();
    PutQueue("Open");
  }
  void PutQueue(const std::string& state) {
    kube::v1::Object object;
    object.mutable_queue()->mutable_meta()->set_name("default");
    object.mutable_queue()->set_state(state);
    rig_.controller().OnShared("queues", object, /*gone=*/state.empty());
  }
  void Begin(kube::v1::Job job) {
    rig_.kube().PutJob(std::move(job));
    rig_.Run(absl::Seconds(2));
  }
  void BeginRunning(kube::v1::Job job) {
    Begin(std::move(job));
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(5));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }
  template <typename Request, typename Response>
  Response Ask(void (JobApi::*method)(Request, rpc::Done<Response>)) {
    Request request;
    request.set_name("j");
    std::optional<absl::StatusOr<Response>> answer;
    (api_.*method)(std::move(request), [&](absl::StatusOr<Response> got) { answer = std::move(got); });
    rig_.Run(absl::ZeroDuration());
    if (!answer || !answer->ok()) {
      ADD_FAILURE() << (answer ? answer->status().ToString() : "no answer");
      return {};
    }
    return **std::move(answer);
  }
  job::v1::JobExplanation Explain() { return Ask(&JobApi::Explain); }
  job::v1::Job Get() { return Ask(&JobApi::Get); }
  int64_t NowMs() { return absl::ToUnixMillis(rig_.time().Now()); }
  // Returns the cause of that kind whose message contains `words`. The test fails if there is none.
  static job::v1::Cause Find(const job::v1::JobExplanation& explanation, job::v1::Cause::Kind kind,
                             const std::string& words) {
    for (const job::v1::Cause& cause : explanation.causes()) {
      if (cause.kind() == kind && cause.message().find(words) != std::string::npos) return cause;
    }
    ADD_FAILURE() << "no " << job::v1::Cause::Kind_Name(kind) << " with '" << words << "' in "
                  << explanation.DebugString();
    return {};
  }
  void EditMinAvailable(int32_t min_available) {
    rig_.kube().EditJob("default/j", [&](kube::v1::Job& job) {
      job.mutable_spec()->mutable_tasks(0)->set_min_available(min_available);
    });
    rig_.Run(absl::Minutes(2));
  }
  // The tolerance is the time for which a status write of counts and messages waits.
  void ExpectRefusedSince(int64_t since_ms, const char* when) {
    SCOPED_TRACE(when);
    ExpectSince(Find(Explain(), job::v1::Cause::KIND_SPEC, "spec.tasks[0].minAvailable"), since_ms, 6000);
  }
  using Writes = std::function<bool(const gateway::v1::WriteRequest&)>;
  static bool IsOf(const gateway::v1::WriteRequest& request, std::string_view plural) {
    return request.resource().plural() == plural;
  }
  static Writes Creates(std::string plural) {
    return [=](const auto& request) { return request.has_create() && IsOf(request, plural); };
  }
  static Writes Deletes(std::string plural) {
    return [=](const auto& request) {
      return (request.has_delete_() || request.has_delete_collection()) && IsOf(request, plural);
    };
  }
  static Writes StatusWrites() {
    return [](const auto& request) { return request.subresource() == "status"; };
  }
  // Writes of a job's annotations.
  static Writes JobPatches() {
    return [](const auto& request) {
      return request.has_patch() && IsOf(request, "jobs") && request.subresource().empty();
    };
  }
  // The API server refuses these writes from here on.
  void Refuse(Writes writes, std::string words) {
    rig_.kube().SetRefuse([=](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!writes(request)) return false;
      error.set_code(403);
      error.set_reason("Forbidden");
      error.set_message(words);
      return true;
    });
  }
  // These writes do not reach the API server from here on.
  void Lose(Writes writes) {
    rig_.fate = [=](const gateway::v1::WriteRequest& request) {
      return writes(request) ? Fate::kNotSent : Fate::kNormal;
    };
  }
  void RestartFor(absl::Duration time, bool lose_disk = false) {
    rig_.Kill();
    if (lose_disk) rig_.LoseDisk();
    rig_.Start();
    rig_.Run(time);
  }
  static void ExpectSince(const job::v1::Cause& cause, int64_t since_ms, int64_t tolerance_ms = 1000) {
    EXPECT_LE(std::abs(SinceMs(cause) - since_ms), tolerance_ms) << cause.DebugString();
  }
  static void AddClaim(kube::v1::Job& job, const std::string& name) {
    auto* volume = job.mutable_spec()->add_volumes();
    volume->set_mount_path("/" + name);
    volume->set_volume_claim_name(name);
  }
  std::string GroupKey() { return rig_.kube().groups().begin()->first; }

  JobRig rig_;
  RigWorkers workers_{{&rig_}};
  JobApi api_{workers_, std::make_shared<watch::WatchHub>()};
};

}  // namespace basalt::jobsvc::testing
