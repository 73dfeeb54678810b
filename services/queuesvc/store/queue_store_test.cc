#include "services/queuesvc/store/queue_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/testing/status_matchers.h"

namespace basalt::queuesvc {
namespace {

using ::basalt::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class QueueStoreTest : public ::testing::Test {
 protected:
  void Put(const std::string& name) {
    storage::v1::QueueRecord record;
    record.set_uid("uid of " + name);
    kv::WriteBatch batch;
    PutQueue(SlotOf(name), name, record, batch);
    Write(batch);
  }
  void Write(const kv::WriteBatch& batch) { ASSERT_THAT(store_->Write(batch), IsOk()); }
  std::vector<std::string> UidsOf(uint32_t slot, kv::Damage& damage) {
    std::vector<std::string> uids;
    const auto visit = [&uids](const std::string&, const storage::v1::QueueRecord& record) {
      uids.push_back(record.uid());
    };
    EXPECT_THAT(ForEachQueue(*store_, slot, visit, damage), IsOk());
    return uids;
  }

  const std::unique_ptr<kv::KvStore> store_ = kv::OpenMemKv(kv::MakeMemDisk());
  kv::Damage damage_;
};

TEST_F(QueueStoreTest, ASlotHasItsQueuesAlone) {
  ASSERT_NE(SlotOf("a"), SlotOf("b"));
  Put("a");
  Put("b");
  EXPECT_THAT(UidsOf(SlotOf("a"), damage_), ElementsAre("uid of a"));
  kv::WriteBatch batch;
  DropQueue(SlotOf("a"), "a", batch);
  Write(batch);
  EXPECT_THAT(UidsOf(SlotOf("a"), damage_), IsEmpty());
  EXPECT_THAT(UidsOf(SlotOf("b"), damage_), ElementsAre("uid of b"));
  EXPECT_THAT(damage_, IsEmpty());
}

TEST_F(QueueStoreTest, AnUnreadableQueueIsLeftOutAndNamed) {
  Put("a");
  const uint32_t slot = SlotOf("a");
  storage::v1::QueueRecord record;
  record.set_uid("u");
  kv::WriteBatch batch;
  PutQueue(slot, "of another slot", record, batch);
  PutQueue(slot, "a0", {}, batch);
  std::string key;
  kv::PutSlot(key, slot);
  batch.Put(kv::Family::kRecords, key + "no end", record.SerializeAsString());
  Write(batch);
  EXPECT_THAT(UidsOf(slot, damage_), ElementsAre("uid of a"));
  EXPECT_EQ(damage_.size(), 3U);
  for (const kv::DamagedRecord& damaged : damage_) EXPECT_EQ(damaged.kind, "queue");
}

}  // namespace
}  // namespace basalt::queuesvc
