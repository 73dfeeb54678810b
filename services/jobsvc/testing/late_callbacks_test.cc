// What was asked for may be answered after the controller has gone: a process that stops in order drains its loops.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;

class NoKeys : public KeyMaker {
 public:
  void MakeKeys(std::string, std::function<void(absl::StatusOr<SshKeyPair>)>) override {}
};

class LateCallbacksTest : public ::testing::Test {
 protected:
  void Begin(kube::v1::Job job) {
    controller_ = std::make_unique<JobController>(context_, keys_, metrics_);
    const std::string key = "default/" + job.meta().name();
    ASSERT_TRUE(controller_->OpenSlot(SlotOf(key)).ok());
    job.mutable_meta()->set_namespace_("default");
    job.mutable_meta()->set_uid("job-uid");
    job.mutable_meta()->set_resource_version(1);
    kube::v1::Object object;
    *object.mutable_job() = std::move(job);
    controller_->OnState(key, std::string(kube::kWatchJobs), std::move(object));
    context_.Wake(key);
    context_.RunPasses(*controller_);
  }

  runtime::testing::ScriptedContext context_;
  NoKeys keys_;
  const std::unique_ptr<obs::Metrics> prometheus_ = obs::MakeMetrics();
  JobMetrics metrics_{*prometheus_, /*series_per_job=*/false};
  std::unique_ptr<JobController> controller_;
};

TEST_F(LateCallbacksTest, AStatusWriteOfUnknownOutcomeIsNotLookedAtOnceTheControllerHasGone) {
  Begin(MakeJob("j", 1, 1));
  ASSERT_EQ(context_.writes.size(), 1U);
  ASSERT_EQ(context_.writes.front().request.subresource(), "status");
  context_.Answer({.kind = WriteOutcome::Kind::kUnknown}, *controller_);
  ASSERT_EQ(context_.gets.size(), 1U);
  context_.Answer(absl::UnavailableError("the gateway is away"), *controller_);
  controller_.reset();
  context_.Advance(absl::Seconds(10));
  EXPECT_TRUE(context_.gets.empty());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
