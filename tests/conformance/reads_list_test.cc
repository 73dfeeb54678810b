// Lists: what is in them, and what their resourceVersion means.
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

class ListConformance : public Conformance {};

TEST_F(ListConformance, ItemsComeInTheOrderOfTheirNames) {
  for (const char* name : {"b", "c", "a", "a-b", "a.b"}) MakeSecret(name);
  EXPECT_EQ(Get(Secrets()).Names(), "a a-b a.b b c");
}

TEST_F(ListConformance, AWatchTellsOfWhatIsMade) {
  Watch watch(Server(), Configs() + "?watch=true");
  MakeConfig("a");
  EXPECT_EQ(watch.Of("a").type, "ADDED");
}

}  // namespace
}  // namespace basalt::conformance
