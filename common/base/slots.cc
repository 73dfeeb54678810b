#include "common/base/slots.h"

#include <cstddef>

namespace basalt {
namespace {

// Is the finaliser of splitmix64.
uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Returns FNV-1 in 64 bits over the name. The caller mixes the slot in afterwards.
uint64_t HashName(std::string_view member) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : member) {
    hash *= 1099511628211ULL;
    hash ^= static_cast<unsigned char>(c);
  }
  return hash;
}

std::vector<uint64_t> HashNames(const std::vector<std::string_view>& members) {
  std::vector<uint64_t> hashes;
  hashes.reserve(members.size());
  for (const std::string_view member : members) hashes.push_back(HashName(member));
  return hashes;
}

uint64_t Weight(uint64_t hash, uint32_t slot) { return Mix(hash ^ Mix(slot)); }

size_t BestOf(const std::vector<std::string_view>& members, const std::vector<uint64_t>& hashes, uint32_t slot) {
  size_t best = 0;
  uint64_t best_weight = Weight(hashes[0], slot);
  for (size_t i = 1; i < members.size(); ++i) {
    const uint64_t weight = Weight(hashes[i], slot);
    if (weight > best_weight || (weight == best_weight && members[i] < members[best])) {
      best = i;
      best_weight = weight;
    }
  }
  return best;
}

}  // namespace

uint32_t Fnv1(std::string_view key) {
  uint32_t hash = 2166136261U;
  for (const char c : key) {
    hash *= 16777619U;
    hash ^= static_cast<unsigned char>(c);
  }
  return hash;
}

uint64_t RendezvousWeight(std::string_view member, uint32_t slot) { return Weight(HashName(member), slot); }

size_t RendezvousOwner(const std::vector<std::string_view>& members, uint32_t slot) {
  return BestOf(members, HashNames(members), slot);
}

std::vector<size_t> RendezvousOwners(const std::vector<std::string_view>& members) {
  std::vector<size_t> owners;
  if (members.empty()) return owners;
  const std::vector<uint64_t> hashes = HashNames(members);
  owners.reserve(kSlotCount);
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) owners.push_back(BestOf(members, hashes, slot));
  return owners;
}

}  // namespace basalt
