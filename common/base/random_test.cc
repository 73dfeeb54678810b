#include "common/base/random.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

TEST(RandomTest, OneSeedGivesOneSequence) {
  SeededRandom a(7);
  SeededRandom b(7);
  SeededRandom c(8);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(a.Next(), c.Next());
}

TEST(RandomTest, UuidHasVersionAndVariant) {
  SeededRandom random(1);
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = MakeUuid(random);
    ASSERT_EQ(uuid.size(), 36U);
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
    EXPECT_TRUE(IsUuid(uuid));
    EXPECT_FALSE(IsUuid(uuid + "0") || IsUuid(uuid.substr(1)) || IsUuid("g" + uuid.substr(1)));
  }
}

}  // namespace
}  // namespace basalt
