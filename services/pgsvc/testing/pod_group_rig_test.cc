// Groups of plain pods and of jobs, and their states as published to watching clients, with a controller that is killed
// anywhere, or whose writes are lost, over an API server in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/runtime/testing/shown_records.h"
#include "common/testing/controller_rig/controller_rig.h"
#include "common/testing/controller_rig/kill_points.h"
#include "common/testing/controller_rig/lost_writes.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {
namespace {

using basalt::testing::RigKube;

constexpr char kJobGroup[] = "j-group";

class PodGroupRig : public basalt::testing::ControllerRig {
 public:
  explicit PodGroupRig(const GroupingOptions& options = {})
      : ControllerRig(
            {.service = gateway::v1::SERVICE_KIND_POD_GROUP, .controller = [this, options](runtime::Context& context) {
               auto made = std::make_unique<PodGroupController>(context, options);
               made->publisher().SetListener([this](const runtime::ShownChange& change) {
                 if (change.kind == runtime::ShownChange::Kind::kGone) published_gone.push_back(change.key);
               });
               return made;
             }}) {}
  ~PodGroupRig() override { Shutdown(); }

  PodGroupController& controller() { return static_cast<PodGroupController&>(any_controller()); }

  // The keys of groups that were published as gone to watching clients, by all processes.
  std::vector<std::string> published_gone;

  // ---- the stored objects ----
  size_t Groups() { return server().server().store().Count(RigKube::ResourceOf(kube::kPodGroups)); }
  // Returns "" if there is no object of that name.
  std::string UidOf(const kube::Kind& kind, const std::string& name) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kind), "default", name);
    return stored == nullptr ? "" : std::string(FindString(stored->at("metadata"), "uid"));
  }
  // Returns the group that the pod names; empty if it names none.
  std::string GroupOf(const std::string& pod) {
    const auto stored = server().server().Get("pods", "default", pod);
    const json::value* annotations = FindPath(*stored, {"metadata", "annotations"});
    return annotations == nullptr ? "" : std::string(FindString(*annotations, kube::kGroupNameKey));
  }
  // Returns how many entries of the group's history record a decision of that kind.
  size_t CountRecorded(const std::string& group, GroupDecision::Kind kind) {
    const std::string key = kube::ObjectKey("default", group);
    const auto recorded = controller().records().Read(SlotOf(key), key);
    EXPECT_TRUE(recorded.ok()) << recorded.status();
    size_t count = 0;
    if (!recorded.ok() || !*recorded) return count;
    for (const auto& entry : (*recorded)->entries) count += DecisionOf(entry).kind == kind ? 1 : 0;
    return count;
  }

  int64_t MinMember(const std::string& group) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kPodGroups), "default", group);
    return stored == nullptr ? -1 : FindInt(stored->at("spec"), "minMember");
  }

  // ---- the acts of users, Kubernetes and jobsvc ----
  static json::object PodSpec() {
    const json::object container{{"name", "main"}, {"image", "busybox"}};
    return {{"schedulerName", kube::kDefaultScheduler}, {"containers", json::array{container}}};
  }
  // `set` is the ReplicaSet that owns the pod; empty if none does.
  void MakePod(const std::string& name, const std::string& set = "") {
    json::object metadata{{"namespace", "default"}, {"name", name}};
    if (!set.empty()) {
      metadata["ownerReferences"] = json::array{json::object{{"apiVersion", "apps/v1"},
                                                             {"kind", "ReplicaSet"},
                                                             {"name", set},
                                                             {"uid", UidOf(kube::kReplicaSets, set)},
                                                             {"controller", true}}};
    }
    server().Create(kube::kPods, json::object{{"metadata", std::move(metadata)}, {"spec", PodSpec()}});
  }
  void MakeReplicaSet(const std::string& name, int replicas) {
    const json::object labels{{"app", name}};
    server().Create(
        kube::kReplicaSets,
        json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                     {"spec", json::object{{"replicas", replicas},
                                           {"selector", json::object{{"matchLabels", labels}}},
                                           {"template", json::object{{"metadata", json::object{{"labels", labels}}},
                                                                     {"spec", PodSpec()}}}}}});
  }
  // Makes a DaemonSet and its pod on each of two nodes, as kube-controller-manager does.
  void MakeDaemonSet(const std::string& name, const std::string& min_member) {
    const json::object labels{{"app", name}};
    server().Create(
        kube::kDaemonSets,
        json::object{{"metadata", json::object{{"namespace", "default"},
                                               {"name", name},
                                               {"annotations", json::object{{kube::kGroupMinMemberKey, min_member}}}}},
                     {"spec", json::object{{"selector", json::object{{"matchLabels", labels}}},
                                           {"template", json::object{{"metadata", json::object{{"labels", labels}}},
                                                                     {"spec", PodSpec()}}}}}});
    for (const char* node : {"a", "b"}) {
      server().Create(
          kube::kPods,
          json::object{{"metadata", json::object{{"namespace", "default"},
                                                 {"name", fmt::format("{}-{}", name, node)},
                                                 {"ownerReferences",
                                                  json::array{json::object{{"apiVersion", "apps/v1"},
                                                                           {"kind", "DaemonSet"},
                                                                           {"name", name},
                                                                           {"uid", UidOf(kube::kDaemonSets, name)},
                                                                           {"controller", true}}}}}},
                       {"spec", PodSpec()}});
    }
  }
  void Annotate(const std::string& set, const std::string& min_member) {
    server().Merge(kube::kReplicaSets, "default", set,
                   json::object{{"metadata",
                                 json::object{{"annotations", json::object{{kube::kGroupMinMemberKey, min_member}}}}}});
  }
  void Scale(const std::string& set, int replicas) {
    server().Merge(kube::kReplicaSets, "default", set, json::object{{"spec", json::object{{"replicas", replicas}}}});
  }
  std::string GroupOfSet(const std::string& set) { return "podgroup-" + UidOf(kube::kReplicaSets, set); }
  void MakeJob() {
    server().Create(kube::kJobs, json::object{{"metadata", json::object{{"namespace", "default"}, {"name", "j"}}}});
  }
  // Returns whether the answer was that the job's group exists.
  bool Ensure() {
    podgroup::v1::EnsurePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name(kJobGroup);
    request.set_job_name("j");
    request.set_job_uid(UidOf(kube::kJobs, "j"));
    request.mutable_spec()->set_min_member(2);
    const auto answered = std::make_shared<bool>(false);
    controller().EnsurePodGroup(request, [answered](const auto& answer) { *answered = answer.ok(); });
    Run();
    return *answered;
  }
  // Returns whether the answer was that the job's group of that UID is gone.
  bool DeleteGroup(const std::string& uid) {
    podgroup::v1::DeletePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name(kJobGroup);
    request.set_job_uid(UidOf(kube::kJobs, "j"));
    request.set_uid(uid);
    const auto gone = std::make_shared<bool>(false);
    controller().DeletePodGroup(request, [gone](const auto& answer) { *gone = answer.ok() && answer->gone(); });
    Run();
    return *gone;
  }
};

