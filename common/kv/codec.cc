#include <cstdlib>

#include "common/base/slots.h"
#include "common/kv/kv_store.h"

namespace basalt::kv {

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

void PutSlot(std::string& key, uint32_t slot) {
  // The two low bytes of a larger number would name another slot, whose records would be read and deleted.
  if (slot >= kSlotCount) std::abort();
  key.push_back(static_cast<char>((slot >> 8) & 0xff));
  key.push_back(static_cast<char>(slot & 0xff));
}

void PutFixed64(std::string& key, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>((value >> shift) & 0xff));
}

void PutText(std::string& key, std::string_view text) {
  key.append(text);
  key.push_back('\0');
}

bool TakeSlot(std::string_view& key, uint32_t& slot) {
  if (key.size() < 2) return false;
  slot = static_cast<uint32_t>(static_cast<uint8_t>(key[0])) << 8 | static_cast<uint8_t>(key[1]);
  key.remove_prefix(2);
  return true;
}

bool TakeFixed64(std::string_view& key, uint64_t& value) {
  if (key.size() < 8) return false;
  value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<uint8_t>(key[i]);
  key.remove_prefix(8);
  return true;
}

bool TakeText(std::string_view& key, std::string& text) {
  const size_t end = key.find('\0');
  if (end == std::string_view::npos) return false;
  text.assign(key.substr(0, end));
  key.remove_prefix(end + 1);
  return true;
}

}  // namespace basalt::kv
