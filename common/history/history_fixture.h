#pragma once

// Tests run with histories of jobs over a store in memory and over RocksDB.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/history/history.h"
#include "common/kv/kv_store.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::history {

using Entry = storage::v1::HistoryRecord;
using JobHistories = History<Entry>;

inline Entry MakeEntry(EntryNumber number, int64_t time_ms = 1, std::string outcome = "") {
  Entry entry;
  entry.set_sequence(number.sequence);
  entry.set_generation(number.generation);
  entry.set_time_ms(time_ms);
  entry.set_outcome(std::move(outcome));
  return entry;
}

// Returns a text as "1 2 2/5", in which an edit has its generation behind the slash.
inline std::string TextOf(const std::vector<EntryNumber>& numbers) {
  std::string text;
  for (const EntryNumber& number : numbers) {
    if (!text.empty()) text += " ";
    text += std::to_string(number.sequence);
    if (number.generation != 0) text += fmt::format("/{}", number.generation);
  }
  return text;
}

inline std::string TextOf(const std::vector<Entry>& entries) {
  std::vector<EntryNumber> numbers;
  for (const Entry& entry : entries) numbers.push_back({entry.sequence(), entry.generation()});
  return TextOf(numbers);
}

// The parameter is true for a store on disk.
class HistoryFixture : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr uint32_t kSlot = 3;

  HistoryFixture() : store_(GetParam() ? OpenOnDisk(folder_ / "data") : kv::OpenMemKv(kv::MakeMemDisk())) {}

  void Write(const kv::WriteBatch& batch) { ASSERT_THAT(store_->Write(batch), ::basalt::testing::IsOk()); }
  void PutBytes(kv::Family family, std::string_view key, std::string_view value) {
    kv::WriteBatch batch;
    batch.Put(family, key, value);
    Write(batch);
  }
  // Returns the keys and values of the family.
  std::vector<std::pair<std::string, std::string>> AllOf(kv::Family family) const {
    std::vector<std::pair<std::string, std::string>> all;
    const auto visit = [&all](std::string_view key, std::string_view value) {
      all.emplace_back(key, value);
      return true;
    };
    EXPECT_THAT(store_->Scan(family, "", "", visit), ::basalt::testing::IsOk());
    return all;
  }

 private:
  static std::unique_ptr<kv::KvStore> OpenOnDisk(std::string folder) {
    kv::OpenOptions options;
    options.data_dir = std::move(folder);
    options.service = "jobsvc";
    options.replica = "jobsvc-0";
    absl::StatusOr<std::unique_ptr<kv::KvStore>> store = kv::OpenRocksKv(options);
    EXPECT_THAT(store, ::basalt::testing::IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }

  const ::basalt::testing::TempDir folder_;

 protected:
  const std::unique_ptr<kv::KvStore> store_;
};

inline std::string MediumOf(const ::testing::TestParamInfo<bool>& info) { return info.param ? "OnDisk" : "InMemory"; }

}  // namespace basalt::history