struct Life {
  std::function<void(PodGroupRig& rig)> prepare;
  std::function<void(PodGroupRig& rig)> act;
  // `undisturbed`: no process was killed, and no write was lost.
  std::function<void(PodGroupRig& rig, bool undisturbed)> check;
};

// A decision is recorded at most once; exactly once if nothing was killed or lost.
void ExpectRecorded(PodGroupRig& rig, const std::string& group, GroupDecision::Kind kind, bool undisturbed) {
  const size_t recorded = rig.CountRecorded(group, kind);
  EXPECT_LE(recorded, 1u);
  EXPECT_TRUE(recorded == 1 || !undisturbed);
}

// `check` may change the objects.
void Check(const Life& life, PodGroupRig& rig, bool undisturbed) {
  runtime::testing::ExpectShownIsRecorded(rig.controller(), rig.store());
  life.check(rig, undisturbed);
  runtime::testing::ExpectShownIsRecorded(rig.controller(), rig.store());
}

// Kills the process at each point of `act` in turn. The next process starts over its disk, or over an empty one.
void KillAnywhere(const Life& life) {
  basalt::testing::KillAtEachPointOf<PodGroupRig>(life.prepare, life.act, [&life](PodGroupRig& rig, bool undisturbed) {
    rig.Run(absl::Seconds(5));
    Check(life, rig, undisturbed);
  });
}

// Loses each write of `act` in turn, or the answer to it.
void LoseAnyWrite(const Life& life) {
  basalt::testing::LoseEachWrite<PodGroupRig>(
      life.prepare, life.act, [&life](PodGroupRig& rig, bool undisturbed) { Check(life, rig, undisturbed); });
}

