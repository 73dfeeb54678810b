// Objects of plugins, and claims.
#include <algorithm>
#include <map>
#include <string>

#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

std::map<std::string, std::string> UidsOfObjects(const JobKube& kube) {
  std::map<std::string, std::string> uids;
  for (const auto& [name, object] : kube.others()) {
    if (name.starts_with("events/")) continue;
    uids[name] = std::string(object.at("metadata").at("uid").as_string());
  }
  return uids;
}

TEST_F(ConformanceTest, ObjectsOfPluginsOutliveEveryRestart) {
  for (const char* action : {"RestartPod", "RestartTask", "RestartJob"}) {
    Fresh();
    BeginRunning(WithPolicy(WithPlugins(MakeJob("j", 2, 2), {"ssh", "svc"}), "PodFailed", action));
    const auto before = UidsOfObjects(kube());
    ASSERT_EQ(before.size(), 4u);
    kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
    rig().Run(absl::Seconds(10));
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(20));
    EXPECT_EQ(Phase(), kRunning) << action;
    EXPECT_EQ(Status().retry_count(), 1) << action;
    EXPECT_EQ(UidsOfObjects(kube()), before) << action;
  }
}

TEST_F(ConformanceTest, ItsGroupIsNamedAfterItAndItsUidAndHasItsLabelsAndAnnotations) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  for (auto* map : {job.mutable_meta()->mutable_labels(), job.mutable_meta()->mutable_annotations()}) {
    auto* entry = map->Add();
    entry->set_key("team");
    entry->set_value("ml");
  }
  Begin(job);
  ASSERT_EQ(kube().groups().size(), 1u);
  const std::string name = "j-" + kube().job("default/j").meta().uid();
  EXPECT_EQ(Group().meta().name(), name);
  for (const auto& [pod, body] : kube().pods()) EXPECT_EQ(body.group_name(), name) << pod;
  for (const auto* map : {&Group().meta().labels(), &Group().meta().annotations()}) {
    EXPECT_TRUE(
        std::any_of(map->begin(), map->end(), [](const auto& e) { return e.key() == "team" && e.value() == "ml"; }));
  }
}

TEST_F(ConformanceTest, OneClaimWhereverTheProcessIsKilled) {
  const auto life = [this](basalt::testing::KillPoint& kill) {
    Fresh();
    rig().Start();
    kill.Arm(rig());
    auto job = MakeJob("j", 1, 1);
    job.mutable_spec()->add_volumes()->set_mount_path("/data");
    job.mutable_spec()->mutable_volumes(0)->set_volume_claim_json(kClaimSpec);
    kube().PutJob(job);
    for (int i = 0; i < 20; ++i) {
      rig().Run(absl::Seconds(1));
      if (!rig().alive()) {
        kube().EditJob("default/j",
                       [](kube::v1::Job& edited) { edited.mutable_spec()->set_priority_class_name("high"); });
      }
      kill.Restart(rig());
    }
    EXPECT_EQ(kube().pods().size(), 1u);
    const auto objects = UidsOfObjects(kube());
    ASSERT_EQ(objects.size(), 1u);
    EXPECT_TRUE(objects.begin()->first.starts_with("persistentvolumeclaims/")) << objects.begin()->first;
  };
  basalt::testing::KillAtEachPoint(10, life, {true});
}

TEST_F(ConformanceTest, ScalingAJobThatWaitsRefreshesItsHosts) {
  kube().new_group_phase = "Pending";
  Begin(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
  rig().Run(absl::Seconds(20));
  ASSERT_TRUE(kube().pods().empty());
  kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(3); });
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kPending);
  EXPECT_EQ(kube().others().at("configmaps/default/j-svc").at("data").at("VC_T0_NUM"), "3");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
