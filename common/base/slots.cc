#include "common/base/slots.h"

#include <cstddef>

namespace basalt {
namespace {

// splitmix64's finaliser.
uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
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

uint64_t RendezvousWeight(std::string_view member, uint32_t slot) {
  // FNV-1 in 64 bits over the name, then mixed with the slot.
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : member) {
    hash *= 1099511628211ULL;
    hash ^= static_cast<unsigned char>(c);
  }
  return Mix(hash ^ Mix(slot));
}

size_t RendezvousOwner(const std::vector<std::string_view>& members, uint32_t slot) {
  size_t best = 0;
  uint64_t best_weight = RendezvousWeight(members[0], slot);
  for (size_t i = 1; i < members.size(); ++i) {
    const uint64_t weight = RendezvousWeight(members[i], slot);
    if (weight > best_weight || (weight == best_weight && members[i] < members[best])) {
      best = i;
      best_weight = weight;
    }
  }
  return best;
}

}  // namespace basalt