TEST(PodGroupRigTest, APlainPodHasOneGroupAndNamesItWhateverHappens) {
  const Life life{.prepare = nullptr,
                  .act = [](PodGroupRig& rig) { rig.MakePod("a"); },
                  .check =
                      [](PodGroupRig& rig, bool undisturbed) {
                        EXPECT_EQ(rig.Groups(), 1u);
                        const std::string group = rig.GroupOf("a");
                        ASSERT_NE(group, "");
                        EXPECT_NE(rig.UidOf(kube::kPodGroups, group), "");
                        ExpectRecorded(rig, group, GroupDecision::Kind::kCreated, undisturbed);
                      }};
  KillAnywhere(life);
  LoseAnyWrite(life);
}

TEST(PodGroupRigTest, TheGroupOfAReplicaSetFollowsItsAnnotationsWhateverHappens) {
  const Life life{.prepare = nullptr,
                  .act =
                      [](PodGroupRig& rig) {
                        rig.MakeReplicaSet("web", 2);
                        rig.MakePod("a", "web");
                        rig.MakePod("b", "web");
                        rig.Run(absl::Seconds(2));
                        rig.Annotate("web", "2");
                      },
                  .check =
                      [](PodGroupRig& rig, bool undisturbed) {
                        const std::string group = rig.GroupOfSet("web");
                        EXPECT_EQ(rig.Groups(), 1u);
                        EXPECT_EQ(rig.MinMember(group), 2);
                        EXPECT_EQ(rig.GroupOf("a"), group);
                        EXPECT_EQ(rig.GroupOf("b"), group);
                        ExpectRecorded(rig, group, GroupDecision::Kind::kUpdated, undisturbed);
                      }};
  KillAnywhere(life);
  LoseAnyWrite(life);
}

TEST(PodGroupRigTest, TheGroupOfAReplicaSetThatIsScaledToZeroGoesWhateverHappens) {
  const Life life{.prepare =
                      [](PodGroupRig& rig) {
                        rig.MakeReplicaSet("web", 1);
                        rig.MakePod("a", "web");
                        rig.Run(absl::Seconds(2));
                        EXPECT_EQ(rig.Groups(), 1u);
                      },
                  .act =
                      [](PodGroupRig& rig) {
                        rig.Scale("web", 0);
                        rig.server().Delete(kube::kPods, "default", "a", json::object{{"gracePeriodSeconds", 0}});
                      },
                  .check =
                      [](PodGroupRig& rig, bool undisturbed) {
                        EXPECT_EQ(rig.Groups(), 0u);
                        ExpectRecorded(rig, rig.GroupOfSet("web"), GroupDecision::Kind::kDeleted, undisturbed);
                        // The group comes back with the next pod.
                        rig.Scale("web", 1);
                        rig.MakePod("b", "web");
                        rig.Run(absl::Seconds(5));
                        EXPECT_EQ(rig.Groups(), 1u);
                        EXPECT_EQ(rig.GroupOf("b"), rig.GroupOfSet("web"));
                      }};
  KillAnywhere(life);
  LoseAnyWrite(life);
}

TEST(PodGroupRigTest, PodsOfADaemonSetAreAGangWithTheAnnotationsOfTheSet) {
  PodGroupRig rig;
  rig.Start();
  rig.MakeDaemonSet("agent", "2");
  rig.Run(absl::Seconds(5));
  const std::string group = "podgroup-" + rig.UidOf(kube::kDaemonSets, "agent");
  EXPECT_EQ(rig.Groups(), 1u);
  EXPECT_EQ(rig.MinMember(group), 2);
  EXPECT_EQ(rig.GroupOf("agent-a"), group);
  EXPECT_EQ(rig.GroupOf("agent-b"), group);
}

TEST(PodGroupRigTest, WithoutInheritanceAGroupHasNothingOfItsOwner) {
  PodGroupRig rig({.inherit_owner_annotations = false});
  rig.Start();
  rig.MakeDaemonSet("agent", "2");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.MinMember("podgroup-" + rig.UidOf(kube::kDaemonSets, "agent")), 1);
}

TEST(PodGroupRigTest, AGroupThatFollowsNobodyStaysAsItWasMade) {
  PodGroupRig rig({.follow_workloads = false});
  rig.Start();
  rig.MakeReplicaSet("web", 2);
  rig.Annotate("web", "2");
  rig.MakePod("a", "web");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.MinMember(rig.GroupOfSet("web")), 2);
  rig.Annotate("web", "1");
  rig.Scale("web", 0);
  rig.server().Delete(kube::kPods, "default", "a", json::object{{"gracePeriodSeconds", 0}});
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.Groups(), 1u);
  EXPECT_EQ(rig.MinMember(rig.GroupOfSet("web")), 2);
}

