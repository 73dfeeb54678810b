#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace basalt {

// A source of randomness, which the caller passes in: so tests and the simulation know jitter, ids and keys exactly.
// Not thread-safe: each loop has its own.
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;

  // Returns a number that is uniform in [0, bound). Requires: bound > 0.
  uint64_t Uniform(uint64_t bound) { return Next() % bound; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  bool OneIn(uint64_t n) { return Uniform(n) == 0; }
};

// Implements xoshiro256** seeded by splitmix64: a seed gives the same sequence on every machine.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed);
  uint64_t Next() override;

 private:
  uint64_t state_[4];
};

// Reads from the operating system (getrandom).
class SystemRandom : public Random {
 public:
  uint64_t Next() override;
};

// Returns a random (version 4) UUID in its canonical text form.
std::string MakeUuid(Random& random);
// Returns whether the text has the form of a UUID: 8-4-4-4-12 hexadecimal digits.
bool IsUuid(std::string_view text);

}  // namespace basalt
