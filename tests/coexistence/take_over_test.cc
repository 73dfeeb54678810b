// Upstream's controllers are stopped and Basalt is started. Basalt takes over the objects that upstream left, as they
// are, continues them as the specification says, and can hand them back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/testing/temp_dir.h"
#include "tests/coexistence/fixtures.h"
#include "tests/coexistence/wire_forms.h"
#include "tests/e2e/harness.h"

namespace basalt::coexistence {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(60);

class TakeOverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kube_ = StartKubernetes(dir_.path());
    ASSERT_NE(kube_, nullptr);
    PlantQueues(*kube_);
  }
  void TearDown() override {
    Stop();
    kube_.reset();
  }

  void StartSuite() {
    dev::ProcessSuiteOptions options;
    options.bin_dir = e2e::BinDir();
    options.dir = dir_ / fmt::format("suite-{}", ++starts_);  // The disk is empty.
    options.kube = kube_->Access();
    auto suite = dev::ProcessSuite::Start(std::move(options));
    ASSERT_TRUE(suite.ok()) << suite.status();
    suite_ = *std::move(suite);
  }
  void Stop() { suite_.reset(); }

  // Creates a job after all others. Once the suite has written its phase, the suite has processed the earlier objects.
  void AwaitQuiet() {
    const std::string name = fmt::format("probe-{}", ++probes_);
    LeftJob probe{.name = name, .replicas = 1, .status = "{}", .group = LeftGroup::kNone};
    Plant(*kube_, probe);
    EXPECT_TRUE(Eventually([&] { return kube_->PhaseOf(name) == "Pending"; })) << name;
    // The suite writes a change of counts alone three seconds after the counts differ, and at most every five seconds.
    size_t before = SIZE_MAX;
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
      const size_t now = kube_->AllWrites().size();
      const bool quiet = now == before && absl::Now() - changed_ > absl::Seconds(7);
      if (now != before) changed_ = absl::Now();
      before = now;
      return quiet;
    })) << "the suite does not come to rest";
  }
  static bool Eventually(const std::function<bool()>& condition) { return e2e::Eventually(kLimit, condition); }
  bool Exists(const std::string& path) { return !kube_->Get(path).is_null(); }
  std::string At(const std::string& path, std::initializer_list<std::string_view> member) {
    return cli::TextAt(kube_->Get(path), member);
  }
  bool Becomes(const std::string& job, const std::string& phase) {
    return Eventually([&] { return kube_->PhaseOf(job) == phase; });
  }
  // Expects that every planted object is still the same object.
  void ExpectSame(const Planted& planted, const std::string& what) {
    for (const auto& [path, uid] : planted.uids) EXPECT_EQ(At(path, {"metadata", "uid"}), uid) << what << ": " << path;
    if (!planted.group.empty()) {
      EXPECT_EQ(At(GroupPath(planted.group), {"metadata", "uid"}), planted.group_uid) << what;
    }
  }

  testing::TempDir dir_;
  std::unique_ptr<Kubernetes> kube_;
  std::unique_ptr<dev::ProcessSuite> suite_;
  int starts_ = 0, probes_ = 0;
  absl::Time changed_ = absl::InfinitePast();
};

constexpr char kTwoRun[] = R"("minAvailable":3,"running":2,"succeeded":1,
    "taskStatusCount":{"work":{"phase":{"Running":2,"Succeeded":1}}})";
constexpr char kThreeRun[] = R"("minAvailable":3,"running":3,"taskStatusCount":{"work":{"phase":{"Running":3}}})";
constexpr char kKilled[] = R"("minAvailable":3,"version":1,"runningDuration":"17.5s")";
constexpr char kMarked[] = R"(,"controlledResources":{"plugin-svc":"svc","plugin-ssh":"ssh"})";

std::vector<LeftPod> ThreeRunning(int version = 0) {
  return {{0, "Running", version}, {1, "Running", version}, {2, "Running", version}};
}

