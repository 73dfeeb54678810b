#include "common/rpc/reopen_pause.h"

#include <gtest/gtest.h>

#include <vector>

namespace basalt::rpc {
namespace {

TEST(ReopenPauseTest, DoublesWhileTheStreamIsOfNoUse) {
  ReopenPause pause;
  absl::Time now = absl::UnixEpoch();
  EXPECT_FALSE(pause.Blocks(now)) << "the first stream";
  for (const int64_t ms : {100, 200, 400, 800, 1600, 2000, 2000}) {
    pause.Ended(now, false);
    EXPECT_TRUE(pause.Blocks(now + absl::Milliseconds(ms - 1))) << ms;
    now += absl::Milliseconds(ms);
    EXPECT_FALSE(pause.Blocks(now)) << ms;
  }
  pause.Ended(now, true);
  EXPECT_FALSE(pause.Blocks(now)) << "it was of use";
  pause.Ended(now, false);
  EXPECT_TRUE(pause.Blocks(now + absl::Milliseconds(99)));
  EXPECT_FALSE(pause.Blocks(now + absl::Milliseconds(100))) << "from the start again";
}

}  // namespace
}  // namespace basalt::rpc
