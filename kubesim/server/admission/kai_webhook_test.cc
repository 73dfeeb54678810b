// Tests each cell of the table of pod-grouper 9.1.
#include "kubesim/server/admission/kai_webhook.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::kubesim {
namespace {

bool IsRefused(std::string_view spec, KaiWrite write) {
  const json::value object = json::object{{"spec", ParseJson(spec).value()}};
  return !CheckKaiPodGroup(object, write).empty();
}

TEST(KaiWebhookTest, EachFindingIsRefusedWhereKaiRefusesIt) {
  const struct {
    const char* finding;
    const char* spec;
    bool create;
    bool update;
  } rows[] = {
      {"nothing", R"({"minMember":1})", false, false},
      {"no minimum", R"({})", false, false},
      {"both minima on the group", R"({"minMember":1,"minSubGroup":1})", true, true},
      {"both minima on a subgroup",
       R"({"subGroups":[{"name":"a","minSubGroup":1,"minMember":1},{"name":"b","parent":"a","minMember":1}]})", true,
       true},
      {"duplicate name", R"({"subGroups":[{"name":"a","minMember":1},{"name":"a","minMember":1}]})", true, true},
      {"unknown parent", R"({"subGroups":[{"name":"a","parent":"x","minMember":1}]})", true, true},
      {"cycle",
       R"({"subGroups":[{"name":"a","parent":"b","minSubGroup":1},{"name":"b","parent":"a","minSubGroup":1}]})", true,
       true},
      {"own parent", R"({"subGroups":[{"name":"a","parent":"a","minSubGroup":1}]})", true, true},
      {"leaf without minMember", R"({"subGroups":[{"name":"a"}]})", true, true},
      {"leaf with minSubGroup", R"({"subGroups":[{"name":"a","minSubGroup":0}]})", true, true},
      {"parent with minMember", R"({"subGroups":[{"name":"a","minMember":1},{"name":"b","parent":"a","minMember":1}]})",
       true, false},
      {"minSubGroup above the children",
       R"({"minSubGroup":9,"subGroups":[{"name":"a","minSubGroup":5},{"name":"b","parent":"a","minMember":1}]})", false,
       false},
      {"a leaf of 0", R"({"minSubGroup":1,"subGroups":[{"name":"a","minMember":0}]})", false, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(IsRefused(row.spec, KaiWrite::kCreate), row.create) << row.finding;
    EXPECT_EQ(IsRefused(row.spec, KaiWrite::kUpdate), row.update) << row.finding;
  }
}

}  // namespace
}  // namespace basalt::kubesim
