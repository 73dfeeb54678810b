#pragma once

// The handlers and a watch over real controllers, stores and a small API server, under simulated time. Two workers,
// each with an API server of its own that holds the jobs of its slots.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/rpc/list_part.h"
#include "common/rpc/watch/testing.h"
#include "common/runtime/watch/watch_part.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/job_list.h"
#include "services/jobsvc/api/job_watch.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/api/testing.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {

inline std::string ManifestOf(const std::string& name, const std::string& spec = R"("queue":"default")") {
  return R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":")" + name + R"("},"spec":{)" +
         spec +
         R"(,"tasks":[{"name":"t","replicas":2,"template":{"spec":{"restartPolicy":"Never",)"
         R"("containers":[{"name":"c","image":"i"}]}}}]}})";
}

class JobApiTest : public ::testing::Test {
 protected:
  JobApiTest() {
    for (JobRig* rig : Rigs()) {
      rig->on_start = [this](JobController& controller) { runtime::PublishChanges<WatchedJobs>(controller, *hub_); };
      rig->Start();
      rig->Run();
    }
  }
  std::vector<JobRig*> Rigs() { return {&rigs_[0], &rigs_[1]}; }
  JobRig& RigOf(const std::string& name) { return rigs_[SlotOf("default/" + name) % 2]; }
  void Run(absl::Duration time = absl::Seconds(1)) {
    for (JobRig& rig : rigs_) rig.Run(time);
  }
  void Put(const std::string& name, int replicas = 2) { RigOf(name).kube().PutJob(MakeJob(name, 1, replicas)); }
  void SetReady(bool ready) {
    for (JobRig& rig : rigs_) rig.ready = ready;
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(void (JobApi::*method)(Request, rpc::Done<Response>), Request request,
                               absl::Duration time = absl::Seconds(1)) {
    return Await<Response>([&](rpc::Done<Response> done) { (api_.*method)(std::move(request), std::move(done)); },
                           time);
  }
  // Returns the answer that `call` gives to its `done`.
  template <typename Response, typename Call>
  absl::StatusOr<Response> Await(Call call, absl::Duration time = absl::Seconds(1)) {
    std::optional<absl::StatusOr<Response>> answer;
    call([&](absl::StatusOr<Response> got) { answer = std::move(got); });
    Run(time);
    EXPECT_TRUE(answer.has_value()) << "no answer";
    return answer.value_or(absl::InternalError("no answer"));
  }
  absl::StatusOr<job::v1::Job> Submit(const std::string& text, bool dry_run = false) {
    auto manifest = ReadManifest(text, /*ns=*/"");
    if (!manifest.ok()) return manifest.status();
    return Await<job::v1::Job>([&](rpc::Done<job::v1::Job> done) {
      api_.Submit(*std::move(manifest), dry_run, /*user_token=*/"", std::move(done));
    });
  }
  absl::StatusOr<job::v1::Job> Get(const std::string& name) {
    job::v1::GetJobRequest request;
    request.set_name(name);
    return Ask(&JobApi::Get, request);
  }
  absl::StatusOr<job::v1::JobHistory> History(const std::string& name, const std::string& uid = "") {
    job::v1::GetJobHistoryRequest request;
    request.set_name(name);
    request.set_uid(uid);
    return Ask(&JobApi::History, request);
  }
  absl::Status Delete(const std::string& name, const std::string& uid = "") {
    job::v1::DeleteJobRequest request;
    request.set_namespace_("default");
    request.set_name(name);
    request.set_uid(uid);
    return Await<job::v1::DeleteJobResponse>([&](rpc::Done<job::v1::DeleteJobResponse> done) {
             api_.Delete(request, /*user_token=*/"", std::move(done));
           })
        .status();
  }
  absl::StatusOr<job::v1::ListPartResponse> ListPart(const job::v1::ListJobsRequest& request, const SlotSet& slots) {
    job::v1::ListPartRequest part;
    *part.mutable_request() = request;
    part.set_slots(slots.ToBytes());
    return Ask(&JobApi::ListPart, part);
  }
  // Returns the names of one page. `next` is the token of the page after it.
  std::string List(const job::v1::ListJobsRequest& request, std::string* next = nullptr) {
    const auto part = ListPart(request, SlotSet::All());
    if (!part.ok()) return part.status().ToString();
    const job::v1::ListJobsResponse response = rpc::ToPage<JobList>(*part);
    std::string text;
    for (const job::v1::Job& job : response.jobs()) text += (text.empty() ? "" : " ") + job.object().meta().name();
    if (next != nullptr) *next = response.next_page_token();
    return text;
  }
  std::unique_ptr<JobWatch> Watch(const job::v1::WatchJobsRequest& request) {
    const auto open = [this](const gateway::v1::Member&, const job::v1::WatchPartRequest& part,
                             std::function<void()> notify) { return api_.WatchPart(part, std::move(notify)); };
    auto watch = std::make_unique<JobWatch>(rigs_[0].controller().context().loop(), members_, open, request, [] {});
    Run();
    return watch;
  }
  // Returns the messages that a client reads: "STATE name, …".
  std::string Drain(JobWatch& watch) {
    std::string text;
    reader_.TakeAll(watch, text);
    do {
      Run(absl::ZeroDuration());  // Runs the tasks that were posted to the workers meanwhile.
    } while (reader_.TakeAll(watch, text));
    return text;
  }
  // The process ends and comes back, on its disk or without it.
  void Restart(bool lose_disk = false) {
    for (JobRig& rig : rigs_) {
      rig.Kill();
      if (lose_disk) rig.LoseDisk();
      rig.Start();
    }
    Run();
  }

  const std::shared_ptr<watch::WatchHub> hub_ = std::make_shared<watch::WatchHub>();
  JobRig rigs_[2];
  RigWorkers workers_{Rigs()};
  rpc::testing::OneMember members_{"jobsvc-0"};
  JobApi api_{workers_, hub_};
  rpc::testing::WatchReader<job::v1::WatchJobsResponse, &job::v1::WatchJobsResponse::has_job,
                            &job::v1::WatchJobsResponse::job>
      reader_;
};

}  // namespace basalt::jobsvc::testing
