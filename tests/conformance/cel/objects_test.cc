// When rules are asked at all: of a whole object, of what has changed, beside the rest of the schema, at which cost.
#include "common/base/json.h"
#include "tests/conformance/cel/support.h"

namespace basalt::conformance {
namespace {

TEST_F(CelConformance, RulesOfTheRootSeeTheNameAlone) {
  Make("roots", R"~({"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name.startsWith('a')"}]
})~");
  const std::string path = Group(fmt::format("{}/v1", kGroup), "roots");
  const auto body = [](std::string_view name) {
    return fmt::format(R"~({{"apiVersion":"{}/v1","kind":"Kroots","metadata":{{"name":"{}"}}}})~", kGroup, name);
  };
  EXPECT_EQ(Post(path, body("a")).status, 201);
  EXPECT_EQ(Causes(Post(path, body("b"))),
            "FieldValueInvalid <nil>: Invalid value: failed rule: self.metadata.name.startsWith('a')");
  const Answer refused = Post(
      kDefinitions,
      Definition("bads",
                 R"~({"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.labels.size() == 0"}]})~"));
  EXPECT_NE(Causes(refused).find("undefined field 'labels'"), std::string::npos) << refused;
}

TEST_F(CelConformance, AnUnchangedPartMayStayAsBadAsItWas) {
  const std::string_view open =
      R"~({"type":"object","properties":{"spec":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}}})~";
  const std::string_view strict =
      R"~({"type":"object","properties":{"spec":{"type":"object","properties":{"x":{"type":"integer","maximum":5,"x-kubernetes-validations":[{"rule":"self < 5"}]},"y":{"type":"integer"}}}}})~";
  Make("olds", open);
  const std::string path = Group(fmt::format("{}/v1", kGroup), "olds");
  ASSERT_EQ(
      Post(path,
           fmt::format(R"~({{"apiVersion":"{}/v1","kind":"Kolds","metadata":{{"name":"a"}},"spec":{{"x":9,"y":1}}}})~",
                       kGroup))
          .status,
      201);
  const absl::StatusOr<json::value> schema = ParseJson(strict);
  ASSERT_TRUE(schema.ok());
  const Answer changed = Patch(
      fmt::format("{}/olds.{}", kDefinitions, kGroup), kJsonPatch,
      fmt::format(R"~([{{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{}}}])~", strict));
  ASSERT_EQ(changed.status, 200) << changed;
  // Another value each time: one that the old schema let in is unchanged for the new one.
  int value = 10;
  ASSERT_TRUE(Eventually(
      [&] { return Patch(path + "/a", kMerge, fmt::format(R"~({{"spec":{{"x":{}}}}})~", value++)).status == 422; }));
  EXPECT_EQ(Patch(path + "/a", kMerge, R"~({"spec":{"y":2}})~").status, 200);
  EXPECT_EQ(Causes(Patch(path + "/a", kMerge, R"~({"spec":{"x":7}})~")),
            "FieldValueInvalid spec.x: Invalid value: 7: spec.x in body should be less than or equal to 5\n"
            "FieldValueInvalid spec.x: Invalid value: 7: failed rule: self < 5");
}

TEST_F(CelConformance, RulesWaitForTheRestOfTheSchema) {
  Make(
      "waits",
      R"~({"type":"object","properties":{"spec":{"type":"object","required":["y"],"properties":{"x":{"type":"integer","x-kubernetes-validations":[{"rule":"self < 5"}]},"y":{"type":"integer"}}}}})~");
  EXPECT_EQ(Causes(Post(
                Group(fmt::format("{}/v1", kGroup), "waits"),
                fmt::format(R"~({{"apiVersion":"{}/v1","kind":"Kwaits","metadata":{{"name":"a"}},"spec":{{"x":9}}}})~",
                            kGroup))),
            "FieldValueRequired spec.y: Required value\n"
            "FieldValueInvalid <nil>: Invalid value: null: some validation rules were not checked because the object "
            "was invalid; correct the existing errors to complete validation");
}

TEST_F(CelConformance, ARuleThatCostsTooMuchIsARefusal) {
  Make(
      "costs",
      R"~({"type":"object","properties":{"l":{"type":"array","maxItems":60,"items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}]
}
}
})~");
  std::string items;
  for (int i = 0; i < 60; ++i) items += (items.empty() ? "" : ",") + std::to_string(i);
  EXPECT_EQ(
      Causes(Post(Group(fmt::format("{}/v1", kGroup), "costs"),
                  fmt::format(R"~({{"apiVersion":"{}/v1","kind":"Kcosts","metadata":{{"name":"a"}},"l":[{}]}})~",
                              kGroup, items))),
      "FieldValueInvalid l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further "
      "validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, self.all(c, a "
      "+ b + c >= 0)))");
}

}  // namespace
}  // namespace basalt::conformance
