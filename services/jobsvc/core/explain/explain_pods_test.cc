#include "services/jobsvc/core/explain/explain_pods.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::POD_PHASE_FAILED;
using kube::v1::POD_PHASE_PENDING;
using kube::v1::POD_PHASE_RUNNING;

// A job of the tasks a and b, with pods and their records.
class PodSurveyTest : public ::testing::Test {
 protected:
  PodSurveyTest() {
    for (const char* task : {"a", "b"}) {
      auto& added = *spec_.add_tasks();
      added.set_name(task);
      added.set_template_json(task == std::string("a") ? R"({"spec":{"restartPolicy":"Never"}})" : R"({"spec":{}})");
    }
  }
  void Put(kube::v1::Pod pod, const std::string& reason = "") {
    const PodChange change = pods_.Apply(pod);
    storage::v1::PodRecord& record = records_[pod.name()];
    record.set_uid(pod.uid());
    record.set_node_name(pod.node_name());
    record.set_reason(reason);
    record.set_creation_ms(pod.creation_ms());
    record.set_finished_ms(pod.finished_ms());
    record.set_exit_code(pod.exit_code());
    record.set_task_name(change.place.task == 0 ? "a" : "b");
  }
  kube::v1::Pod Pod(const std::string& name, kube::v1::PodPhase phase) {
    return testing::MakePod(name, fmt::format("uid-{}", name), phase);
  }
  bool IsNeeded(kube::v1::JobPhase phase = kube::v1::JOB_PHASE_RUNNING) {
    return PodSurvey(phase, spec_, pods_).IsNeeded();
  }
  PodFindings Find(kube::v1::JobPhase phase = kube::v1::JOB_PHASE_RUNNING) {
    PodSurvey survey(phase, spec_, pods_);
    for (const auto& [name, record] : records_) survey.Look(name, record);
    return survey.Take();
  }

  kube::v1::JobSpec spec_;
  PodSet pods_ = testing::MakePodSet({{.name = "a", .replicas = 3}, {.name = "b", .replicas = 3}});
  std::map<std::string, storage::v1::PodRecord> records_;
};

TEST_F(PodSurveyTest, NobodyLooksAtPodsThatJustRun) {
  EXPECT_FALSE(IsNeeded());
  Put(Pod("j-a-0", POD_PHASE_RUNNING));
  Put(Pod("j-a-1", kube::v1::POD_PHASE_SUCCEEDED));
  Put(Pod("j-a-2", POD_PHASE_FAILED));
  EXPECT_FALSE(IsNeeded());
  EXPECT_FALSE(IsNeeded(kube::v1::JOB_PHASE_TERMINATING)) << "pods are on their way";
  EXPECT_TRUE(IsNeeded(kube::v1::JOB_PHASE_FAILED)) << "of what has failed";
  kube::v1::Pod pod = Pod("j-a-0", POD_PHASE_RUNNING);
  pod.set_restarts(1);
  Put(pod);
  EXPECT_TRUE(IsNeeded()) << "of what restarts";
  EXPECT_EQ(RestartsInPlace(pods_), 1);
  pod.set_deletion_ms(1);
  Put(pod);
  EXPECT_TRUE(IsNeeded()) << "of what goes";
  pods_.Remove(pod.name(), pod.uid());
  EXPECT_FALSE(IsNeeded());
  Put(Pod("j-b-0", POD_PHASE_PENDING));
  EXPECT_TRUE(IsNeeded()) << "of what waits";
}

