#pragma once

// A set of slots, as bits in memory and as bytes in messages (bit i%8 of byte i/8 is slot i).
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/slots.h"

namespace basalt {

class SlotSet {
 public:
  static SlotSet All() {
    SlotSet all;
    all.bits_.set();
    return all;
  }
  // Bytes that are missing at the end contain no slots. Bytes beyond the last slot are ignored.
  static SlotSet FromBytes(std::string_view bytes) {
    SlotSet set;
    for (uint32_t slot = 0; slot < kSlotCount && slot / 8 < bytes.size(); ++slot) {
      if ((static_cast<unsigned char>(bytes[slot / 8]) >> (slot % 8) & 1) != 0) set.Insert(slot);
    }
    return set;
  }
  std::string ToBytes() const {
    std::string bytes(kSlotCount / 8, '\0');
    for (const uint32_t slot : ToVector()) {
      bytes[slot / 8] = static_cast<char>(static_cast<unsigned char>(bytes[slot / 8]) | 1U << (slot % 8));
    }
    return bytes;
  }
  std::vector<uint32_t> ToVector() const {
    std::vector<uint32_t> slots;
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
      if (bits_[slot]) slots.push_back(slot);
    }
    return slots;
  }
  void Insert(uint32_t slot) { bits_.set(slot); }
  void Erase(uint32_t slot) { bits_.reset(slot); }
  bool Contains(uint32_t slot) const { return slot < kSlotCount && bits_[slot]; }
  bool empty() const { return bits_.none(); }
  size_t size() const { return bits_.count(); }

 private:
  std::bitset<kSlotCount> bits_;
};

}  // namespace basalt
