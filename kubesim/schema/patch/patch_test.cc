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

TEST(MergePatchTest, FollowsRfc7386) {
  const struct {
    std::string_view target, patch, want;
  } rows[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
      {R"({"a":"foo"})", R"({"a":{"b":1}})", R"({"a":{"b":1}})"},
  };
  for (const auto& row : rows) EXPECT_EQ(*ApplyMergePatch(J(row.target), J(row.patch)), J(row.want)) << row.patch;
  EXPECT_EQ(ApplyMergePatch(J("{}"), J("[1]")).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(JsonPatchTest, OperationsChangeTheTarget) {
  const struct {
    std::string_view target, patch, want;
  } rows[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2},{"op":"add","path":"/a/-","value":4}])",
       R"({"a":[1,2,3,4]})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a":{"x/y":1,"m~n":2}})",
       R"([{"op":"replace","path":"/a/x~1y","value":3},{"op":"remove","path":"/a/m~0n"}])", R"({"a":{"x/y":3}})"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"/b","path":"/c"}])",
       R"({"b":1,"c":1})"},
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
      {R"({"op":"add"})", absl::StatusCode::kInvalidArgument},
      {R"([{"op":"jump","path":"/a"}])", absl::StatusCode::kInvalidArgument},
      {R"([{"op":"add","path":"a","value":1}])", absl::StatusCode::kInvalidArgument},
      {R"([{"op":"add","path":"/a"}])", absl::StatusCode::kInvalidArgument},
      {R"([{"op":"test","path":"/a","value":2}])", absl::StatusCode::kFailedPrecondition},
      {R"([{"op":"remove","path":"/none"}])", absl::StatusCode::kFailedPrecondition},
      {R"([{"op":"replace","path":"/none/x","value":1}])", absl::StatusCode::kFailedPrecondition},
      {R"([{"op":"add","path":"/l/5","value":1}])", absl::StatusCode::kFailedPrecondition},
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
      {"Pod", R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"b","image":"y"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"},{"name":"c"}]}})"},
      {"Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"z"}]}})", R"({"spec":{"containers":[{"name":"z"}]}})"},
      {"Deployment", R"({"spec":{"template":{"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]}]}}}})",
       R"({"spec":{"template":{"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"}]}]}}}})",
       R"({"spec":{"template":{"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"},{"name":"X","value":"1"}]}]}}}})"},
      {"Pod", R"({"spec":{"tolerations":[{"key":"a"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {"Pod", R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":["b","a"]}})",
       R"({"metadata":{"finalizers":["b","a"]}})"},
      {"Pod", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})", R"({"metadata":{"finalizers":["b"]}})"},
      {"Pod", R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"}]}})"},
      {"Service", R"({"spec":{"ports":[{"port":80,"name":"a"}]}})", R"({"spec":{"ports":[{"port":80,"name":"b"}]}})",
       R"({"spec":{"ports":[{"port":80,"name":"b"}]}})"},
      {"Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],"containers":[{"name":"c","image":"i"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"c","image":"i"},{"name":"a"}]}})"},
      {"Deployment", R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})",
       R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
       R"({"spec":{"strategy":{"type":"Recreate"}}})"},
      {"Pod", R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"metadata":{"labels":{"a":null,"c":"3"}}})",
       R"({"metadata":{"labels":{"b":"2","c":"3"}}})"},
      {"Pod", R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"$patch":"replace","c":"3"}}})",
       R"({"metadata":{"labels":{"c":"3"}}})"},
      {"Pod", R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"$patch":"delete"}}})",
       R"({"metadata":{}})"},
      {"Pod", R"({})", R"({"spec":{"containers":[{"name":"a"},{"name":"b","$patch":"delete"}],"x":null}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
  };
  for (const auto& row : rows) {
    auto got = ApplyStrategicPatch(J(row.target), J(row.patch), row.kind);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, J(row.want)) << row.patch << "\n got " << ToText(*got);
  }
}

TEST(StrategicPatchTest, ItemsWithoutTheirKeyAreRefused) {
  EXPECT_EQ(
      ApplyStrategicPatch(J(R"({"spec":{"containers":[]}})"), J(R"({"spec":{"containers":[{"image":"x"}]}})"), "Pod")
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::kubesim
