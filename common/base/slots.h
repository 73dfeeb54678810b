#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace basalt {

inline constexpr uint32_t kSlotCount = 1024;
// States that go to every replica (queues, priority classes) have this value instead of a slot.
inline constexpr uint32_t kBroadcastSlot = 0xffffffff;

// Returns the FNV-1 hash in 32 bits (multiply, then xor; not FNV-1a). Job spec 5.1; test vectors are in its appendix B.
uint32_t Fnv1(std::string_view key);

// Returns the slot that a routing key (namespace/name, or a queue's name) belongs to.
inline uint32_t SlotOf(std::string_view key) { return Fnv1(key) % kSlotCount; }

// Returns the weight of a member for a slot. The member with the highest weight owns the slot; ties go to the lower
// name. The function never changes (test vectors in slots_test.cc): all processes must agree, also across versions.
uint64_t RendezvousWeight(std::string_view member, uint32_t slot);

// Returns the index in `members` of the owner of `slot`. Requires: members is not empty.
size_t RendezvousOwner(const std::vector<std::string_view>& members, uint32_t slot);
// Returns the same for every slot, and reads each name once. Empty if `members` is empty.
std::vector<size_t> RendezvousOwners(const std::vector<std::string_view>& members);

}  // namespace basalt
