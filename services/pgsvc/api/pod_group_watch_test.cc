// The watch of pod groups over two workers.
#include "services/pgsvc/api/pod_group_watch.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/rpc/watch/merged_watch.h"
#include "common/rpc/watch/testing.h"
#include "common/runtime/watch/watch_part.h"
#include "services/pgsvc/api/testing.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using podgroup::v1::WatchPodGroupsRequest;
using podgroup::v1::WatchPodGroupsResponse;

class PodGroupWatchTest : public ::testing::Test {
 protected:
  using Watch = rpc::MergedWatch<WatchedPodGroups>;

  PodGroupWatchTest() {
    for (testing::Worker& worker : workers_.workers)
      runtime::PublishChanges<WatchedPodGroups>(*worker.controller, *hub_);
  }
  // The controller observes the group as Kubernetes has it, without a pass. Groups by the rules of all kinds are of
  // their namespace's key, others of their own.
  void Observe(const std::string& name, int64_t version, const std::string& key, bool is_kai = false) {
    kube::v1::Object object;
    kube::v1::ObjectMeta& meta =
        is_kai ? *object.mutable_kai_pod_group()->mutable_meta() : *object.mutable_pod_group()->mutable_meta();
    meta.set_namespace_("ns");
    meta.set_name(name);
    meta.set_uid(name + "-uid");
    meta.set_resource_version(version);
    workers_.WorkerOf(key).controller->OnState(key, std::string(kube::kWatchPodGroups), std::move(object));
  }
  void Observe(const std::string& name, int64_t version) { Observe(name, version, "ns/" + name); }
  void PassOver(const std::string& key) {
    testing::Worker& worker = workers_.WorkerOf(key);
    worker.context.Wake(key);
    worker.context.RunPasses(*worker.controller);
  }
  void Pass(const std::string& name) { PassOver("ns/" + name); }
  // Returns another name in the slot of that one.
  static std::string NeighbourOf(const std::string& name) {
    for (int i = 0;; ++i) {
      std::string other = "n" + std::to_string(i);
      if (SlotOf("ns/" + other) == SlotOf("ns/" + name)) return other;
    }
  }
  void Put(const std::string& name, int64_t version) {
    Observe(name, version);
    Pass(name);
  }
  void PutIn(kube::GroupProfile profile, const std::string& name, int64_t version) {
    const std::string key = kube::NamespaceKey("ns", profile);
    Observe(name, version, key, profile == kube::GroupProfile::kKai);
    PassOver(key);
  }
  void DeleteIn(const std::string& key, const std::string& name) {
    workers_.WorkerOf(key).controller->OnGone(key, {.reason = runtime::Gone::Reason::kDeleted,
                                                    .watch = std::string(kube::kWatchPodGroups),
                                                    .uid = name + "-uid",
                                                    .name = name});
    PassOver(key);
  }
  void Delete(const std::string& name) { DeleteIn("ns/" + name, name); }
  // The processes end and come back on their disks, and have observed nothing yet.
  void Restart() {
    for (testing::Worker& worker : workers_.workers) {
      for (uint32_t slot = 0; slot < kSlotCount; ++slot) worker.controller->CloseSlot(slot);
      worker.controller.reset();
      worker.controller = std::make_unique<PodGroupController>(worker.context, GroupingOptions());
      runtime::PublishChanges<WatchedPodGroups>(*worker.controller, *hub_);
      worker.Open();
    }
  }
  std::unique_ptr<Watch> Open(const std::string& name = "", const std::string& token = "") {
    WatchPodGroupsRequest request;
    if (!name.empty()) request.set_namespace_("ns");
    request.set_name(name);
    request.set_token(token);
    const auto part = [this](const gateway::v1::Member&, const podgroup::v1::WatchPartRequest& asked,
                             std::function<void()> notify) { return api_.WatchPart(asked, std::move(notify)); };
    return std::make_unique<Watch>(workers_.workers[0].context.loop(), members_, part, request, [] {});
  }
  std::string Drain(Watch& watch) { return reader_.Drain(watch); }

  const std::shared_ptr<watch::WatchHub> hub_ = std::make_shared<watch::WatchHub>();
  testing::TwoWorkers workers_;
  rpc::testing::OneMember members_{"pgsvc-0"};
  PodGroupApi api_{workers_, hub_};
  rpc::testing::WatchReader<WatchPodGroupsResponse, &WatchPodGroupsResponse::has_pod_group,
                            &WatchPodGroupsResponse::pod_group>
      reader_;
};

TEST_F(PodGroupWatchTest, GroupsOfEachProfileAreFollowedByTheirName) {
  for (const kube::GroupProfile profile : {kube::GroupProfile::kRich, kube::GroupProfile::kKai}) {
    PutIn(profile, "g", 1);
    const auto watch = Open("g");
    EXPECT_EQ(Drain(*watch), "STATE g, SYNCED");
    PutIn(profile, "g", 2);
    EXPECT_EQ(Drain(*watch), "STATE g");
    PutIn(profile, "other", 3);
    EXPECT_EQ(Drain(*watch), "");
    DeleteIn(kube::NamespaceKey("ns", profile), "g");
    EXPECT_EQ(Drain(*watch), "DELETED g");
  }
}