TEST(PodGroupRigTest, ARestartWritesNothingForAGroupThatIsAsItsOwnerSays) {
  PodGroupRig rig;
  rig.Start();
  rig.MakeReplicaSet("web", 2);
  rig.Annotate("web", "2");
  rig.MakePod("a", "web");
  rig.MakePod("b", "web");
  rig.Run(absl::Seconds(5));
  ASSERT_EQ(rig.MinMember(rig.GroupOfSet("web")), 2);
  rig.Kill();
  rig.server().ClearLog();
  rig.Start();
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

// A job without an answer calls again.
TEST(PodGroupRigTest, AJobHasTheGroupThatItAskedForWhateverHappens) {
  const Life life{.prepare = [](PodGroupRig& rig) { rig.MakeJob(); },
                  .act = [](PodGroupRig& rig) { rig.Ensure(); },
                  .check =
                      [](PodGroupRig& rig, bool undisturbed) {
                        EXPECT_TRUE(rig.Ensure());
                        EXPECT_EQ(rig.Groups(), 1u);
                        EXPECT_NE(rig.UidOf(kube::kPodGroups, kJobGroup), "");
                        ExpectRecorded(rig, kJobGroup, GroupDecision::Kind::kCreated, undisturbed);
                      }};
  KillAnywhere(life);
  LoseAnyWrite(life);
}

TEST(PodGroupRigTest, TheGroupThatAJobWantsGoneIsGoneAndNoOtherOneIsWhateverHappens) {
  std::string uid;
  const Life life{.prepare =
                      [&uid](PodGroupRig& rig) {
                        rig.MakeJob();
                        EXPECT_TRUE(rig.Ensure());
                        uid = rig.UidOf(kube::kPodGroups, kJobGroup);
                        rig.MakePod("a");
                        rig.Run();
                      },
                  .act = [&uid](PodGroupRig& rig) { rig.DeleteGroup(uid); },
                  .check =
                      [&uid](PodGroupRig& rig, bool undisturbed) {
                        EXPECT_TRUE(rig.DeleteGroup(uid));
                        EXPECT_EQ(rig.UidOf(kube::kPodGroups, kJobGroup), "");
                        EXPECT_EQ(rig.Groups(), 1u) << "that of the plain pod";
                        ExpectRecorded(rig, kJobGroup, GroupDecision::Kind::kDeleted, undisturbed);
                        EXPECT_TRUE(rig.Ensure()) << "it may want another one";
                        EXPECT_NE(rig.UidOf(kube::kPodGroups, kJobGroup), uid);
                      }};
  KillAnywhere(life);
  LoseAnyWrite(life);
}

TEST(PodGroupRigTest, ARefusedGroupIsTriedWithGrowingPausesThatASuccessBeginsAnew) {
  PodGroupRig rig;
  bool refuse = true;
  std::vector<absl::Time> tries;
  rig.server().refuse = [&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!refuse || !request.has_create() || request.resource().plural() != "podgroups") return false;
    tries.push_back(rig.time().Now());
    error.set_code(403);
    return true;
  };
  const auto pause = [&tries](size_t i) { return tries[i + 1] - tries[i]; };
  rig.Start();
  rig.MakeReplicaSet("web", 1);
  rig.MakePod("a", "web");
  rig.Run(absl::Minutes(2));
  ASSERT_GT(tries.size(), 4u);
  for (size_t i = 0; i + 2 < tries.size(); ++i) EXPECT_GE(pause(i + 1), pause(i)) << i;
  const absl::Duration last = pause(tries.size() - 2);
  refuse = false;
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Groups() == 1; }));
  refuse = true;
  tries.clear();
  rig.server().Delete(kube::kPodGroups, "default", rig.GroupOfSet("web"));
  rig.Run(absl::Minutes(2));
  ASSERT_GT(tries.size(), 4u);
  EXPECT_LT(pause(0), last / 4);
}

// The group's pod names it already.
TEST(PodGroupRigTest, AGroupThatWentWhileNobodyRanIsMadeAgain) {
  PodGroupRig rig;
  rig.Start();
  rig.MakePod("a");
  rig.Run();
  const std::string group = rig.GroupOf("a");
  const std::string uid = rig.UidOf(kube::kPodGroups, group);
  ASSERT_NE(uid, "");
  rig.Kill();
  rig.server().Delete(kube::kPodGroups, "default", group);
  rig.Start();
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.UidOf(kube::kPodGroups, group), "");
  EXPECT_NE(rig.UidOf(kube::kPodGroups, group), uid);
  EXPECT_EQ(rig.GroupOf("a"), group);
}

