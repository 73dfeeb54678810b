// Refusals by the API server: how soon a write is tried again, and in which message the refusal is reported.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class RefusalsTest : public JobTest {
 protected:
  using Chosen = std::function<bool(const gateway::v1::WriteRequest& request)>;

  // Answers the chosen writes with that code until called again. "{}" in the message stands for the object's name.
  void Refuse(Chosen chosen, int code, std::string words) {
    kube().SetRefuse([this, chosen = std::move(chosen), code, words = std::move(words)](
                         const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!chosen(request)) return false;
      ++refused_;
      error.set_code(code);
      std::string message = words;
      if (const size_t name = message.find("{}"); name != std::string::npos) message.replace(name, 2, request.name());
      error.set_message(std::move(message));
      return true;
    });
  }
  static bool MakesPod(const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() == "pods";
  }
  const kube::v1::JobStatus& Status(const std::string& key = "default/j") { return kube().job(key).status(); }

  int refused_ = 0;
};

// The job's pods exist until they are garbage collected. Refusals of their writes are no problem of the job any more.
TEST_F(RefusalsTest, ALateRefusalOfAJobThatHasGoneIsNotReported) {
  rig().StartRunning(MakeJob("j", 1, 2), absl::Seconds(10));
  bool gone = false;
  Refuse(
      [&](const auto& request) {
        if (request.resource().plural() != "pods") return false;
        if (!std::exchange(gone, true)) kube().DeleteJob("default/j");
        return true;
      },
      403, "not for you");
  Scale(1, 1);
  rig().Run(absl::Minutes(1));
  ASSERT_TRUE(gone);
  EXPECT_EQ(kube().Count("create", "events"), 0);
}

TEST_F(RefusalsTest, ARoundOfRefusedPodsIsOneStepOfBackOff) {
  Refuse([this](const auto& request) { return MakesPod(request) && refused_ < 40; }, 403, "forbidden");
  rig().Start();
  kube().PutJob(MakeJob("j", 1, 40));
  ASSERT_TRUE(rig().RunUntil([this] { return refused_ == 40; }));
  rig().Run(absl::Milliseconds(300));
  EXPECT_EQ(kube().pods().size(), 40u);
}

TEST_F(RefusalsTest, ARoundOfRefusedObjectsIsOneStepOfBackOff) {
  Refuse([this](const auto& request) { return request.has_create() && refused_ < 9; }, 403, "forbidden");
  rig().Start();
  kube().PutJob(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
  rig().Run(absl::Seconds(3));
  EXPECT_EQ(refused_, 9);
  EXPECT_EQ(kube().pods().size(), 2u);
}

// A webhook that is out of reach and fails every request has this effect.
TEST_F(RefusalsTest, AFailureOfTheServerIsReportedToo) {
  Refuse(MakesPod, 500, "failed calling webhook \"gate\"");
  Begin(MakeJob("j", 1, 1));
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().reason(), "FailedCreate");
  EXPECT_NE(Status().message().find("failed calling webhook"), std::string::npos) << Status().message();
  EXPECT_EQ(Events("FailedCreate"), 1);

  Refuse([](const auto& request) { return request.has_create() && request.resource().plural() == "services"; }, 500,
         "failed calling webhook \"gate\"");
  kube().PutJob(WithPlugins(MakeJob("k", 1, 1), {"svc"}));
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status("default/k").reason(), "PluginError");
}

// On an empty disk the Event is unknown until its name is found taken.
TEST_F(RefusalsTest, AnEventThatIsThereIsCountedOnOverARestartAndALostDisk) {
  const auto count = [this] {
    for (const auto& [name, body] : kube().others()) {
      if (name.starts_with("events/")) return FindInt(body, "count");
    }
    return int64_t{0};
  };
  Refuse(MakesPod, 403, "violates PodSecurity");
  Begin(MakeJob("j", 1, 1));
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(count(), 1);
  StartAgain();
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(count(), 1) << "counted, and not written yet";
  StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(count(), 2);
  rig().Run(absl::Minutes(5));
  StartAgain();
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(count(), 3);
  EXPECT_EQ(Events("FailedCreate"), 1);
}

TEST_F(RefusalsTest, AnOverloadedServerGetsNoEventAboutThat) {
  Refuse(MakesPod, 429, "too many requests");
  Begin(MakeJob("j", 1, 1));
  rig().Run(absl::Seconds(10));
  EXPECT_GT(refused_, 3);
  EXPECT_EQ(Status().reason(), "");
  EXPECT_EQ(kube().Count("create", "events"), 0);
}

