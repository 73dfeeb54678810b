#pragma once

// A hash of the published state of an object. It is the same in every process, since it is stored. Pure.
#include <cstdint>
#include <string_view>

namespace basalt::watch {

class StateHash {
 public:
  StateHash& Add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * kPrime;
    value_ *= kPrime;
    return *this;
  }
  StateHash& Add(uint64_t number) {
    return Add(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
  }
  uint64_t value() const { return value_; }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3;

  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace basalt::watch
