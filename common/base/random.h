#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace basalt {

// Randomness is passed in, never taken from the air: jitter, ids and keys are then exact in tests and in simulation.
// Not thread-safe: one per loop.
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;

  // Uniform in [0, bound). Requires: bound > 0.
  uint64_t Uniform(uint64_t bound) { return Next() % bound; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  bool OneIn(uint64_t n) { return Uniform(n) == 0; }
};

// xoshiro256** seeded by splitmix64: the same sequence on every machine.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed);
  uint64_t Next() override;

 private:
  uint64_t state_[4];
};

// From the operating system (getrandom).
class SystemRandom : public Random {
 public:
  uint64_t Next() override;
};

// A random (version 4) UUID in its canonical text form.
std::string MakeUuid(Random& random);
// Whether the text has the form of a UUID: 8-4-4-4-12 hexadecimal digits.
bool IsUuid(std::string_view text);

}  // namespace basalt
