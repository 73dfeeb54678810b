#pragma once

// Describes records of a store that their parsers cannot read. Damage that RocksDB's checksums find is another matter:
// such damage is an error of the store.
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
  std::string_view kind;  // One word, as in metrics: "job", "pod", … Is a literal.
  Family family;
  std::string key;    // The key in the store.
  std::string owner;  // Names the owner for people: namespace/name or UID of a job. Empty if the key does not name one.
  std::string name;   // Names the record among those of the owner. May be empty.
};
using Damage = std::vector<DamagedRecord>;

// Collects the damaged records of one scan. If the caller takes none, the first one is an error.
class DamageCollector {
 public:
  // `damage` may be null, else must outlive this object.
  explicit DamageCollector(Damage* damage) : damage_(damage) {}

  // Adds a record. Returns whether the scan may go on.
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
  // Returns DATA_LOSS if a record was added that nothing takes, else OK.
  const absl::Status& status() const { return status_; }

 private:
  Damage* const damage_;
  absl::Status status_;
};

}  // namespace basalt::kv