TEST_F(PodSurveyTest, PodsThatWaitAreGatheredByWhyTheMostFirst) {
  int64_t created_ms = 5000;
  for (const char* name : {"j-b-0", "j-b-1"}) {
    kube::v1::Pod pod = Pod(name, POD_PHASE_PENDING);
    pod.set_node_name("n");
    pod.set_creation_ms(created_ms -= 1000);
    Put(pod, "ImagePullBackOff");
  }
  Put(Pod("j-a-0", POD_PHASE_PENDING), "ImagePullBackOff");
  const PodFindings found = Find();
  ASSERT_EQ(found.waiting.size(), 2u);
  EXPECT_EQ(found.waiting[0].reason, "ImagePullBackOff");
  EXPECT_TRUE(found.waiting[0].on_node);
  EXPECT_EQ(found.waiting[0].count, 2);
  EXPECT_EQ(found.waiting[0].example, "j-b-0");
  EXPECT_EQ(found.waiting[0].since_ms, 3000);
  EXPECT_FALSE(found.waiting[1].on_node);
  EXPECT_EQ(found.waiting[1].example, "j-a-0");
}

TEST_F(PodSurveyTest, PodsThatRestartAreTheOnesThatAreDownAgain) {
  for (const char* name : {"j-a-0", "j-b-0", "j-b-1"}) {
    kube::v1::Pod pod = Pod(name, POD_PHASE_RUNNING);
    pod.set_restarts(2);
    Put(pod, name == std::string("j-a-0") ? "" : "CrashLoopBackOff");
  }
  const PodFindings found = Find();
  ASSERT_EQ(found.restarting.size(), 1u);
  EXPECT_EQ(found.restarting[0].count, 2);
  EXPECT_EQ(found.restarting[0].restarts, 4);
  EXPECT_EQ(found.restarting[0].example, "j-b-0");
  EXPECT_EQ(found.restarting[0].task, "b");
  EXPECT_TRUE(found.restarting[0].always);
  EXPECT_EQ(RestartsInPlace(pods_), 6);
}

TEST_F(PodSurveyTest, FailuresAreToldOfAJobThatRestsByTaskTheFirstOneFirst) {
  const std::pair<const char*, int64_t> ends[] = {{"j-a-0", 0}, {"j-a-1", 300}, {"j-a-2", 200}, {"j-b-0", 100}};
  for (const auto& [name, finished_ms] : ends) {
    kube::v1::Pod pod = Pod(name, POD_PHASE_FAILED);
    pod.set_finished_ms(finished_ms);
    pod.set_exit_code(7);
    Put(pod, "Error");
  }
  EXPECT_TRUE(Find(kube::v1::JOB_PHASE_RUNNING).failed.empty());
  const PodFindings found = Find(kube::v1::JOB_PHASE_FAILED);
  ASSERT_EQ(found.failed.size(), 2u);
  EXPECT_EQ(found.failed[0].first, "j-b-0");
  EXPECT_EQ(found.failed[1].first, "j-a-2") << "when the first of them ended nobody knows";
  EXPECT_EQ(found.failed[1].count, 3);
  EXPECT_EQ(found.failed[1].exit_code, 7);
  EXPECT_EQ(found.failed[1].reason, "Error");
}

TEST_F(PodSurveyTest, OnePodThatGoesIsNamed) {
  EXPECT_EQ(Find().going, "");
  PodRules rules;
  rules.version = 1;
  pods_.SetRules(rules);
  Put(Pod("j-a-1", POD_PHASE_RUNNING));
  EXPECT_EQ(Find().going, "j-a-1") << "it is to go";
  kube::v1::Pod pod = Pod("j-b-0", POD_PHASE_PENDING);
  pod.set_deletion_ms(1);
  Put(pod);
  const PodFindings found = Find();
  EXPECT_EQ(found.going, "j-b-0") << "it goes already";
  EXPECT_TRUE(found.waiting.empty());
}

TEST_F(PodSurveyTest, PodsOfOthersAndOfBeforeAreNotToldOf) {
  kube::v1::Pod foreign = Pod("j-a-0", POD_PHASE_PENDING);
  foreign.set_owner_uid("somebody");
  Put(foreign);
  Put(Pod("j-a-1", POD_PHASE_PENDING));
  records_["j-a-1"].set_uid("of one before");
  records_["j-a-2"].set_uid("of one that is gone");
  EXPECT_TRUE(Find().waiting.empty());
}

}  // namespace
}  // namespace basalt::jobsvc
