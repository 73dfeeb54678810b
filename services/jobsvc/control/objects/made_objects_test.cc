#include "services/jobsvc/control/objects/made_objects.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace basalt::jobsvc {
namespace {

TEST(MadeObjectsTest, SaysWhatIsRememberedOfAnObject) {
  struct Case {
    const char* what;
    std::optional<std::string> remembered;
    WantedObject::OnChange on_change;
    bool has;
    bool is_current;
    bool is_outdated;
    const char* uid;
  };
  constexpr auto kLeave = WantedObject::OnChange::kLeave;
  constexpr auto kPatch = WantedObject::OnChange::kPatch;
  const Case cases[] = {
      {"nothing", std::nullopt, kPatch, false, false, false, ""},
      {"it may exist", "", kPatch, false, false, false, ""},
      {"as it is wanted", "h1 u1", kPatch, true, true, false, "u1"},
      {"with other data, which are to be changed", "h0 u1", kPatch, true, false, true, "u1"},
      {"with other data, which are left alone", "h0 u1", kLeave, true, true, false, "u1"},
      {"without a UID", "h1", kPatch, true, true, false, ""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    WantedObject object;
    object.plural = "configmaps";
    object.name = "j-svc";
    object.hash = "h1";
    object.on_change = test.on_change;
    MadeObjects made;
    if (test.remembered) made.Load({{"configmaps/j-svc", *test.remembered}});
    EXPECT_EQ(made.Has("configmaps/j-svc"), test.has);
    EXPECT_EQ(made.IsCurrent(object), test.is_current);
    EXPECT_EQ(made.IsOutdated(object), test.is_outdated);
    EXPECT_EQ(made.UidOf("configmaps/j-svc"), test.uid);
  }
}

TEST(MadeObjectsTest, KeepsWhatItExpectsUntilItIsErased) {
  MadeObjects made;
  made.Expect("services/j");
  EXPECT_FALSE(made.Has("services/j"));
  EXPECT_EQ(made.all().size(), 1U);
  made.Remember("services/j", "h1", "u1");
  made.Expect("services/j");  // A known object stays known.
  EXPECT_EQ(made.all().at("services/j"), "h1 u1");
  made.Doubt("services/j");
  EXPECT_FALSE(made.Has("services/j"));
  made.Remember("services/j", "h1", "u2");
  made.DoubtAll();
  EXPECT_EQ(made.all().at("services/j"), "");
  made.Erase("services/j");
  EXPECT_TRUE(made.empty());
}

}  // namespace
}  // namespace basalt::jobsvc
