#pragma once

// An input of libFuzzer, taken apart into numbers, texts and messages that are whole whatever the bytes are: no input
// is lost to a decoder. When the bytes are used up, all that follows is 0, empty or unchanged.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace basalt::fuzz {

// Ends the process unless the rule holds: libFuzzer then keeps the input.
void Require(bool holds, std::string_view rule);

// One input of this target holds several messages, records or lines: the decoder runs once more. How often it has run
// is printed when the process ends. A target that never calls this runs its decoder once for each input.
void CountRun();

// Bytes of an input as a text.
inline std::string_view TextOf(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

class Input {
 public:
  using Words = std::span<const std::string_view>;

  // Most texts are one of `words`, which outlive the input: those that the code under test compares with.
  Input(const uint8_t* data, size_t size, Words words = {}) : bytes_(data, size), words_(words) {}

  bool empty() { return bytes_.remaining_bytes() == 0; }
  // From 0 to n - 1.
  int Below(int n) { return bytes_.ConsumeIntegralInRange(0, n - 1); }
  bool OneIn(int n) { return Below(n) == n - 1; }
  // Mostly a small one.
  int64_t Number();
  std::string Text();
  // All that is left.
  std::string Rest() { return bytes_.ConsumeRemainingBytesAsString(); }

  // Sets, adds and takes away some of its fields, and of those of the messages in it.
  void Change(google::protobuf::Message& message) { Change(message, 0); }
  template <typename Message>
  Message Make() {
    Message message;
    Change(message);
    return message;
  }

 private:
  void Change(google::protobuf::Message& message, int depth);
  void ChangeField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field, int depth);

  FuzzedDataProvider bytes_;
  const Words words_;
};

}  // namespace basalt::fuzz
