#include "services/jobsvc/core/plugins/stable_text.h"

#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

// Clusters contain these values: a change here renames claims and volumes of running jobs.
TEST(StableTextTest, NeverChanges) {
  EXPECT_EQ(StableSuffix(""), "36k2e2oy2u7q");
  EXPECT_EQ(StableSuffix("claim/1d8f3c1e/0"), "oh9vugmb2fez");
  EXPECT_EQ(ContentHash("a"), "02c0bdbf481420f8");
}

TEST(StableTextTest, NeighboursDiffer) {
  EXPECT_NE(StableSuffix("claim/u/0"), StableSuffix("claim/u/1"));
  EXPECT_EQ(StableSuffix("claim/u/0").size(), 12u);
  EXPECT_EQ(StableSuffix("x").find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz"), std::string::npos);
}

}  // namespace
}  // namespace basalt::jobsvc
