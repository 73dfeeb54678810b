#pragma once

// Checks that the store has what a controller publishes to clients that watch. If it has not, a process that starts
// over it publishes too little to them, or what they have already.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "common/base/slots.h"
#include "common/kv/kv_store.h"
#include "common/runtime/watch/publisher.h"
#include "common/runtime/watch/watch_records.h"

namespace basalt::runtime::testing {

// Returns the last published records of the slot's objects that are not deleted, by key.
inline std::map<std::string, storage::v1::PublishedObject> RecordsOf(const kv::KvStore& store, uint32_t slot) {
  std::map<std::string, storage::v1::PublishedObject> records;
  kv::Damage damage;
  const auto take = [&](const std::string& key, const storage::v1::PublishedObject& record) {
    if (!record.deleted()) records.emplace(key, record);
  };
  EXPECT_TRUE(ForEachShown(store, slot, take, damage).ok());
  EXPECT_TRUE(damage.empty());
  return records;
}

// Checks all slots, once no pass is due: each object was published and is recorded so, and nothing else is recorded.
template <typename Controller>
void ExpectShownIsRecorded(Controller& controller, const kv::KvStore& store) {
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    std::map<std::string, storage::v1::PublishedObject> records = RecordsOf(store, slot);
    controller.ForEachShown(slot, [&](const std::string& key, const Shown& shown, bool) {
      EXPECT_NE(shown.revision, 0) << key << " was never told";
      const storage::v1::PublishedObject record = records[key];
      records.erase(key);
      EXPECT_EQ(record.revision(), shown.revision) << key;
      EXPECT_EQ(record.state(), shown.state) << key;
    });
    for (const auto& [key, record] : records) ADD_FAILURE() << key << " is recorded, and is not shown";
  }
}

}  // namespace basalt::runtime::testing
