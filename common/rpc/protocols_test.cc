#include "common/rpc/protocols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::rpc {
namespace {

TEST(ProtocolsTest, ProcessesWithAProtocolInCommonWorkTogether) {
  struct Case {
    Protocols ours;
    Protocols theirs;
    const char* why;
  };
  const Case cases[] = {{{1, 1}, {1, 1}, ""},
                        {{1, 2}, {2, 3}, ""},
                        {{2, 3}, {1, 2}, ""},
                        {{1, 9}, {4, 5}, ""},
                        {{2, 3}, {4, 4}, "this process speaks 2 to 3, the other one 4 to 4"},
                        {{4, 4}, {2, 3}, "upgrade one release at a time"},
                        {{1, 1}, {0, 0}, "the other process states none"},
                        {{1, 9}, {5, 4}, "5 to 4 of the other process is no range"}};
  for (const Case& test : cases) {
    const std::string why = WhyRefused(test.ours, RangeOf(test.theirs));
    EXPECT_THAT(why, ::testing::HasSubstr(test.why));
    EXPECT_EQ(why.empty(), *test.why == '\0') << why;
  }
}

}  // namespace
}  // namespace basalt::rpc
