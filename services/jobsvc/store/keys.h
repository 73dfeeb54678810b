#pragma once

// How keys of jobsvc's records begin: with the slot, so that a slot is one range, then with a name or UID.
#include <cstdint>
#include <string>
#include <string_view>

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

// Of a scan's view of the value.
template <typename Record>
bool Parse(std::string_view value, Record& record) {
  return record.ParseFromArray(value.data(), static_cast<int>(value.size()));
}

}  // namespace basalt::jobsvc
