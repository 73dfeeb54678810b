#include "kubesim/schema/patch/patch.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace basalt::kubesim {
namespace {

json::value J(std::string_view text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *std::move(value) : json::value();
}

// tests/conformance/writes/patch_test.cc has the operations of each format one by one.
TEST(JsonPatchTest, ReadsEscapesAndTestsForAbsence) {
  const struct {
    std::string_view target, patch, want;
  } rows[] = {
      {R"({"a":{"x/y":1,"m~n":2}})",
       R"([{"op":"replace","path":"/a/x~1y","value":3},{"op":"remove","path":"/a/m~0n"}])", R"({"a":{"x/y":3}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1},{"op":"test","path":"/z","value":null}])", R"({"a":1})"},
  };
  for (const auto& row : rows) {
    auto got = ApplyJsonPatch(J(row.target), J(row.patch));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, J(row.want)) << row.patch;
  }
}

TEST(JsonPatchTest, MalformedPatchesAndUnfitTargetsDiffer) {
  const struct {
    std::string_view patch;
    absl::StatusCode want;
  } rows[] = {
      {R"([{"op":"add","path":"a","value":1}])", absl::StatusCode::kInvalidArgument},
      {R"([{"op":"add","path":"/a"}])", absl::StatusCode::kInvalidArgument},
      {R"([{"op":"add","path":"/l/01","value":1}])", absl::StatusCode::kFailedPrecondition},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ApplyJsonPatch(J(R"({"a":1,"l":[1]})"), J(row.patch)).status().code(), row.want) << row.patch;
  }
}

TEST(StrategicPatchTest, ListsMergeByTheirKeys) {
  const struct {
    std::string_view kind, target, patch, want;
  } rows[] = {
      {"Pod", R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"}]}})"},
      {"Service", R"({"spec":{"ports":[{"port":80,"name":"a"}]}})", R"({"spec":{"ports":[{"port":80,"name":"b"}]}})",
       R"({"spec":{"ports":[{"port":80,"name":"b"}]}})"},
      {"Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],"containers":[{"name":"c","image":"i"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"c","image":"i"},{"name":"a"}]}})"},
      {"Pod", R"({})", R"({"spec":{"containers":[{"name":"a"},{"name":"b","$patch":"delete"}],"x":null}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
  };
  for (const auto& row : rows) {
    auto got = ApplyStrategicPatch(J(row.target), J(row.patch), row.kind);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, J(row.want)) << row.patch << "\n got " << ToText(*got);
  }
}

}  // namespace
}  // namespace basalt::kubesim