TEST_F(TakeOverTest, RunningJobsAreTakenOverWithoutTouchingTheirPodsAndGoOn) {
  const Planted whole = Plant(*kube_, {.name = "whole",
                                       .plugins = true,
                                       .status = StatusOf({"Pending", "Running"}, std::string(kTwoRun) + kMarked),
                                       .pods = {{0, "Running"}, {1, "Running"}, {2, "Succeeded"}}});
  const Planted plain = Plant(*kube_, {.name = "plain",
                                       .policies = R"([{"event":"PodFailed","action":"RestartJob"}])",
                                       .status = StatusOf({"Pending", "Running"}, kThreeRun),
                                       .pods = ThreeRunning()});
  const Planted gap = Plant(*kube_, {.name = "gap",
                                     .status = StatusOf({"Pending", "Restarting", "Running"},
                                                        R"("minAvailable":3,"running":2,"version":2,"retryCount":1,
                                     "taskStatusCount":{"work":{"phase":{"Running":2}}})"),
                                     .pods = {{0, "Running", 2}, {2, "Running", 2}}});
  const Planted old = Plant(*kube_, {.name = "old",
                                     .status = StatusOf({"Pending", "Running"}, kThreeRun),
                                     .pods = {{0, "Running"}, {1, "Running"}},
                                     .group = LeftGroup::kOld});
  const Planted claims = Plant(
      *kube_, {.name = "claims",
               .claim = "claims-pvc-0a1b2c3d4e5f",
               .status = StatusOf(
                   {"Pending", "Running"},
                   std::string(kThreeRun) +
                       R"(,"controlledResources":{"volume-pvc-claims-pvc-0a1b2c3d4e5f":"claims-pvc-0a1b2c3d4e5f"})"),
               .pods = {{0, "Running"}, {1, "Running"}}});
  const std::string plain_pod_group = PlantPlainPod(*kube_, "bare");
  const std::string secret_path = "/api/v1/namespaces/default/secrets/whole-ssh";
  const std::string config_path = "/api/v1/namespaces/default/configmaps/whole-svc";
  const json::value secret = kube_->Get(secret_path);
  const json::value config = kube_->Get(config_path);
  kube_->Mark();
  StartSuite();
  EXPECT_TRUE(Eventually([&] {
    return Exists(PodPath("gap-work-1")) && Exists(PodPath("old-work-2")) && Exists(PodPath("claims-work-2"));
  })) << "missing pods are not made";
  AwaitQuiet();

  ExpectSame(whole, "whole");
  ExpectSame(plain, "plain");
  ExpectSame(gap, "gap");
  ExpectSame(old, "old");
  ExpectSame(claims, "claims");
  std::multiset<std::string> made;
  for (const Write& write : kube_->Writes()) {
    EXPECT_FALSE(write.verb.starts_with("delete")) << write.Text();
    if (write.verb == "create" && !write.name.starts_with("probe")) made.insert(write.Text());
    EXPECT_TRUE(write.resource != "podgroups" || write.name.starts_with("probe")) << write.Text();
  }
  EXPECT_EQ(made, (std::multiset<std::string>{"create pods claims-work-2 -> 201", "create pods gap-work-1 -> 201",
                                              "create pods old-work-2 -> 201"}));
  EXPECT_EQ(kube_->WritesOf("plain"), std::vector<std::string>{}) << "there was nothing to say about it";
  EXPECT_EQ(kube_->WritesOf("bare"), std::vector<std::string>{});
  EXPECT_EQ(kube_->WritesOf(plain_pod_group), std::vector<std::string>{});
  EXPECT_EQ(*Find(kube_->Get(secret_path), "data"), *Find(secret, "data")) << "its pods log in with these keys";
  EXPECT_EQ(*Find(kube_->Get(config_path), "data"), *Find(config, "data"));

  // The fields that upstream wrote remain beside ours.
  const json::value gap_status = *Find(kube_->Get(JobPath("gap")), "status");
  EXPECT_EQ(FindInt(gap_status, "version"), 2);
  EXPECT_EQ(FindInt(gap_status, "retryCount"), 1);
  EXPECT_EQ(Find(gap_status, "conditions")->get_array().size(), 3u);
  const json::value made_pod = kube_->Get(PodPath("gap-work-1"));
  EXPECT_EQ(cli::TextAt(made_pod, {"metadata", "annotations", "volcano.sh/job-version"}), "2");
  EXPECT_EQ(cli::TextAt(made_pod, {"metadata", "annotations", "scheduling.k8s.io/group-name"}), gap.group);
  EXPECT_EQ(At(PodPath("old-work-2"), {"metadata", "annotations", "scheduling.k8s.io/group-name"}), "old");
  EXPECT_EQ(At(JobPath("whole"), {"status", "controlledResources", "plugin-ssh"}), "ssh");
  EXPECT_EQ(At(JobPath("claims"), {"status", "state", "reason"}), "");

  // The jobs go on: one to its end, one by its policy.
  for (const char* pod : {"whole-work-0", "whole-work-1"}) kube_->SetPodPhase(pod, "Succeeded");
  for (const char* pod : {"gap-work-0", "gap-work-1", "gap-work-2"}) kube_->SetPodPhase(pod, "Succeeded");
  EXPECT_TRUE(Becomes("whole", "Completed"));
  EXPECT_TRUE(Becomes("gap", "Completed"));
  EXPECT_TRUE(Eventually([&] {
    return std::none_of(whole.uids.begin(), whole.uids.end(), [&](const auto& object) {
      return !object.first.starts_with(PodPath()) && Exists(object.first);
    });
  })) << "what the plugins made is left behind";
  kube_->SetPodPhase("plain-work-1", "Failed", 7);
  EXPECT_TRUE(Becomes("plain", "Restarting"));
  EXPECT_EQ(FindInt(*Find(kube_->Get(JobPath("plain")), "status"), "retryCount"), 1);
  const auto all_going = [&] {
    for (const json::value& pod : kube_->List(PodPath())) {
      const std::string name = cli::TextAt(pod, {"metadata", "name"});
      const bool going = !cli::TextAt(pod, {"metadata", "deletionTimestamp"}).empty();
      if (name.starts_with("plain-") && going) kube_->Delete(PodPath(name), true);
      if (name.starts_with("plain-") && !going) return false;
    }
    return true;
  };
  EXPECT_TRUE(Eventually(all_going));
  EXPECT_TRUE(Eventually([&] {
    const std::string uid = At(GroupPath(plain.group), {"metadata", "uid"});
    return !uid.empty() && uid != plain.group_uid;
  })) << "the run that follows has no group of its own";
  kube_->SetGroupPhase(plain.group, "Inqueue");
  EXPECT_TRUE(Eventually([&] { return Exists(PodPath("plain-work-2")); }));
  EXPECT_EQ(At(PodPath("plain-work-2"), {"metadata", "annotations", "volcano.sh/job-version"}), "1");

  Stop();
  ExpectUpstreamCanGoOn(*kube_);
}

