#include "services/jobsvc/core/plugins/stable_text.h"

#include <fmt/format.h>

namespace basalt::jobsvc {
namespace {

constexpr uint64_t kFnvOffset = 14695981039346656037u;
constexpr uint64_t kFnvPrime = 1099511628211u;
constexpr int kSuffixLength = 12;

}  // namespace

uint64_t StableHash(std::string_view content) {
  uint64_t hash = kFnvOffset;
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  // FNV leaves the high bits of short texts alike; splitmix64's finisher spreads them.
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

std::string ContentHash(std::string_view content) { return fmt::format("{:016x}", StableHash(content)); }

std::string StableSuffix(std::string_view content) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string suffix(kSuffixLength, '0');
  uint64_t hash = StableHash(content);
  for (char& c : suffix) {
    c = kDigits[hash % kDigits.size()];
    hash /= kDigits.size();
  }
  return suffix;
}

}  // namespace basalt::jobsvc
