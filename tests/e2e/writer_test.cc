#include "tests/e2e/writer.h"

#include <gtest/gtest.h>

namespace basalt::e2e {
namespace {

TEST(WriterTest, AWriterIsReadFromTheUserAgent) {
  const auto writer = WriterOf("basalt-gateway/0.1.0 (jobsvc-12/ab-cd slot 7 epoch 33)");
  ASSERT_TRUE(writer.has_value());
  EXPECT_EQ(writer->service, "jobsvc");
  EXPECT_EQ(writer->replica, "jobsvc-12");
  EXPECT_EQ(writer->incarnation, "ab-cd");
  EXPECT_EQ(writer->slot, 7u);
  EXPECT_EQ(writer->epoch, 33);
  for (const char* other :
       {"", "basalt-gateway/0.1.0", "kubectl/1 (jobsvc-0/a slot 7 epoch 3)", "basalt-gateway/1 ()",
        "basalt-gateway/1 (jobsvc-0 slot 7 epoch 3)", "basalt-gateway/1 (jobsvc-0/a slot x epoch 3)",
        "basalt-gateway/1 (jobsvc-0/a slot 7 epoch 3x)", "basalt-gateway/1 (a-0/b epoch 3 slot 7)",
        "basalt-gateway/1 (jobsvc-0/a slot 7 epoch 3) more"}) {
    EXPECT_FALSE(WriterOf(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace basalt::e2e
