// The handlers and a watch over real controllers, stores and a small API server, under simulated time. Two workers,
// each with an API server of its own that holds the jobs of its slots.
#include "services/jobsvc/api/job_api.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "services/jobsvc/api/job_page.h"
#include "services/jobsvc/api/testing.h"
#include "services/jobsvc/api/watch/job_watch.h"
#include "services/jobsvc/testing/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::WatchJobsResponse;

std::string ManifestOf(const std::string& name, const std::string& spec = R"("queue":"default")") {
  return R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":")" + name + R"("},"spec":{)" +
         spec +
         R"(,"tasks":[{"name":"t","replicas":2,"template":{"spec":{"restartPolicy":"Never",)"
         R"("containers":[{"name":"c","image":"i"}]}}}]}})";
}

// The only replica of its service.
class OneMember final : public rpc::Members {
 public:
  gateway::v1::Member self() const override {
    gateway::v1::Member member;
    member.set_replica("jobsvc-0");
    return member;
  }
  std::vector<gateway::v1::Member> all() const override { return {self()}; }
};

class JobApiTest : public ::testing::Test {
 protected:
  JobApiTest() {
    for (JobRig* rig : Rigs()) {
      rig->on_start = [this](JobController& controller) { PublishChanges(controller, *hub_); };
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
    std::optional<absl::StatusOr<Response>> answer;
    (api_.*method)(std::move(request), [&](absl::StatusOr<Response> got) { answer = std::move(got); });
    Run(time);
    EXPECT_TRUE(answer.has_value()) << "no answer";
    return answer.value_or(absl::InternalError("no answer"));
  }
  absl::StatusOr<job::v1::Job> Submit(const std::string& manifest, bool dry_run = false) {
    job::v1::SubmitJobRequest request;
    request.set_manifest_json(manifest);
    request.set_dry_run(dry_run);
    return Ask(&JobApi::Submit, request);
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
    return Ask(&JobApi::Delete, request).status();
  }
  absl::StatusOr<job::v1::ListPartResponse> ListPart(const job::v1::ListJobsRequest& request, const SlotSet& slots) {
    job::v1::ListPartRequest part;
    *part.mutable_request() = request;
    part.set_slots(slots.ToBytes());
    return Ask(&JobApi::ListPart, part);
  }
  // Names of one page, and what follows it.
  std::string List(const job::v1::ListJobsRequest& request, std::string* next = nullptr) {
    const auto part = ListPart(request, SlotSet::All());
    if (!part.ok()) return part.status().ToString();
    const job::v1::ListJobsResponse response = ToPage(*part);
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
  // What a client reads: "STATE name, …".
  std::string Drain(JobWatch& watch) {
    std::string text;
    WatchJobsResponse response;
    while (watch.Take(&response)) {
      if (!response.token().empty()) token_ = response.token();
      if (response.type() != WatchJobsResponse::TYPE_PROGRESS) {
        text += (text.empty() ? "" : ", ") + WatchJobsResponse::Type_Name(response.type()).substr(5);
        if (response.has_job()) text += " " + response.job().object().meta().name();
      }
      response.Clear();
    }
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

  const std::shared_ptr<WatchHub> hub_ = std::make_shared<WatchHub>();
  JobRig rigs_[2];
  RigWorkers workers_{Rigs()};
  OneMember members_;
  JobApi api_{workers_, hub_};
  std::string token_;
};

TEST_F(JobApiTest, ASubmittedJobIsMadeWithItsDefaultsAndRuns) {
  const auto job = Submit(ManifestOf("j"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_NE(job->object().meta().uid(), "");
  EXPECT_EQ(job->object().meta().namespace_(), "default");
  EXPECT_EQ(job->object().spec().min_available(), 2);
  EXPECT_EQ(job->object().spec().scheduler_name(), "volcano");
  Run();
  EXPECT_EQ(RigOf("j").kube().pods().size(), 2u);
}

TEST_F(JobApiTest, BadInputIsNamedAndNothingIsSent) {
  for (const bool dry_run : {false, true}) {
    const auto refused = Submit(ManifestOf("j", R"("minAvailable":"x")"), dry_run);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ToStd(refused.status().message()), "spec.minAvailable: expected a number, found a string");
  }
  EXPECT_EQ(Submit("{").status().code(), absl::StatusCode::kInvalidArgument);
  for (JobRig& rig : rigs_) EXPECT_TRUE(rig.kube().log().empty());
}

TEST_F(JobApiTest, ADryRunAsksKubernetesAndMakesNothing) {
  const auto checked = Submit(ManifestOf("j"), /*dry_run=*/true);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->object().spec().min_available(), 2) << "with its defaults";
  EXPECT_EQ(checked->object().meta().uid(), "");
  const FakeKube& kube = RigOf("j").kube();
  ASSERT_EQ(kube.log().size(), 1u);
  EXPECT_TRUE(kube.log()[0].dry_run);
  EXPECT_TRUE(kube.jobs().empty());
  EXPECT_EQ(Get("j").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Submit(ManifestOf("j")).ok());
  EXPECT_EQ(Submit(ManifestOf("j"), true).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(JobApiTest, WhatKubernetesRefusesComesBackWithItsWordsAndACodeThatFits) {
  struct Case {
    int code;
    const char* reason;
    absl::StatusCode expected;
  };
  for (const Case& c : std::vector<Case>{{400, "BadRequest", absl::StatusCode::kInvalidArgument},
                                         {403, "Forbidden", absl::StatusCode::kPermissionDenied},
                                         {404, "NotFound", absl::StatusCode::kNotFound},
                                         {409, "AlreadyExists", absl::StatusCode::kAlreadyExists},
                                         {409, "Conflict", absl::StatusCode::kAborted},
                                         {413, "RequestEntityTooLarge", absl::StatusCode::kFailedPrecondition},
                                         {422, "Invalid", absl::StatusCode::kInvalidArgument},
                                         {429, "TooManyRequests", absl::StatusCode::kResourceExhausted},
                                         {500, "InternalError", absl::StatusCode::kUnknown},
                                         {503, "ServiceUnavailable", absl::StatusCode::kUnknown}}) {
    RigOf("j").kube().SetRefuse([&](const gateway::v1::WriteRequest&, gateway::v1::KubeError& error) {
      error.set_code(c.code);
      error.set_reason(c.reason);
      error.set_message("metadata.labels: Invalid value");
      return true;
    });
    for (const bool dry_run : {false, true}) {
      const absl::Status status = Submit(ManifestOf("j"), dry_run).status();
      // Nobody repeats what may have been done; a check may be repeated.
      const absl::StatusCode expected =
          dry_run && c.expected == absl::StatusCode::kUnknown ? absl::StatusCode::kUnavailable : c.expected;
      EXPECT_EQ(status.code(), expected) << c.code << " " << c.reason << ": " << status;
      const std::string_view words =
          c.expected == absl::StatusCode::kAlreadyExists ? "job default/j exists already" : "metadata.labels: Invalid";
      EXPECT_NE(ToStd(status.message()).find(words), std::string_view::npos) << status;
    }
  }
  EXPECT_TRUE(RigOf("j").kube().jobs().empty());
}

TEST_F(JobApiTest, ALostAnswerIsToldForASubmissionAndWorthAnotherTryForADryRun) {
  RigOf("j").fate = [](const gateway::v1::WriteRequest&) { return Fate::kLostAnswer; };
  EXPECT_EQ(Submit(ManifestOf("j"), true).status().code(), absl::StatusCode::kUnavailable);
  const absl::Status status = Submit(ManifestOf("j")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_NE(ToStd(status.message()).find("look before you repeat"), std::string_view::npos) << status;
  RigOf("k").fate = [](const gateway::v1::WriteRequest&) { return Fate::kNotSent; };
  EXPECT_EQ(Submit(ManifestOf("k")).status().code(), absl::StatusCode::kUnavailable);
}

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

TEST_F(JobApiTest, AWatchEndsWhenNobodyAnswersForASlotForLong) {
  rigs_[1].ready = false;
  const auto watch = Watch({});
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Drain(*watch), "");
    watch->Tick();
    Run();
  }
  ASSERT_TRUE(watch->End().has_value());
  EXPECT_EQ(watch->End()->code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(ToStd(watch->End()->message()).find("jobsvc-0"), std::string_view::npos) << *watch->End();
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

TEST_F(JobApiTest, AWatchBeginsWithWhatThereIsAndGoesOnWithWhatChanges) {
  Put("a");
  Put("b");
  Run();
  const auto watch = Watch({});
  const std::string start = Drain(*watch);
  EXPECT_TRUE(start == "STATE a, STATE b, SYNCED" || start == "STATE b, STATE a, SYNCED") << start;
  Put("c");
  Run();
  EXPECT_EQ(Drain(*watch), "STATE c");
  RigOf("a").kube().DeleteJob("default/a");
  Run();
  EXPECT_EQ(Drain(*watch), "DELETED a");
  Run(absl::Seconds(30));  // Counts are written late.
  Drain(*watch);
  Run(absl::Minutes(5));
  EXPECT_EQ(Drain(*watch), "") << "nothing changes that people would see";
}

TEST_F(JobApiTest, AJobIsToldOnceAPassHasGivenItARevision) {
  kube::v1::Object object;
  *object.mutable_job() = MakeJob("a", 1, 2);
  JobController& controller = RigOf("a").controller();
  controller.OnState("default/a", std::string(kube::kWatchJobs), std::move(object));
  const auto watch = Watch({});
  EXPECT_EQ(Drain(*watch), "SYNCED") << "were it deleted before its pass, nobody would hear of that";
  controller.context().Wake("default/a");
  Run();
  EXPECT_EQ(Drain(*watch), "STATE a");
}

TEST_F(JobApiTest, AResumedWatchTellsOnlyWhatHappenedMeanwhile) {
  Put("a");
  Put("b");
  Put("c");
  Run(absl::Seconds(10));
  Drain(*Watch({}));
  RigOf("a").kube().DeleteJob("default/a");
  RigOf("b").kube().SetAllPods(kube::v1::POD_PHASE_RUNNING);
  Run(absl::Seconds(5));
  job::v1::WatchJobsRequest request;
  request.set_token(token_);
  request.set_name("b");
  EXPECT_EQ(Drain(*Watch(request)), "STATE b, SYNCED");
  request.set_name("a");
  EXPECT_EQ(Drain(*Watch(request)), "DELETED a, SYNCED");
  request.set_namespace_("default");
  EXPECT_EQ(Drain(*Watch(request)), "DELETED a, SYNCED") << "asked of its owner alone";
  request.clear_namespace_();
  request.set_name("");
  request.set_token("another.1");
  const std::string reset = Drain(*Watch(request));
  EXPECT_TRUE(reset == "RESET, STATE b, STATE c, SYNCED" || reset == "RESET, STATE c, STATE b, SYNCED") << reset;
}

TEST_F(JobApiTest, ATokenOutlivesTheProcessButNotItsDisk) {
  Put("a");
  Put("b");
  Put("gone");
  Run(absl::Seconds(30));
  Drain(*Watch({}));
  Restart();
  job::v1::WatchJobsRequest request;
  request.set_token(token_);
  EXPECT_EQ(Drain(*Watch(request)), "SYNCED") << "nothing that was told is told again";
  for (JobRig& rig : rigs_) rig.Kill();
  RigOf("gone").kube().DeleteJob("default/gone");
  Restart();
  Put("c");
  Run();
  const std::string missed = Drain(*Watch(request));
  EXPECT_NE(missed.find("DELETED gone"), std::string::npos) << missed;
  EXPECT_NE(missed.find("STATE c"), std::string::npos) << missed;
  EXPECT_EQ(missed.find("RESET"), std::string::npos) << missed;
  EXPECT_EQ(missed.find("STATE a"), std::string::npos) << missed;

  Restart(/*lose_disk=*/true);
  const std::string lost = Drain(*Watch(request));
  EXPECT_TRUE(lost.starts_with("RESET")) << lost;
  for (const std::string name : {"a", "b", "c"}) EXPECT_NE(lost.find("STATE " + name), std::string::npos) << lost;
  EXPECT_EQ(lost.find("gone"), std::string::npos) << lost;
}

TEST_F(JobApiTest, AResetIsOfTheSlotsThatAreNotKnownAlone) {
  Put("a");
  Put("b");
  Put("c");
  Put("d");
  Run(absl::Seconds(30));
  Drain(*Watch({}));
  rigs_[0].Kill();
  rigs_[0].LoseDisk();
  rigs_[0].Start();
  Run();
  job::v1::WatchJobsRequest request;
  request.set_token(token_);
  const auto watch = Watch(request);
  WatchJobsResponse response;
  std::set<uint32_t> reset;
  while (watch->Take(&response)) {
    for (const uint32_t slot : response.slots()) reset.insert(slot);
    if (response.has_job()) {
      EXPECT_TRUE(reset.contains(response.slot())) << response.job().object().meta().name();
    }
    response.Clear();
  }
  std::set<uint32_t> expected;
  for (const std::string name : {"a", "b", "c", "d"}) {
    if (const uint32_t slot = SlotOf("default/" + name); slot % 2 == 0) expected.insert(slot);
  }
  EXPECT_EQ(reset, expected);
}

TEST_F(JobApiTest, AWatchThatIsCutOffAnywhereMissesNothing) {
  for (char c = 'a'; c <= 'h'; ++c) Put(std::string(1, c), 3);
  Run(absl::Seconds(10));
  std::map<std::string, int64_t> seen;  // Name -> resourceVersion.
  std::string token;
  for (int taken = 0; taken < 60; ++taken) {
    // Each life of the client reads some messages, then the stream breaks.
    job::v1::WatchJobsRequest request;
    request.set_namespace_("default");
    request.set_token(token);
    const auto watch = Watch(request);
    WatchJobsResponse response;
    std::map<std::string, int64_t> since_token;
    for (int i = 0; i < 1 + taken % 5 && watch->Take(&response); ++i) {
      ASSERT_NE(response.type(), WatchJobsResponse::TYPE_RESET);
      const auto& meta = response.job().object().meta();
      if (response.type() == WatchJobsResponse::TYPE_STATE) {
        EXPECT_GE(meta.resource_version(), seen[meta.name()]) << "never older";
        seen[meta.name()] = meta.resource_version();
      }
      if (!response.token().empty()) token = response.token();
      response.Clear();
    }
    RigOf(std::string(1, static_cast<char>('a' + taken % 8)))
        .kube()
        .SetAllPods(taken % 2 == 0 ? kube::v1::POD_PHASE_RUNNING : kube::v1::POD_PHASE_PENDING);
    if (taken % 7 == 3) Restart();
    Run(absl::Seconds(7));
  }
  Run(absl::Seconds(30));
  job::v1::WatchJobsRequest request;
  request.set_namespace_("default");
  request.set_token(token);
  const auto watch = Watch(request);
  WatchJobsResponse response;
  while (watch->Take(&response)) {
    if (response.has_job()) {
      seen[response.job().object().meta().name()] = response.job().object().meta().resource_version();
    }
    response.Clear();
  }
  EXPECT_EQ(seen.size(), 8u);
  for (const auto& [name, version] : seen) EXPECT_EQ(version, Get(name)->object().meta().resource_version()) << name;
}

TEST_F(JobApiTest, HistoryOutlivesTheJobAndIsToldByUid) {
  Put("j");
  Run();
  RigOf("j").kube().SetAllPods(kube::v1::POD_PHASE_SUCCEEDED);
  Run(absl::Seconds(30));
  const auto history = History("j");
  ASSERT_TRUE(history.ok()) << history.status();
  const std::string first = history->uid();
  ASSERT_GE(history->entries_size(), 2);
  for (int i = 0; i < history->entries_size(); ++i) {
    EXPECT_EQ(history->entries(i).sequence(), i + 1);
    EXPECT_TRUE(history->entries(i).committed());
  }
  EXPECT_EQ(history->entries().rbegin()->to_phase(), kube::v1::JOB_PHASE_COMPLETED);
  EXPECT_TRUE(Delete("j").ok());
  Run(absl::Seconds(5));
  EXPECT_EQ(Get("j").status().code(), absl::StatusCode::kNotFound);
  Put("j");
  Run(absl::Seconds(5));
  EXPECT_NE(History("j")->uid(), first);
  EXPECT_EQ(History("j", first)->entries_size(), history->entries_size());
  EXPECT_EQ(History("j", "no-such-uid").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ToStd(History("other").status().message()), "there is no history of a job default/other");
}

TEST_F(JobApiTest, HistoryEndsSomeTimeAfterItsJobAndNotBefore) {
  Put("gone");
  Put("stays");
  Run(absl::Seconds(5));
  Run(absl::Hours(24 * 9));
  EXPECT_TRUE(Delete("gone").ok());
  Run(absl::Hours(24 * 6));
  EXPECT_TRUE(History("gone").ok());
  Run(absl::Hours(26));
  EXPECT_EQ(History("gone").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(History("stays").ok()) << "it has decided nothing for a week, and is there";
}

TEST_F(JobApiTest, ALongHistoryLosesItsBeginning) {
  JobRig& rig = RigOf("j");
  rig.options.history_entries = 10;
  rig.Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 1), "PodFailed", "RestartPod");
  job.mutable_spec()->set_max_retry(1000);
  rig.kube().PutJob(job);
  for (int i = 0; i < 12; ++i) {
    rig.Run();
    rig.kube().SetAllPods(kPodRunning);
    rig.Run();
    rig.kube().SetAllPods(kPodFailed);
  }
  rig.Run(absl::Seconds(5));
  const auto history = History("j");
  ASSERT_TRUE(history.ok());
  EXPECT_LE(history->entries_size(), 10);
  EXPECT_GE(history->entries_size(), 8);
  EXPECT_EQ(history->entries().rbegin()->sequence() - history->entries(0).sequence() + 1, history->entries_size())
      << "without a gap";
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
