#pragma once

// How keys of jobsvc's records begin: with the slot, so that a slot is one range, then with a name or UID.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/base/status.h"
#include "common/kv/kv_store.h"

namespace basalt::jobsvc {

inline std::string SlotPrefix(uint32_t slot) {
  std::string key;
  kv::PutSlot(key, slot);
  return key;
}

inline std::string TextKey(uint32_t slot, std::string_view text) {
  std::string key = SlotPrefix(slot);
  kv::PutText(key, text);
  return key;
}

// DATA_LOSS.
inline absl::Status Damaged(std::string_view what, std::string_view key) {
  return MakeStatus(absl::StatusCode::kDataLoss, fmt::format("{} record of {} cannot be read", what, key));
}

}  // namespace basalt::jobsvc
