#include "common/reconcile/slot_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Entry {
  int value = 0;
};

// Has keys of two slots: three of the first, one of the second.
struct TwoSlots {
  uint32_t first = SlotOf("default/a");
  uint32_t second = 0;
  std::vector<std::string> of_first = {"default/a"};
  std::string of_second;

  TwoSlots() {
    for (int i = 0; of_first.size() < 3 || of_second.empty(); ++i) {
      const std::string key = "default/job-" + std::to_string(i);
      if (SlotOf(key) == first) {
        if (of_first.size() < 3) of_first.push_back(key);
      } else if (of_second.empty()) {
        of_second = key;
        second = SlotOf(key);
      }
    }
  }
};

TEST(SlotMapTest, AnEntryIsMadeOnceAndKeepsItsAddress) {
  SlotMap<Entry> map;
  EXPECT_EQ(map.Find("default/a"), nullptr);
  Entry& made = map.FindOrMake("default/a");
  made.value = 7;
  for (int i = 0; i < 1000; ++i) map.FindOrMake("default/other-" + std::to_string(i));
  EXPECT_EQ(map.Find("default/a"), &made);
  EXPECT_EQ(&map.FindOrMake("default/a"), &made);
  EXPECT_EQ(map.size(), 1001U);
}

TEST(SlotMapTest, ASlotThatClosesTakesItsEntriesAndNoOthers) {
  const TwoSlots slots;
  SlotMap<Entry> map;
  for (const std::string& key : slots.of_first) map.FindOrMake(key);
  map.FindOrMake(slots.of_second).value = 7;
  EXPECT_EQ(map.KeysOf(slots.first).size(), 3U);
  map.Close(slots.first);
  EXPECT_FALSE(map.IsOpen(slots.first));
  EXPECT_THAT(map.KeysOf(slots.first), IsEmpty());
  for (const std::string& key : slots.of_first) EXPECT_EQ(map.Find(key), nullptr) << key;
  ASSERT_NE(map.Find(slots.of_second), nullptr);
  EXPECT_EQ(map.Find(slots.of_second)->value, 7);
  map.Close(slots.first);  // The slot has no entries any more.
  EXPECT_EQ(map.size(), 1U);
}

TEST(SlotMapTest, ASlotIsOpenWithoutEntriesToo) {
  const TwoSlots slots;
  SlotMap<Entry> map;
  map.Open(slots.first);
  EXPECT_TRUE(map.IsOpen(slots.first));
  EXPECT_FALSE(map.IsOpen(slots.second));
  map.FindOrMake(slots.of_second);
  EXPECT_TRUE(map.IsOpen(slots.second));
  map.Erase(slots.of_second);
  EXPECT_TRUE(map.IsOpen(slots.second));
  EXPECT_THAT(map.KeysOf(slots.second), IsEmpty());
  map.Erase(slots.of_second);
  EXPECT_TRUE(map.empty());
}

// The caller's key may be a member of the entry.
TEST(SlotMapTest, AnEntryIsErasedByItsOwnKey) {
  struct Keyed {
    std::string key;
  };
  SlotMap<Keyed> map;
  Keyed& entry = map.FindOrMake("default/a", [] { return std::make_unique<Keyed>(Keyed{"default/a"}); });
  map.Erase(entry.key);
  EXPECT_EQ(map.Find("default/a"), nullptr);
}

TEST(SlotMapTest, EntriesAreInTheOrderOfTheirKeys) {
  SlotMap<Entry> map;
  for (const char* key : {"b", "c", "a"}) map.FindOrMake(key);
  std::vector<std::string> keys;
  for (const auto& [key, entry] : map) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("a", "b", "c"));
  EXPECT_EQ(map.upper_bound("a")->first, "b");
}

}  // namespace
}  // namespace basalt
