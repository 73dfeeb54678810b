#pragma once

// Splits an input of libFuzzer into numbers, texts and messages. Any bytes give valid messages, so that no input is
// lost to a decoder. When the bytes are used up, all further numbers are 0, texts are empty and messages stay
// unchanged.
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

// Aborts the process unless the rule holds. libFuzzer then keeps the input.
void Require(bool holds, std::string_view rule);

// Counts one more run of the decoder. A target calls this if its inputs hold several messages, records or lines. The
// count is printed when the process ends. A target that never calls this runs its decoder once for each input.
void CountRun();

// Returns the bytes of an input as a text.
inline std::string_view TextOf(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

class Input {
 public:
  using Words = std::span<const std::string_view>;

  // `words` are the texts that the code under test compares with. Most texts of the input are one of them. They must
  // outlive the input.
  Input(const uint8_t* data, size_t size, Words words = {}) : bytes_(data, size), words_(words) {}

  bool empty() { return bytes_.remaining_bytes() == 0; }
  // Returns a number from 0 to n - 1.
  int Below(int n) { return bytes_.ConsumeIntegralInRange(0, n - 1); }
  bool OneIn(int n) { return Below(n) == n - 1; }
  // Returns a number, mostly a small one.
  int64_t Number();
  std::string Text();
  // Returns all remaining bytes.
  std::string Rest() { return bytes_.ConsumeRemainingBytesAsString(); }

  // Sets, adds and removes some fields of the message and of the messages in it.
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
