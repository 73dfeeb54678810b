#include <gtest/gtest.h>

#include <algorithm>

#include "common/kv/kv_store.h"

namespace basalt::kv {
namespace {

TEST(PrefixEndTest, IsTheFirstKeyAfterAllThatStartWithThePrefix) {
  EXPECT_EQ(PrefixEnd("ab"), "ac");
  EXPECT_EQ(PrefixEnd(std::string("a\xff", 2)), "b");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "");
  EXPECT_EQ(PrefixEnd(""), "");
}

TEST(CodecTest, PartsArePutAndTakenInTheSameOrder) {
  std::string key;
  PutSlot(key, 1023);
  PutText(key, "default/a");
  PutFixed64(key, 0x0102030405060708ULL);
  std::string_view rest = key;
  uint32_t slot = 0;
  std::string text;
  uint64_t number = 0;
  ASSERT_TRUE(TakeSlot(rest, slot) && TakeText(rest, text) && TakeFixed64(rest, number));
  EXPECT_EQ(slot, 1023U);
  EXPECT_EQ(text, "default/a");
  EXPECT_EQ(number, 0x0102030405060708ULL);
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(TakeSlot(rest, slot) || TakeText(rest, text) || TakeFixed64(rest, number));
}

TEST(CodecDeathTest, ANumberThatIsNoSlotIsNotPut) {
  std::string key;
  EXPECT_DEATH(PutSlot(key, 1024), "");
  EXPECT_DEATH(PutSlot(key, 65536 + 439), "");
}

TEST(CodecTest, KeysSortAsTheirPartsMean) {
  const auto key = [](uint32_t slot, std::string_view text, uint64_t number) {
    std::string out;
    PutSlot(out, slot);
    PutText(out, text);
    PutFixed64(out, number);
    return out;
  };
  const std::vector<std::string> sorted = {key(1, "a", 2),  key(1, "a", 256), key(1, "a", 1ULL << 63),
                                           key(1, "ab", 1), key(1, "b", 0),   key(256, "a", 0)};
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
}

}  // namespace
}  // namespace basalt::kv
