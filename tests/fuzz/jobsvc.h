#pragma once

// jobsvc for ServiceRun: its controller, the calls of its clients, and its records.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/obs/metrics.h"
#include "common/runtime/typed_replica.h"
#include "common/runtime/watch/watch_part.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/job_watch.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"
#include "tests/fuzz/service.h"

namespace basalt::fuzz {

class JobsvcRun final : public ServiceRun {
 public:
  explicit JobsvcRun(Input& input) : ServiceRun(input, gateway::v1::SERVICE_KIND_JOB), keys_(loop()) {}

 private:
  // Makes texts in the form of keys that are no keys.
  class Keys final : public jobsvc::KeyMaker {
   public:
    explicit Keys(Loop& loop) : loop_(loop), source_(jobsvc::MakeFakeKeySource()) {}
    void MakeKeys(std::string seed, std::function<void(absl::StatusOr<jobsvc::SshKeyPair>)> done) override {
      loop_.Post([this, seed = std::move(seed), done = std::move(done)] { done(source_->MakeSshKeyPair(seed)); });
    }

   private:
    Loop& loop_;
    const std::unique_ptr<jobsvc::SshKeySource> source_;
  };

  std::unique_ptr<runtime::Controller> MakeController(runtime::Context& context) override {
    auto controller = std::make_unique<jobsvc::JobController>(context, keys_, metrics_);
    runtime::PublishChanges<jobsvc::WatchedJobs>(*controller, *hub_);
    return controller;
  }
  void MakeApi(runtime::Replica& replica) override {
    workers_ = std::make_unique<runtime::TypedReplica<jobsvc::JobController>>(replica);
    api_ = std::make_unique<jobsvc::JobApi>(*workers_, hub_);
  }
  void DropApi() override { api_.reset(); }

  void Call() override {
    switch (input().Below(9)) {
      case 0: {
        const auto request = Asked<job::v1::SubmitJobRequest>();
        auto manifest = jobsvc::ReadManifest(request.manifest_json(), request.namespace_());
        if (manifest.ok())
          api_->Submit(*std::move(manifest), request.dry_run(), AnyUserToken(), Ignored<job::v1::Job>());
        return;
      }
      case 1:
        return api_->Get(Asked<job::v1::GetJobRequest>(), Ignored<job::v1::Job>());
      case 2:
        return api_->ListPart(Asked<job::v1::ListPartRequest>(), Ignored<job::v1::ListPartResponse>());
      case 3:
        return api_->History(Asked<job::v1::GetJobHistoryRequest>(), Ignored<job::v1::JobHistory>());
      case 4:
        return api_->Command(Asked<job::v1::CommandJobRequest>(), AnyUserToken(),
                             Ignored<job::v1::CommandJobResponse>());
      case 5:
        return api_->Scale(Asked<job::v1::ScaleJobRequest>(), AnyUserToken(), Ignored<job::v1::Job>());
      case 6:
        return api_->Explain(Asked<job::v1::ExplainJobRequest>(), Ignored<job::v1::JobExplanation>());
      case 7:
        return api_->Delete(Asked<job::v1::DeleteJobRequest>(), AnyUserToken(), Ignored<job::v1::DeleteJobResponse>());
      default:
        return Drain(api_->WatchPart(Asked<job::v1::WatchPartRequest>(), [] {}));
    }
  }

  void PutRecord(uint32_t slot, const std::string& key, kv::WriteBatch& batch) override {
    switch (input().Below(8)) {
      case 0:
        return jobsvc::PutPod(slot, key, input().Text(), input().Make<storage::v1::PodRecord>(), batch);
      case 1:
        return jobsvc::PutDeadline(slot, key, input().Make<storage::v1::PendingAction>(), batch);
      case 2:
        return jobsvc::PutEndedPod(slot, key, input().Make<storage::v1::EndedPod>(), batch);
      case 3:
        return jobsvc::PutSpec(slot, key, input().Make<storage::v1::SpecRecord>(), batch);
      case 4:
        return jobsvc::HistoryStore::Put(slot, input().Text(), input().Make<storage::v1::HistoryRecord>(), batch);
      case 5:
        return jobsvc::HistoryStore::Begin(slot, key, input().Text(), input().Number(), batch);
      default: {
        auto record = input().Make<storage::v1::JobRecord>();
        if (record.uid().empty()) record.set_uid("j-uid");
        return jobsvc::PutJob(slot, key, record, batch);
      }
    }
  }

  static jobsvc::JobMetrics MakeMetrics() {
    static const std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
    return {*metrics, /*series_per_job=*/false};
  }

  Keys keys_;
  jobsvc::JobMetrics metrics_ = MakeMetrics();
  const std::shared_ptr<watch::WatchHub> hub_ = std::make_shared<watch::WatchHub>();
  std::unique_ptr<jobsvc::Workers> workers_;
  std::unique_ptr<jobsvc::JobApi> api_;
};

}  // namespace basalt::fuzz
