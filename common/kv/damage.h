#pragma once

// Records of a store that cannot be read, as whoever parses them finds them. RocksDB's own damage, which its checksums
// show, is another thing: that is an error of the store.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/status.h"
#include "common/kv/kv_store.h"

namespace basalt::kv {

struct DamagedRecord {
  std::string_view kind;  // One word, as metrics have it: "job", "pod", … A literal.
  Family family;
  std::string key;    // In the store.
  std::string owner;  // Whose it is, for people: namespace/name or UID of a job; empty where the key does not say.
  std::string name;   // Which of several that the owner has; may be empty.
};
using Damage = std::vector<DamagedRecord>;

// Of one scan. Where nobody takes them, the first is an error.
class DamageCollector {
 public:
  // `damage` may be null, and outlives it.
  explicit DamageCollector(Damage* damage) : damage_(damage) {}

  // Returns whether the scan may go on.
  bool Add(DamagedRecord record) {
    if (damage_ != nullptr) {
      damage_->push_back(std::move(record));
      return true;
    }
    status_ =
        MakeStatus(absl::StatusCode::kDataLoss, fmt::format("the {} record of {}{}{} cannot be read", record.kind,
                                                            record.owner, record.name.empty() ? "" : " ", record.name));
    return false;
  }
  // DATA_LOSS, or OK.
  const absl::Status& status() const { return status_; }

 private:
  Damage* const damage_;
  absl::Status status_;
};

}  // namespace basalt::kv
