#include "common/kv/migrations.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace basalt::kv {
namespace {

std::string KeyOf(uint32_t slot, std::string_view kind, std::string_view name) {
  std::string key;
  PutSlot(key, slot);
  PutText(key, kind);
  PutText(key, name);
  return key;
}

std::map<std::string, std::string> Auxiliary(const KvStore& store) {
  std::map<std::string, std::string> records;
  EXPECT_TRUE(store
                  .Scan(Family::kAux, "", "",
                        [&records](std::string_view key, std::string_view value) {
                          records.emplace(key, value);
                          return true;
                        })
                  .ok());
  return records;
}

TEST(MigrationsTest, RecordsOfAWatchAreRenamedFromTheFirstSchemaAndTheOthersStay) {
  const std::unique_ptr<KvStore> store = OpenMemKv(MakeMemDisk());
  std::map<std::string, std::string> wanted;
  WriteBatch batch;
  for (int i = 0; i < 25'000; ++i) {
    const uint32_t slot = static_cast<uint32_t>(i) % 1024;
    const std::string name = "ns/job-" + std::to_string(i);
    batch.Put(Family::kAux, KeyOf(slot, "shown", name), name);
    wanted[KeyOf(slot, "published", name)] = name;
  }
  for (const char* kind : {"watch", "spec", "shownx"}) {
    batch.Put(Family::kAux, KeyOf(3, kind, "ns/a"), kind);
    wanted[KeyOf(3, kind, "ns/a")] = kind;
  }
  batch.Put(Family::kMeta, "!token", "secret");
  ASSERT_TRUE(store->Write(batch).ok());
  ASSERT_TRUE(Migrate(1, *store).ok());
  EXPECT_EQ(Auxiliary(*store), wanted);
  ASSERT_TRUE(Migrate(1, *store).ok());
  EXPECT_EQ(Auxiliary(*store), wanted) << "a process that was killed before it had recorded the schema begins again";
  EXPECT_EQ(*store->Get(Family::kMeta, "!name_secret"), "secret");
  EXPECT_EQ(*store->Get(Family::kMeta, "!token"), std::nullopt);
}

}  // namespace
}  // namespace basalt::kv