TEST(PodGroupRigTest, APodWhoseLinkIsRemovedIsBoundAgain) {
  PodGroupRig rig;
  rig.Start();
  rig.MakePod("a");
  rig.Run();
  const std::string group = rig.GroupOf("a");
  ASSERT_NE(group, "");
  for (int i = 0; i < 2; ++i) {
    rig.server().Merge(kube::kPods, "default", "a",
                       *ParseJson(R"({"metadata":{"annotations":{"scheduling.k8s.io/group-name":null}}})"));
    rig.Run(absl::Seconds(5));
    EXPECT_EQ(rig.GroupOf("a"), group);
  }
}

// Absence is not deletion (design rule 1). A group that a pod names is read; for any other the controller waits.
TEST(PodGroupRigTest, WhatTheNextSnapshotLeavesOutIsNotToldAsGone) {
  PodGroupRig rig;
  rig.Start();
  rig.MakeJob();
  ASSERT_TRUE(rig.Ensure());
  rig.MakePod("a");
  rig.Run();
  const std::string groups[] = {kJobGroup, rig.GroupOf("a")};
  rig.Kill();
  for (const std::string& group : groups) rig.uncertain.insert(rig.UidOf(kube::kPodGroups, group));
  rig.Start();
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
  for (const std::string& group : groups) {
    EXPECT_EQ(runtime::testing::RecordsOf(rig.store(), SlotOf(kube::ObjectKey("default", group))).size(), 1u) << group;
    rig.server().Merge(kube::kPodGroups, "default", group,
                       json::object{{"metadata", json::object{{"labels", json::object{{"seen", "now"}}}}}});
  }
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.published_gone, ::testing::IsEmpty());
  EXPECT_EQ(rig.Groups(), 2u);
  for (const std::string& group : groups)
    EXPECT_EQ(rig.CountRecorded(group, GroupDecision::Kind::kCreated), 1u) << group;
  runtime::testing::ExpectShownIsRecorded(rig.controller(), rig.store());
}

TEST(PodGroupRigTest, APlainPodIsExplainedByItsOwner) {
  PodGroupRig rig;
  rig.Start();
  rig.MakeReplicaSet("web", 2);
  rig.Annotate("web", "3");
  for (const char* pod : {"web-1", "web-2"}) rig.MakePod(pod, "web");
  rig.Run(absl::Seconds(5));
  const std::string group = rig.GroupOfSet("web");
  const auto explained =
      rig.controller().ScopesOf(kube::ObjectKey("default", group)).Explain(kube::ObjectKey("default", group), "web-1");
  ASSERT_TRUE(explained);
  ASSERT_TRUE(explained->found.ok());
  EXPECT_EQ(explained->found->decided_by, "ReplicaSet default/web");
  EXPECT_EQ(explained->found->grouping.name, group);
  EXPECT_THAT(explained->owners, ::testing::ElementsAre("ReplicaSet default/web"));
  EXPECT_TRUE(explained->is_there);
  EXPECT_THAT(explained->differing_fields, ::testing::IsEmpty());
  ASSERT_TRUE(explained->plan);
  EXPECT_EQ(explained->plan->sources.at("minMember"),
            "annotation scheduling.volcano.sh/group-min-member of ReplicaSet default/web");
  EXPECT_THAT(explained->plan->warnings, ::testing::ElementsAre(::testing::HasSubstr("they will never be placed")));
  EXPECT_EQ(FindInt(explained->rendered.object.at("spec"), "minMember"), 3);
  EXPECT_EQ(explained->least_pods, 3);
  EXPECT_EQ(explained->members.pending(), 2);
  EXPECT_FALSE(
      rig.controller().ScopesOf(kube::ObjectKey("default", group)).Explain(kube::ObjectKey("default", group), "none"));
}

TEST(PodGroupRigTest, OfAPodThatNamesAGroupOfSomebodyElsesNothingIsToldOfTheGroup) {
  PodGroupRig rig;
  rig.Start();
  rig.server().Create(
      kube::kPods,
      json::object{{"metadata", json::object{{"namespace", "default"},
                                             {"name", "guest"},
                                             {"annotations", json::object{{kube::kGroupNameKey, "mine"}}}}},
                   {"spec", PodGroupRig::PodSpec()}});
  rig.Run(absl::Seconds(5));
  const auto explained = rig.controller().ScopesOf("default/mine").Explain("default/mine", "guest");
  ASSERT_TRUE(explained && explained->found.ok());
  EXPECT_EQ(explained->found->verdict, PodGrouping::Verdict::kAssigned);
  EXPECT_FALSE(explained->is_there);
  EXPECT_FALSE(explained->plan);
}

}  // namespace
}  // namespace basalt::pgsvc