TEST_F(TakeOverTest, AnEndedJobIsNotWrittenAndAnEndingOneEnds) {
  Plant(*kube_, {.name = "done",
                 .status = StatusOf({"Pending", "Running", "Completed"}, kKilled),
                 .pods = {{0, "Succeeded"}, {1, "Succeeded"}, {2, "Succeeded"}},
                 .group = LeftGroup::kNone});
  Plant(*kube_, {.name = "failed",
                 .status = StatusOf({"Pending", "Running", "Failed"}, std::string(kKilled) + R"(,"retryCount":3)"),
                 .pods = {{0, "Succeeded"}, {1, "Failed"}},
                 .group = LeftGroup::kNone});
  const Planted paused = Plant(*kube_, {.name = "paused",
                                        .status = StatusOf({"Pending", "Running", "Aborting", "Aborted"}, kKilled),
                                        .pods = {{0, "Succeeded"}},
                                        .group = LeftGroup::kNone});
  Plant(*kube_, {.name = "going",
                 .status = StatusOf({"Pending", "Running", "Terminating"},
                                    R"("minAvailable":3,"version":1,"terminating":1,"runningDuration":"3s")"),
                 .pods = {{0, "Running", 0, true}, {1, "Succeeded"}},
                 .group = LeftGroup::kNone});
  const Planted cut = Plant(*kube_, {.name = "cut",
                                     .plugins = true,
                                     .status = StatusOf({"Pending", "Running", "Completed"},
                                                        std::string(R"("minAvailable":3,"succeeded":3,"taskStatusCount":
                                        {"work":{"phase":{"Succeeded":3}}})") +
                                                            kMarked),
                                     .pods = {{0, "Succeeded"}, {1, "Succeeded"}, {2, "Succeeded"}}});
  const Planted again = Plant(*kube_, {.name = "again",
                                       .status = StatusOf({"Pending", "Running", "Restarting"},
                                                          R"("minAvailable":3,"version":1,"retryCount":1,
                                                             "terminating":3)"),
                                       .group = LeftGroup::kNone});
  const Planted queued = Plant(
      *kube_, {.name = "queued", .status = StatusOf({"Pending"}, R"("minAvailable":3)"), .group_phase = "Pending"});
  kube_->Mark();
  StartSuite();
  EXPECT_TRUE(Eventually([&] { return !Exists(GroupPath(cut.group)); }));
  AwaitQuiet();

  for (const char* name : {"done", "failed", "paused", "queued"}) {
    EXPECT_EQ(kube_->WritesOf(name), std::vector<std::string>{}) << name;
  }
  for (const auto& [path, uid] : cut.uids) EXPECT_EQ(Exists(path), path.starts_with(PodPath())) << path;
  EXPECT_EQ(At(JobPath("cut"), {"status", "controlledResources", "plugin-svc"}), "");
  EXPECT_EQ(kube_->PhaseOf("going"), "Terminating");
  kube_->Delete(PodPath("going-work-0"), true);
  EXPECT_TRUE(Becomes("going", "Terminated"));
  EXPECT_TRUE(Exists(PodPath("going-work-1")));

  EXPECT_TRUE(Becomes("again", "Pending"));
  const std::string again_group = fmt::format("again-{}", again.uid);
  EXPECT_TRUE(Eventually([&] { return Exists(GroupPath(again_group)); }));
  kube_->SetGroupPhase(again_group, "Inqueue");
  EXPECT_TRUE(Eventually([&] { return Exists(PodPath("again-work-2")); }));
  EXPECT_EQ(At(PodPath("again-work-2"), {"metadata", "annotations", "volcano.sh/job-version"}), "1");

  kube_->SetGroupPhase(queued.group, "Inqueue");
  EXPECT_TRUE(Eventually([&] { return Exists(PodPath("queued-work-2")); }));
  ExpectSame(queued, "queued");

  // The aborted job continues where it was: a pod that had succeeded is not created again.
  PlantCommand(*kube_, "paused", paused.uid, "ResumeJob");
  EXPECT_TRUE(Becomes("paused", "Pending"));
  EXPECT_TRUE(Eventually([&] { return kube_->List("/apis/bus.volcano.sh/v1alpha1/commands").empty(); }));
  const std::string paused_group = fmt::format("paused-{}", paused.uid);
  EXPECT_TRUE(Eventually([&] { return Exists(GroupPath(paused_group)); }));
  kube_->SetGroupPhase(paused_group, "Inqueue");
  EXPECT_TRUE(Eventually([&] { return Exists(PodPath("paused-work-1")) && Exists(PodPath("paused-work-2")); }));
  ExpectSame(paused, "paused");
  EXPECT_EQ(FindInt(*Find(kube_->Get(JobPath("paused")), "status"), "retryCount"), 0);
  for (const char* pod : {"paused-work-1", "paused-work-2"}) kube_->SetPodPhase(pod, "Succeeded");
  EXPECT_TRUE(Becomes("paused", "Completed"));

  Stop();
  ExpectUpstreamCanGoOn(*kube_);
}

}  // namespace
}  // namespace basalt::coexistence
