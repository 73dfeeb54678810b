#include "tests/fuzz/input.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "common/base/slots.h"

namespace basalt::fuzz {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

constexpr int kMostChanges = 5;  // Changes of one message, without those of the messages in it.
constexpr int kDeepest = 6;
constexpr int64_t kEndOfTimeMs = 253'402'300'800'000;  // The year 10000.

}  // namespace

void Require(bool holds, std::string_view rule) {
  if (holds) return;
  fmt::print(stderr, "broken rule: {}\n", rule);
  std::abort();
}

void CountRun() {
  static int64_t runs = 0;
  if (runs++ > 0) return;
  std::atexit([] { fmt::print(stderr, "stat::runs_of_the_decoder: {}\n", runs); });
}

int64_t Input::Number() {
  // No counter that counts one by one reaches the limits of 64 bits, so they are left out. Any client may write the
  // limits of 32 bits.
  constexpr int64_t kFar = int64_t{1} << 62;
  constexpr int64_t kLimits[] = {-1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), -kFar,
                                 kFar};
  switch (Below(10)) {
    case 9:
      return kLimits[Below(std::size(kLimits))];
    case 8:
      return bytes_.ConsumeIntegral<int64_t>() % kFar;
    case 7:
      return bytes_.ConsumeIntegral<uint16_t>();
    default:
      return Below(8);
  }
}

std::string Input::Text() {
  const int word = Below(static_cast<int>(words_.size()) + 1);
  if (word > 0) return std::string(words_[static_cast<size_t>(word) - 1]);
  // A message never contains invalid UTF-8.
  std::string text = bytes_.ConsumeRandomLengthString(64);
  for (char& c : text) c = static_cast<char>(c & 0x7f);
  return text;
}

void Input::Change(Message& message, int depth) {
  const auto& fields = *message.GetDescriptor();
  if (fields.field_count() == 0 || depth > kDeepest) return;
  for (int changes = 1 + Below(kMostChanges); changes > 0 && !empty(); --changes) {
    ChangeField(message, *fields.field(Below(fields.field_count())), depth);
  }
}

void Input::ChangeField(Message& message, const FieldDescriptor& field, int depth) {
  const Reflection& has = *message.GetReflection();
  const int size = field.is_repeated() ? has.FieldSize(message, &field) : 0;
  if (OneIn(16)) {
    if (size > 1) return has.RemoveLast(&message, &field);
    return has.ClearField(&message, &field);
  }
  const bool adds = field.is_repeated() && (size == 0 || OneIn(3));
  const int at = adds || size == 0 ? 0 : Below(size);
  // Sets the field or its entry `at`, or adds an entry.
  const auto put = [&](auto set, auto set_repeated, auto add, auto value) {
    if (!field.is_repeated()) {
      (has.*set)(&message, &field, std::move(value));
    } else if (adds) {
      (has.*add)(&message, &field, std::move(value));
    } else {
      (has.*set_repeated)(&message, &field, at, std::move(value));
    }
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, &Reflection::AddInt32,
                 static_cast<int32_t>(Number()));
    case FieldDescriptor::CPPTYPE_INT64:
      // No timestamp of Kubernetes can be later.
      return put(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, &Reflection::AddInt64,
                 field.name().ends_with("_ms") ? Number() % kEndOfTimeMs : Number());
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, &Reflection::AddUInt32,
                 static_cast<uint32_t>(Number()));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64,
                 static_cast<uint64_t>(Number()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble,
                 static_cast<double>(Number()));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, &Reflection::AddFloat,
                 static_cast<float>(Number()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&Reflection::SetBool, &Reflection::SetRepeatedBool, &Reflection::AddBool, OneIn(2));
    case FieldDescriptor::CPPTYPE_ENUM:
      // A newer process may know values that this one does not.
      return put(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue, &Reflection::AddEnumValue,
                 Below(field.enum_type()->value_count() + 1));
    case FieldDescriptor::CPPTYPE_STRING:
      // Half of the values of bytes fields have a bit for each slot.
      return put(
          &Reflection::SetString, &Reflection::SetRepeatedString, &Reflection::AddString,
          field.type() == FieldDescriptor::TYPE_BYTES && OneIn(2) ? std::string(kSlotCount / 8, '\xff') : Text());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  if (!field.is_repeated()) return Change(*has.MutableMessage(&message, &field), depth + 1);
  Change(adds ? *has.AddMessage(&message, &field) : *has.MutableRepeatedMessage(&message, &field, at), depth + 1);
}

}  // namespace basalt::fuzz
