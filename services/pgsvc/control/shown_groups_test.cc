// The records of pod groups that were published to clients.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "common/runtime/watch/watch_records.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {
namespace {

using Kind = runtime::ShownChange::Kind;

constexpr char kKey[] = "ns/a";

class ShownGroupsTest : public ::testing::Test {
 protected:
  ShownGroupsTest() { Start(); }
  // Starts a process on the disk of the one before.
  void Start() {
    controller_ = std::make_unique<PodGroupController>(context_, GroupingOptions());
    controller_->publisher().SetListener([this](const runtime::ShownChange& change) { changes_.push_back(change); });
    auto known = controller_->OpenSlot(slot_);
    ASSERT_TRUE(known.ok()) << known.status();
    known_ = *std::move(known);
    changes_.clear();
  }
  void Put(int64_t version) {
    kube::v1::Object object;
    kube::v1::ObjectMeta& meta = *object.mutable_pod_group()->mutable_meta();
    meta.set_namespace_("ns");
    meta.set_name("a");
    meta.set_uid("uid");
    meta.set_resource_version(version);
    controller_->OnState(kKey, std::string(kube::kWatchPodGroups), std::move(object));
  }
  void ObserveGone() {
    controller_->OnGone(
        kKey, {.reason = runtime::Gone::Reason::kAbsent, .watch = std::string(kube::kWatchPodGroups), .uid = "uid"});
  }
  std::vector<Kind> Pass() {
    changes_.clear();
    context_.Wake(kKey);
    context_.RunPasses(*controller_);
    std::vector<Kind> kinds;
    for (const runtime::ShownChange& change : changes_) kinds.push_back(change.kind);
    return kinds;
  }

  const uint32_t slot_ = SlotOf(kKey);
  runtime::testing::ScriptedContext context_;
  std::unique_ptr<PodGroupController> controller_;
  std::vector<runtime::KnownObject> known_;
  std::vector<runtime::ShownChange> changes_;
};

TEST_F(ShownGroupsTest, WhatWasShownIsKnownAgainAndIsNotShownTwice) {
  EXPECT_TRUE(known_.empty());
  Put(7);
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown});
  Start();
  ASSERT_EQ(known_.size(), 1U);
  EXPECT_EQ(known_[0].watch, kube::kWatchPodGroups);
  EXPECT_EQ(known_[0].routing_key, kKey);
  EXPECT_EQ(known_[0].uid, "uid");
  EXPECT_EQ(known_[0].ns + "/" + known_[0].name, kKey);
  EXPECT_EQ(known_[0].resource_version, 7);
  EXPECT_EQ(Pass(), std::vector<Kind>{}) << "it was neither seen nor is it gone";
  Put(7);
  EXPECT_EQ(Pass(), std::vector<Kind>{}) << "everybody who watches was told before";
  Put(8);
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown});
}

TEST_F(ShownGroupsTest, WhatIsGoneAfterARestartIsToldOnceAndForgotten) {
  Put(7);
  Pass();
  Start();
  ObserveGone();
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kGone});
  EXPECT_EQ(changes_[0].uid, "uid");
  Start();
  EXPECT_TRUE(known_.empty());
  EXPECT_EQ(controller_->compat_groups().groups().size(), 0U);
}

TEST_F(ShownGroupsTest, ADamagedRecordBeginsTheSlotAnew) {
  Put(7);
  Pass();
  const watch::WatchPosition before = controller_->publisher().LogOf(slot_)->position();
  kv::WriteBatch batch;
  batch.Put(kv::Family::kAux, runtime::SlotWatchKey(slot_), "\xff");
  ASSERT_TRUE(context_.store().Write(batch).ok());
  Start();
  EXPECT_FALSE(controller_->publisher().LogOf(slot_)->Knows(before));
  Put(7);
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown}) << "told anew";
  Start();
  EXPECT_EQ(known_.size(), 1U);
}

TEST_F(ShownGroupsTest, ASlotThatHasGoneIsToldAsClosed) {
  Put(7);
  Pass();
  changes_.clear();
  controller_->CloseSlot(slot_);
  ASSERT_EQ(changes_.size(), 1U);
  EXPECT_EQ(changes_[0].kind, Kind::kClosed);
  EXPECT_EQ(controller_->publisher().LogOf(slot_), nullptr);
}

}  // namespace
}  // namespace basalt::pgsvc
