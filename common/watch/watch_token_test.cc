#include "common/watch/watch_token.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/slots.h"

namespace basalt::watch {
namespace {

TEST(WatchTokenTest, ATokenIsReadAsItWasWritten) {
  std::vector<WatchPosition> positions(kSlotCount);
  positions[0] = {0xffffffffffffffff, 1};
  positions[1023] = {7, int64_t{1} << 40};
  EXPECT_EQ(ReadWatchToken(MakeWatchToken(positions)), positions);
}

TEST(WatchTokenTest, ATokenThatAClientKeepsIsReadByLaterVersions) {
  std::vector<WatchPosition> positions(kSlotCount);
  positions[5] = {7, 9};
  positions[1023] = {0x123456789abcdef0, (int64_t{1} << 24) + 3};
  EXPECT_EQ(MakeWatchToken(positions), "CgMF_wcSEAcAAAAAAAAA8N68mnhWNBIaBQmDgIAI");
}

TEST(WatchTokenTest, APositionTravelsWithItsSlot) {
  const v1::SlotPosition message = ToMessage(5, {7, 9});
  EXPECT_EQ(message.slot(), 5u);
  EXPECT_EQ(PositionOf(message), (WatchPosition{7, 9}));
}

TEST(WatchTokenTest, NoTokenIsTheStart) {
  EXPECT_EQ(ReadWatchToken(""), std::vector<WatchPosition>(kSlotCount));
  EXPECT_EQ(MakeWatchToken(std::vector<WatchPosition>(kSlotCount)), "");
}

TEST(WatchTokenTest, ATokenOfAllSlotsIsSmallAndOfSafeCharacters) {
  const std::string token = MakeWatchToken(std::vector<WatchPosition>(kSlotCount, {0x123456789abcdef0, 1'000'000}));
  EXPECT_LT(token.size(), 20'000u);
  EXPECT_TRUE(std::all_of(token.begin(), token.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '=';
  }));
}

TEST(WatchTokenTest, ATextThatIsNoTokenIsAnUnknownPosition) {
  std::vector<WatchPosition> positions(kSlotCount);
  positions[5] = {7, 9};
  const std::string good = MakeWatchToken(positions);
  for (const std::string& bad : {std::string("x"), std::string("inc.5"), std::string("ä"), good.substr(1),
                                 good + "AAAA", std::string(100'000, '9')}) {
    const std::vector<WatchPosition> read = ReadWatchToken(bad);
    EXPECT_TRUE(std::all_of(read.begin(), read.end(), [](const WatchPosition& position) {
      return position.incarnation == 0 && position.revision > 0;
    })) << bad.substr(0, 30);
  }
}

}  // namespace
}  // namespace basalt::watch
