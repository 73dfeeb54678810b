#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace basalt {

inline constexpr uint32_t kSlotCount = 1024;
// States that go to every replica (queues, priority classes) carry this instead of a slot.
inline constexpr uint32_t kBroadcastSlot = 0xffffffff;

// FNV-1, 32 bits (multiply, then xor; not FNV-1a). Job spec 5.1; test vectors in its appendix B.
uint32_t Fnv1(std::string_view key);

// The slot that a routing key (namespace/name, or a queue's name) belongs to.
inline uint32_t SlotOf(std::string_view key) { return Fnv1(key) % kSlotCount; }

// The weight of a member for a slot. The member with the highest weight owns the slot; ties go to the lower name.
// Fixed for ever (test vectors in slots_test.cc): all processes must agree, also across versions.
uint64_t RendezvousWeight(std::string_view member, uint32_t slot);

// Index in `members` of the owner of `slot`. Requires: members is not empty.
size_t RendezvousOwner(const std::vector<std::string_view>& members, uint32_t slot);
// The same of every slot; each name is read once. Empty where members are.
std::vector<size_t> RendezvousOwners(const std::vector<std::string_view>& members);

}  // namespace basalt
