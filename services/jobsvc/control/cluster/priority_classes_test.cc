#include "services/jobsvc/control/cluster/priority_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

kube::v1::PriorityClass Class(const std::string& name, int32_t value) {
  kube::v1::PriorityClass priority_class;
  priority_class.mutable_meta()->set_name(name);
  priority_class.set_value(value);
  return priority_class;
}

class PriorityClassesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Come(const std::string& name, int32_t value) {
    return classes_.Receive(Class(name, value), false);
  }
  std::vector<std::string> Go(const std::string& name) { return classes_.Receive(Class(name, 0), true); }

  PriorityClasses classes_;
};

TEST_F(PriorityClassesTest, TheValueIsThatOfTheClassOrNothing) {
  Come("high", 100);
  EXPECT_EQ(classes_.ValueFor("ns/a", "high"), 100);
  EXPECT_EQ(classes_.ValueFor("ns/a", "low"), 0);
  Go("high");
  EXPECT_EQ(classes_.ValueFor("ns/a", "high"), 0);
}

TEST_F(PriorityClassesTest, AChangeConcernsTheJobsThatAskedForIt) {
  classes_.ValueFor("ns/a", "high");
  classes_.ValueFor("ns/b", "low");
  classes_.ValueFor("ns/c", "high");
  EXPECT_THAT(Come("high", 100), ElementsAre("ns/a", "ns/c")) << "it comes";
  EXPECT_THAT(Come("high", 200), ElementsAre("ns/a", "ns/c")) << "it has another value";
  EXPECT_THAT(Come("other", 200), IsEmpty());
  EXPECT_THAT(Go("high"), ElementsAre("ns/a", "ns/c")) << "it goes";
}

// A list that is read anew repeats the states.
TEST_F(PriorityClassesTest, ARepeatedStateConcernsNobody) {
  classes_.ValueFor("ns/a", "high");
  Come("high", 100);
  EXPECT_THAT(Come("high", 100), IsEmpty());
  Go("high");
  EXPECT_THAT(Go("high"), IsEmpty());
  EXPECT_THAT(Come("high", 0), IsEmpty()) << "as much as none";
}

TEST_F(PriorityClassesTest, AJobThatAsksAnewIsConcernedByWhatItAskedForSince) {
  classes_.ValueFor("ns/a", "high");
  classes_.ValueFor("ns/a", "low");
  classes_.DropJob("ns/a");
  classes_.ValueFor("ns/a", "low");
  EXPECT_THAT(Come("high", 100), IsEmpty());
  EXPECT_THAT(Come("low", 1), ElementsAre("ns/a"));
  classes_.DropJob("ns/a");
  classes_.DropJob("ns/never");
  EXPECT_THAT(Come("low", 2), IsEmpty());
}

}  // namespace
}  // namespace basalt::jobsvc
