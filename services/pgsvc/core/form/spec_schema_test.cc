#include "services/pgsvc/core/form/spec_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "common/base/yaml.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// `spec` is the schema of spec, in YAML's flow style.
SpecSchema SchemaOf(std::string_view spec) {
  const auto definition = ParseYamlDocuments(fmt::format(
      "spec: {{versions: [{{name: v0}}, {{name: v1, schema: {{openAPIV3Schema: {{properties: {{spec: {}}}}}}}}}]}}",
      spec));
  return SpecSchema::Of(definition->front(), "v1");
}

json::object Spec(std::string_view yaml) { return ParseYamlDocuments(yaml)->front().as_object(); }

constexpr std::string_view kSchema =
    "{properties: {minMember: {minimum: 1}, topology: {properties: {mode: {}}}, "
    "parts: {items: {properties: {name: {}, minMember: {}, selector: {properties: {terms: {items: {properties: {key: "
    "{}}}}}}}}}, "
    "resources: {additionalProperties: {}}, open: {x-kubernetes-preserve-unknown-fields: true, properties: {known: "
    "{properties: {a: {}}}}}}}";

TEST(SpecSchemaTest, KnowsWhatTheDefinitionNames) {
  const SpecSchema schema = SchemaOf(kSchema);
  EXPECT_TRUE(schema.Knows({"minMember"}));
  EXPECT_FALSE(schema.Knows({"minSubGroup"}));
  EXPECT_TRUE(schema.Knows({"topology", "mode"}));
  EXPECT_FALSE(schema.Knows({"topology", "tier"}));
  EXPECT_TRUE(schema.Knows({"parts", "items", "minMember"}));
  EXPECT_FALSE(schema.Knows({"parts", "items", "minSubGroup"}));
  EXPECT_FALSE(schema.Knows({"policies", "items", "name"}));
  EXPECT_TRUE(schema.Knows({"resources", "cpu"})) << "no fields are named there";
  EXPECT_TRUE(schema.Knows({"open", "anything"}));
  EXPECT_FALSE(schema.Knows({"open", "known", "b"}));
  EXPECT_TRUE(SpecSchema().Knows({"anything", "items", "at", "all"}));
}

TEST(SpecSchemaTest, TellsTheLeastOfAnInteger) {
  const SpecSchema schema = SchemaOf(kSchema);
  EXPECT_EQ(schema.LeastOf({"minMember"}), 1);
  EXPECT_EQ(schema.LeastOf({"parts", "items", "minMember"}), 0);
  EXPECT_EQ(schema.LeastOf({"nothing", "items", "minMember"}), 0);
  EXPECT_EQ(SpecSchema().LeastOf({"minMember"}), 0);
}

TEST(SpecSchemaTest, TakesOutWhatIsNotKnownAtAnyDepth) {
  json::object spec = Spec(
      "minMember: 2\n"
      "queue: q\n"
      "nothing: {}\n"
      "topology: {mode: hard, tier: rack}\n"
      "parts:\n"
      "- {name: a, size: 3, selector: {terms: [{key: k, operator: In}]}}\n"
      "- {name: b, minMember: 1}\n"
      "resources: {cpu: 1}\n"
      "open: {anything: 1, known: {a: 1, b: 2}}\n");
  EXPECT_THAT(
      SchemaOf(kSchema).Prune(spec),
      ElementsAre("the group: queue is not known to this cluster's definition of pod groups, and left out",
                  "the group: topology.tier is not known to this cluster's definition of pod groups, and left out",
                  "subgroup a: size is not known to this cluster's definition of pod groups, and left out",
                  "subgroup a: selector.terms.operator is not known to this cluster's definition of pod groups, "
                  "and left out",
                  "the group: open.known.b is not known to this cluster's definition of pod groups, and left out"));
  EXPECT_EQ(ToText(spec), ToText(Spec("minMember: 2\n"
                                      "topology: {mode: hard}\n"
                                      "parts: [{name: a, selector: {terms: [{key: k}]}}, {name: b, minMember: 1}]\n"
                                      "resources: {cpu: 1}\n"
                                      "open: {anything: 1, known: {a: 1}}\n")));
}

TEST(SpecSchemaTest, WithoutASchemaNothingIsTakenOut) {
  json::object spec = Spec("a: {b: [{c: 1}]}");
  for (const SpecSchema& schema : {SpecSchema(), SchemaOf("{type: object}"), SpecSchema::Of(json::object(), "v1")}) {
    EXPECT_THAT(schema.Prune(spec), IsEmpty());
  }
  EXPECT_EQ(ToText(spec), R"({"a":{"b":[{"c":1}]}})");
}

TEST(SpecSchemaTest, TheSchemaOfAnotherVersionSaysNothing) {
  const auto definition = ParseYamlDocuments(
      "spec: {versions: [{name: v2, schema: {openAPIV3Schema: {properties: {spec: {properties: {a: {}}}}}}}]}");
  EXPECT_EQ(SpecSchema::Of(definition->front(), "v1"), SpecSchema());
  EXPECT_FALSE(SpecSchema::Of(definition->front(), "v2").Knows({"b"}));
}

}  // namespace
}  // namespace basalt::pgsvc