TEST_F(PodGroupWatchTest, BeginsWithWhatThereIsAndGoesOnWithWhatChanges) {
  Put("a", 1);
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  Put("b", 2);
  EXPECT_EQ(Drain(*watch), "STATE b");
  Put("a", 3);
  Put("a", 4);
  EXPECT_EQ(Drain(*watch), "STATE a") << "the newest";
  Pass("a");
  EXPECT_EQ(Drain(*watch), "") << "nothing has changed";
  Delete("a");
  EXPECT_EQ(Drain(*watch), "DELETED a");
  EXPECT_EQ(reader_.last.object().meta().uid(), "a-uid");
}

TEST_F(PodGroupWatchTest, SyncedWaitsForTheFirstPassOverWhatIsThere) {
  Put("b", 1);
  Observe("a", 2);
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "STATE b");
  Pass("a");
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
}

TEST_F(PodGroupWatchTest, AGroupThatPodsWantIsToldWithoutAUidUntilNoPodWantsIt) {
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "SYNCED");
  const std::string key = "ns/podgroup-u";
  testing::Worker& worker = workers_.WorkerOf(key);
  kube::v1::Object object;
  *object.mutable_pod() = testing::BarePod();
  worker.controller->OnState(key, "pods/scheduler=volcano", std::move(object));
  Pass("podgroup-u");
  EXPECT_EQ(Drain(*watch), "STATE podgroup-u");
  EXPECT_EQ(reader_.last.object().meta().uid(), "");
  worker.context.Answer(runtime::testing::Refused(403, "Forbidden", "denied"), *worker.controller);
  EXPECT_EQ(Drain(*watch), "STATE podgroup-u") << "that it is refused";
  worker.controller->OnGone(key,
                            {.reason = runtime::Gone::Reason::kDeleted, .watch = "pods/scheduler=volcano", .uid = "u"});
  Pass("podgroup-u");
  EXPECT_EQ(Drain(*watch), "DELETED podgroup-u");
}

TEST_F(PodGroupWatchTest, GoesOnByItsTokenOverARestartWithoutAGap) {
  for (const char* name : {"a", "b", "c"}) Put(name, 1);
  Drain(*Open());
  Put("c", 5);
  Restart();
  Observe("a", 1);
  Observe("b", 6);
  Observe("c", 5);
  for (const char* name : {"a", "b", "c"}) Pass(name);
  const std::string texts = Drain(*Open("", reader_.token));
  EXPECT_TRUE(texts == "STATE b, STATE c, SYNCED" || texts == "STATE c, STATE b, SYNCED") << texts;
}

// The group was published before the restart, and the slot is ready before its state arrives.
TEST_F(PodGroupWatchTest, WhoBeginsWhileAGroupIsNotSeenYetIsToldOnceItIs) {
  Put("a", 1);
  Put("b", 1);
  Drain(*Open());
  Restart();
  Observe("b", 1);
  for (const char* name : {"a", "b"}) Pass(name);
  const auto watch = Open();
  const auto resumed = Open("", reader_.token);
  EXPECT_EQ(Drain(*watch), "STATE b") << "not synced: nobody knows whether it is there";
  EXPECT_EQ(Drain(*resumed), "SYNCED") << "it was told of both";
  Observe("a", 1);
  Pass("a");
  EXPECT_EQ(Drain(*watch), "STATE a, SYNCED");
  Pass("a");
  EXPECT_EQ(Drain(*watch), "") << "once";
}

// If the process ended then, the client would count as knowing "a" by its neighbour's position, without ever having
// received it.
TEST_F(PodGroupWatchTest, NothingOfTheSlotIsToldPastAGroupThatIsNotSeenYet) {
  const std::string neighbour = NeighbourOf("a");
  Put("a", 1);
  Put(neighbour, 2);
  Restart();
  Put(neighbour, 2);
  Pass("a");
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "");
  Put(neighbour, 3);
  EXPECT_EQ(Drain(*watch), "");
  Put("a", 1);
  EXPECT_EQ(Drain(*watch), "STATE " + neighbour + ", STATE a, SYNCED");
}

TEST_F(PodGroupWatchTest, WhoBeginsWhileAGroupIsNotSeenYetIsSyncedOnceItIsGone) {
  Put("a", 1);
  Restart();
  Pass("a");
  const auto watch = Open();
  EXPECT_EQ(Drain(*watch), "");
  Delete("a");
  EXPECT_EQ(Drain(*watch), "SYNCED");
}

TEST_F(PodGroupWatchTest, AGroupThatWentWhileNobodyWasThereIsToldAsDeletedOnceThatIsKnown) {
  Put("a", 1);
  Drain(*Open());
  Restart();
  Pass("a");
  const auto watch = Open("", reader_.token);
  EXPECT_EQ(Drain(*watch), "SYNCED") << "nobody has said that it is gone";
  Delete("a");
  EXPECT_EQ(Drain(*watch), "DELETED a");
  EXPECT_EQ(reader_.last.object().meta().uid(), "a-uid");
}

}  // namespace
}  // namespace basalt::pgsvc
