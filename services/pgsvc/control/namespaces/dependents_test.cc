#include "services/pgsvc/control/namespaces/dependents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DependentsTest, SaysWhatBeginsAndEndsToBeOfInterest) {
  Dependents dependents;
  EXPECT_THAT(dependents.Set("a", {"job", "class"}).first, ElementsAre("class", "job"));
  EXPECT_THAT(dependents.Set("b", {"job"}).first, IsEmpty()) << "a asks for it already";
  EXPECT_THAT(dependents.Of("job"), ElementsAre("a", "b"));
  const Dependents::Change moved = dependents.Set("a", {"set"});
  EXPECT_THAT(moved.first, ElementsAre("set"));
  EXPECT_THAT(moved.last, ElementsAre("class"));
  EXPECT_THAT(dependents.Of("job"), ElementsAre("b"));
  EXPECT_THAT(dependents.Set("b", {}).last, ElementsAre("job"));
  EXPECT_THAT(dependents.All(), ElementsAre("set"));
  EXPECT_THAT(dependents.Set("none", {}).last, IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
