#include "gateway/session/batch_encoder.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

namespace basalt::gateway {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t Tag(int field, WireFormatLite::WireType type) { return WireFormatLite::MakeTag(field, type); }
constexpr uint32_t Tag(int field) { return Tag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED); }

constexpr uint32_t kItems = Tag(v1::AttachBatch::kItemsFieldNumber);
constexpr uint32_t kState = Tag(v1::Item::kStateFieldNumber);
constexpr uint32_t kSlot = Tag(v1::ObjectState::kSlotFieldNumber, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kWatch = Tag(v1::ObjectState::kWatchFieldNumber);
constexpr uint32_t kRoutingKey = Tag(v1::ObjectState::kRoutingKeyFieldNumber);
constexpr uint32_t kObject = Tag(v1::ObjectState::kObjectFieldNumber);

size_t VarintSize(size_t number) { return CodedOutputStream::VarintSize32(static_cast<uint32_t>(number)); }
size_t Around(uint32_t tag, size_t size) { return VarintSize(tag) + VarintSize(size); }
size_t FieldSize(uint32_t tag, std::string_view text) { return Around(tag, text.size()) + text.size(); }

uint8_t* Write(uint32_t tag, size_t number, uint8_t* to) {
  to = CodedOutputStream::WriteVarint32ToArray(tag, to);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(number), to);
}
uint8_t* Write(uint32_t tag, std::string_view text, uint8_t* to) {
  to = Write(tag, text.size(), to);
  if (text.empty()) return to;  // The data of the text may be null, which memcpy must not be given.
  return CodedOutputStream::WriteRawToArray(text.data(), static_cast<int>(text.size()), to);
}

}  // namespace

// Messages that are written one behind the other are read as one message with the items of all. Only a message of 2 GiB
// could not be written, and items are bounded far below.
void BatchEncoder::Add(v1::Item item) {
  v1::AttachBatch alone;
  *alone.add_items() = std::move(item);
  static_cast<void>(alone.AppendToString(&bytes_));
  ++items_;
}

void BatchEncoder::AddState(uint32_t slot, std::string_view watch, std::string_view routing_key,
                            std::string_view object) {
  const size_t state =
      Around(kSlot, slot) + FieldSize(kWatch, watch) + FieldSize(kRoutingKey, routing_key) + FieldSize(kObject, object);
  const size_t item = Around(kState, state) + state;
  const size_t begin = bytes_.size();
  bytes_.resize(begin + Around(kItems, item) + item);
  uint8_t* to = reinterpret_cast<uint8_t*>(bytes_.data() + begin);
  to = Write(kItems, item, to);
  to = Write(kState, state, to);
  to = Write(kSlot, slot, to);
  to = Write(kWatch, watch, to);
  to = Write(kRoutingKey, routing_key, to);
  Write(kObject, object, to);
  ++items_;
}

std::string BatchEncoder::Finish(int64_t sequence, int64_t api_time_ms) {
  v1::AttachBatch head;
  head.set_sequence(sequence);
  head.set_api_time_ms(api_time_ms);
  static_cast<void>(head.AppendToString(&bytes_));
  items_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace basalt::gateway