TEST_F(RefusalsTest, APodGroupThatCannotBeMadeIsToldOnceThatLasts) {
  kube().refuse_group = absl::UnavailableError("pod group default/j: failed calling webhook \"gate\"");
  Begin(MakeJob("j", 1, 1));
  EXPECT_EQ(Events("PodGroupError"), 0);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Status().reason(), "PodGroupError");
  EXPECT_EQ(Events("PodGroupError"), 1);
  kube().refuse_group = absl::OkStatus();
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 1u);
  EXPECT_EQ(Status().reason(), "");
}

// A policy of the cluster refuses the group of a job whose queue is closed. The back-off ends when the queue opens.
TEST_F(RefusalsTest, AGroupThatWasRefusedIsMadeAsSoonAsTheQueueOpens) {
  kube::v1::Object queue;
  queue.mutable_queue()->mutable_meta()->set_name("default");
  queue.mutable_queue()->set_state("Closed");
  rig().on_start = [&](JobController& controller) { controller.OnShared("queues", queue, /*gone=*/false); };
  kube().refuse_group = absl::UnavailableError("pod group default/j: queue default is Closed");
  Begin(MakeJob("j", 1, 1));
  rig().Run(absl::Minutes(5));
  ASSERT_TRUE(kube().groups().empty());
  kube().refuse_group = absl::OkStatus();
  queue.mutable_queue()->set_state("Open");
  rig().controller().OnShared("queues", queue, /*gone=*/false);
  rig().Run(absl::Milliseconds(100));
  EXPECT_EQ(kube().groups().size(), 1u);
}

TEST_F(RefusalsTest, AnAnnotationThatCannotBeWrittenHoldsUpNothing) {
  rig().on_start = [](JobController& controller) {
    kube::v1::Object queue;
    queue.mutable_queue()->mutable_meta()->set_name("default");
    queue.mutable_queue()->set_has_extend_clusters(true);
    controller.OnShared("queues", queue, false);
  };
  Refuse(
      [](const auto& request) {
        return request.has_patch() && request.resource().plural() == "jobs" && request.subresource().empty();
      },
      403, "denied by policy");
  Begin(MakeJob("j", 1, 2));
  rig().Run(absl::Minutes(5));
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(Status().reason(), "ForwardingError");
  EXPECT_EQ(Events("ForwardingError"), 1);
  EXPECT_LT(refused_, 30);
  kube().SetRefuse(nullptr);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Status().reason(), "");
}

bool DeletesPod(const gateway::v1::WriteRequest& request) {
  return (request.has_delete_() || request.has_delete_collection()) && request.resource().plural() == "pods";
}

TEST_F(RefusalsTest, PodsThatCannotBeDeletedAreTriedWithGrowingPauses) {
  BeginRunning(MakeJob("j", 1, 4));
  Refuse(DeletesPod, 500, "failed calling webhook \"keep\": {}");
  Command("stop", "AbortJob");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Status().reason(), "FailedDelete");
  EXPECT_EQ(Events("FailedDelete"), 1);
  rig().Run(absl::Hours(1));
  EXPECT_EQ(Events("FailedDelete"), 1);
  EXPECT_LT(refused_, 4 * 60 * 60 / 10) << "each second for each pod would be 14400";
  Refuse([](const auto&) { return false; }, 0, "");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Status().reason(), "");
}

TEST_F(RefusalsTest, ATaskWhosePodsAreRefusedDoesNotHoldUpTheOthers) {
  Refuse([](const auto& request) { return MakesPod(request) && request.name().starts_with("j-t0-"); }, 403,
         "violates PodSecurity");
  kube::v1::Job job = MakeJob("j", 2, 200);
  job.mutable_spec()->set_min_available(1);
  Begin(job);
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(kube().pods().size(), 200u);
  EXPECT_LT(refused_, 2 * 64);
  refused_ = 0;
  rig().Run(absl::Minutes(10));
  EXPECT_LT(refused_, 60) << "one pod tells for its task";
  EXPECT_EQ(Status().reason(), "FailedCreate");
  EXPECT_EQ(Events("FailedCreate"), 1);
  // A pod of the other task that has to be made again does not wait for the refused pods.
  kube().RemovePod("default/j-t1-7");
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(kube().pods().size(), 200u);
  Refuse([](const auto&) { return false; }, 0, "");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 400u);
  EXPECT_EQ(Status().reason(), "");
}

TEST_F(RefusalsTest, EachOfManyRefusedTasksHasItsTurn) {
  Refuse([](const auto& request) { return MakesPod(request) && request.name() != "j-t99-0"; }, 403, "exceeded quota");
  kube::v1::Job job = MakeJob("j", 100, 1);
  job.mutable_spec()->set_min_available(1);
  Begin(job);
  EXPECT_EQ(kube().pods().size(), 1u);
  Refuse([](const auto& request) { return MakesPod(request) && request.name() != "j-t70-0"; }, 403, "exceeded quota");
  rig().Run(absl::Minutes(2));
  EXPECT_EQ(kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
