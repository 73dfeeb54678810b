#include "services/jobsvc/api/job_api.h"

#include <gtest/gtest.h>

#include "common/base/status.h"
#include "services/jobsvc/api/job_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(JobApiTest, AReplicaThatIsNotReadyForTheJobSaysSoWhateverItIsAsked) {
  Put("j");
  Run();
  SetReady(false);
  const std::vector<absl::Status> answers = {Submit(ManifestOf("j")).status(), Submit(ManifestOf("j"), true).status(),
                                             Get("j").status(), History("j").status(), Delete("j")};
  for (const absl::Status& status : answers) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_NE(ToStd(status.message()).find("job default/j"), std::string_view::npos) << status;
  }
  for (const auto& write : RigOf("j").kube().log()) {
    EXPECT_NE(write.plural, "jobs") << write.verb << ": what was asked must not be done";
  }
}

TEST_F(JobApiTest, WhileOneSlotIsStartingAllJobsCannotBeTold) {
  Put("j");
  Run();
  rigs_[1].ready = false;
  const absl::Status list = ListPart({}, SlotSet::All()).status();
  EXPECT_EQ(list.code(), absl::StatusCode::kUnavailable) << list;
  EXPECT_NE(ToStd(list.message()).find("512 of its 1024 slots are still starting"), std::string_view::npos) << list;
  SlotSet ready;
  for (uint32_t slot = 0; slot < kSlotCount; slot += 2) ready.Insert(slot);
  EXPECT_TRUE(ListPart({}, ready).ok()) << "nobody asked for the others";
  const auto watch = Watch({});
  EXPECT_EQ(Drain(*watch).find("SYNCED"), std::string::npos);

  rigs_[1].ready = true;
  EXPECT_EQ(List({}), "j");
  watch->Tick();
  Run();
  EXPECT_NE(Drain(*watch).find("SYNCED"), std::string::npos);
  EXPECT_FALSE(watch->End().has_value());
}

TEST_F(JobApiTest, AQueueThatAdmitsNothingIsWhatAJobWaitsFor) {
  for (JobRig& rig : rigs_) rig.kube().new_group_phase = "Pending";
  const auto put_queue = [&](const std::string& state) {
    kube::v1::Object object;
    object.mutable_queue()->mutable_meta()->set_name("default");
    object.mutable_queue()->set_state(state);
    for (JobRig& rig : rigs_) rig.controller().OnShared("queues", object, /*gone=*/state.empty());
    Run();
  };
  Put("j");
  Run();
  EXPECT_EQ(Get("j")->waiting_for(), "queue default does not exist");
  const auto watch = Watch({});
  Drain(*watch);
  put_queue("Open");
  EXPECT_EQ(Drain(*watch), "STATE j") << "also of the first that is heard of it";
  EXPECT_EQ(Get("j")->waiting_for(), "the scheduler has not admitted its PodGroup yet");
  put_queue("Closed");
  EXPECT_EQ(Drain(*watch), "STATE j") << "who watches is told";
  EXPECT_EQ(Get("j")->waiting_for(), "queue default is Closed");
  put_queue("");
  EXPECT_EQ(Drain(*watch), "STATE j");
  put_queue("Open");
  EXPECT_EQ(Drain(*watch), "STATE j");
}

TEST_F(JobApiTest, AJobIsShownWithItsPodsInOrderAndWhatItWaitsFor) {
  for (JobRig& rig : rigs_) rig.kube().new_group_phase = "Pending";
  Put("j", 12);
  Run();
  auto job = Get("j");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->pod_group_phase(), "Pending");
  EXPECT_NE(job->waiting_for(), "");
  EXPECT_EQ(job->total_replicas(), 12);
  EXPECT_EQ(job->pods_size(), 0);
  const std::string group = RigOf("j").kube().groups().begin()->first;
  RigOf("j").kube().SetGroupPhase(group, "Inqueue");
  Run();
  RigOf("j").kube().SetPodPhase("default/j-t0-10", kube::v1::POD_PHASE_RUNNING);
  Run();
  job = Get("j");
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->pods_size(), 12);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(job->pods(i).name(), "j-t0-" + std::to_string(i)) << "by index, not by text";
  EXPECT_EQ(job->pods(10).phase(), kube::v1::POD_PHASE_RUNNING);
  EXPECT_EQ(Get("other").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ToStd(Get("other").status().message()), "job default/other does not exist");
}

TEST_F(JobApiTest, PagesOfAllWorkersFollowEachOtherInTheOrderOfNames) {
  std::string all;
  for (char c = 'a'; c <= 'k'; ++c) {
    Put(std::string(1, c), 1);
    all += (all.empty() ? "" : " ") + std::string(1, c);
  }
  Run();
  ASSERT_FALSE(rigs_[0].kube().jobs().empty());
  ASSERT_FALSE(rigs_[1].kube().jobs().empty());
  EXPECT_EQ(List({}), all);
  for (const int size : {1, 2, 3, 10, 11, 12}) {
    job::v1::ListJobsRequest request;
    request.set_page_size(size);
    std::string got;
    do {
      std::string next;
      const std::string page = List(request, &next);
      EXPECT_LE(page.size(), size * 2u);
      got += (got.empty() ? "" : " ") + page;
      request.set_page_token(next);
    } while (!request.page_token().empty());
    EXPECT_EQ(got, all) << size;
  }
  job::v1::ListJobsRequest negative;
  negative.set_page_size(-1);
  EXPECT_EQ(List(negative), all);
}

TEST_F(JobApiTest, AListIsNarrowedByNamespaceQueueAndPhase) {
  Put("a");
  Put("b");
  kube::v1::Job other = MakeJob("c", 1, 1);
  other.mutable_spec()->set_queue("fast");
  RigOf("c").kube().PutJob(other);
  Run();
  RigOf("b").kube().SetPodPhase("default/b-t0-0", kube::v1::POD_PHASE_RUNNING);
  RigOf("b").kube().SetPodPhase("default/b-t0-1", kube::v1::POD_PHASE_RUNNING);
  Run(absl::Seconds(5));
  job::v1::ListJobsRequest request;
  request.set_queue("fast");
  EXPECT_EQ(List(request), "c");
  request.set_queue("none");
  EXPECT_EQ(List(request), "");
  request.clear_queue();
  request.set_namespace_("other");
  EXPECT_EQ(List(request), "");
  request.set_namespace_("default");
  request.add_phases(kube::v1::JOB_PHASE_RUNNING);
  EXPECT_EQ(List(request), "b");
  request.add_phases(kube::v1::JOB_PHASE_PENDING);
  EXPECT_EQ(List(request), "a b c");
}

TEST_F(JobApiTest, OnlyTheJobThatWasMeantIsDeleted) {
  Put("j");
  Run();
  const absl::Status other = Delete("j", "another-uid");
  EXPECT_EQ(other.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(ToStd(other.message()).find("another-uid"), std::string_view::npos);
  EXPECT_EQ(RigOf("j").kube().jobs().size(), 1u);
  EXPECT_TRUE(Delete("j", RigOf("j").kube().job("default/j").meta().uid()).ok());
  EXPECT_TRUE(RigOf("j").kube().jobs().empty());
  EXPECT_EQ(Delete("j").code(), absl::StatusCode::kNotFound);
}

TEST_F(JobApiTest, ADeletionThatSomebodyElseCarriedOutMeanwhileIsNotFound) {
  Put("j");
  Run();
  RigOf("j").kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_delete_()) return false;
    error.set_code(404);
    error.set_reason("NotFound");
    return true;
  });
  const absl::Status status = Delete("j");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ToStd(status.message()), "job default/j does not exist");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
