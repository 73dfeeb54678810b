// Definitions of custom kinds: refused definitions, the status of definitions, and changes of a served kind.
#include "absl/strings/match.h"

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

struct RefusedRow {
  const char* title;
  const char* schema;
  const char* why;  // The causes contain this text, each cause after its reason.
};

class RefusedDefinition : public WriteConformance, public ::testing::WithParamInterface<RefusedRow> {};

TEST_P(RefusedDefinition, SaysWhy) {
  // The dry run leaves nothing to clean up if the definition is accepted by mistake.
  const Answer made =
      Post(std::string(kDefinitions) + "?dryRun=All", Definition("refusals", "Refusal", GetParam().schema));
  EXPECT_EQ(made.status, 422) << made;
  EXPECT_TRUE(absl::StrContains(Why(made), GetParam().why)) << Why(made);
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedDefinition,
    ::testing::Values(
        RefusedRow{"FieldWithoutType", "{type: object, properties: {spec: {properties: {a: {type: string}}}}}",
                   ".properties[spec].type: Required value: must not be empty for specified object fields"},
        RefusedRow{"RootIsNoObject", "{type: string}", ".type: Invalid value: \"string\": must be object at the root"},
        RefusedRow{"UnknownType", "{type: object, properties: {spec: {type: thing}}}",
                   ".properties[spec].type: Unsupported value: \"thing\": supported values: "},
        RefusedRow{"ListWithoutItems", "{type: object, properties: {l: {type: array}}}",
                   ".properties[l].items: Required value: must be specified"},
        RefusedRow{"Reference", "{type: object, properties: {a: {$ref: '#/x'}}}",
                   ".properties[a].$ref: Forbidden: $ref is not supported"},
        RefusedRow{"BrokenPattern", "{type: object, properties: {a: {type: string, pattern: '('}}}",
                   ".properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: "},
        RefusedRow{"MapListWithoutKeys",
                   "{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, items: {type: object, "
                   "properties: "
                   "{a: {type: string}}}}}}",
                   ".properties[l].x-kubernetes-list-map-keys: Required value: must not be empty if "
                   "x-kubernetes-list-type is map"},
        RefusedRow{"UnknownListType",
                   "{type: object, properties: {l: {type: array, x-kubernetes-list-type: bag, items: {type: string}}}}",
                   ".properties[l].x-kubernetes-list-type: Unsupported value: \"bag\": supported values: "}),
    kTitle);

class DefinitionConformance : public WriteConformance {
 protected:
  static constexpr char kSchema[] =
      "{type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: {type: "
      "string}}}}}";
  static std::string Target(std::string_view plural) { return fmt::format("{}/{}.{}", kDefinitions, plural, kGroup); }
  static Answer Refused(std::string_view pointer, json::value value) {
    json::value definition = Parse(Definition("refusals", "Refusal", kSchema));
    SetAt(definition, pointer, std::move(value));
    return Post(std::string(kDefinitions) + "?dryRun=All", ToText(definition));
  }
  void Remove(std::string_view plural) {
    Delete(Target(plural));
    EXPECT_TRUE(Eventually([&] { return Get(Target(plural)).status == 404; }, absl::Seconds(40)));
  }
};

TEST_F(DefinitionConformance, AWrongOneIsRefusedWithItsField) {
  const struct {
    const char* pointer;
    json::value value;
    const char* why;
  } rows[] = {{"/metadata/name", "others.example.com",
               "metadata.name: Invalid value: \"others.example.com\": must be spec.names.plural+\".\"+spec.group"},
              {"/spec/scope", "World",
               "FieldValueNotSupported spec.scope: Unsupported value: \"World\": supported values: \"Cluster\", "
               "\"Namespaced\""},
              {"/spec/versions/0/storage", false, "must have exactly one version marked as storage version"},
              {"/spec/versions/0/storage", false, "spec.versions: Invalid value: "},
              {"/spec/versions/0/schema", nullptr,
               "FieldValueRequired spec.versions[0].schema.openAPIV3Schema: Required value"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    const Answer made = Refused(row.pointer, row.value);
    EXPECT_EQ(made.status, 422) << made;
    EXPECT_TRUE(absl::StrContains(Why(made), row.why)) << made;
  }
}

TEST_F(DefinitionConformance, AnAcceptedOneTellsSo) {
  Establish(Definition("tells", "Tell", kSchema));
  const Answer now = Get(Target("tells"));
  EXPECT_TRUE(Has(now.json, R"(
metadata: {generation: 1, finalizers: null}
spec: {conversion: {strategy: None}, names: {plural: tells, singular: tell, kind: Tell, listKind: TellList}, preserveUnknownFields: null}
status:
  acceptedNames: {plural: tells, singular: tell, kind: Tell, listKind: TellList}
  storedVersions: [v1]
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found, lastTransitionTime: "*"}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted}
)")) << now;
  Remove("tells");
}

TEST_F(DefinitionConformance, ANewSchemaHoldsForWhatIsWrittenNext) {
  Establish(Definition("changes", "Change", kSchema));
  const std::string objects = Group(kVersion, "changes");
  json::value body =
      Parse(fmt::format("{{apiVersion: {}, kind: Change, metadata: {{name: a}}, spec: {{a: x, b: q}}}}", kVersion));
  EXPECT_EQ(Post(objects, ToText(body)).status, 201);
  const Answer patched =
      Patch(Target("changes"), kJsonPatch,
            R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/c",)"
            R"("value":{"type":"string","default":"new"}},)"
            R"({"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b"}])");
  EXPECT_EQ(patched.status, 200) << patched;
  EXPECT_TRUE(Has(patched.json, "metadata: {generation: 2}"));
  // Old objects are returned with the new defaults and without fields that the schema no longer has, although nobody
  // wrote the objects.
  EXPECT_TRUE(Eventually([&] { return Has(Get(objects + "/a").json, "spec: {a: x, b: null, c: new}"); }))
      << Get(objects + "/a");
  Remove("changes");
}

TEST_F(DefinitionConformance, AnUnchangedPartMayStayAsBadAsItWas) {
  const auto schema = [](std::string_view bound) {
    return fmt::format(R"(
type: object
properties:
  spec:
    type: object
    properties:
      x: {{type: integer{0}}}
      y: {{type: integer}}
      list:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [key]
        items: {{type: object, required: [key], properties: {{key: {{type: string}}, value: {{type: integer{0}}}}}}}
)",
                       bound);
  };
  Establish(Definition("olds", "Old", schema("")));
  const std::string path = Group(kVersion, "olds");
  const std::string body = J(fmt::format(
      "{{apiVersion: {}, kind: Old, metadata: {{name: a}}, spec: {{x: 9, y: 1, list: [{{key: a, value: 9}}]}}}}",
      kVersion));
  ASSERT_EQ(Post(path, body).status, 201);
  const Answer changed =
      Patch(Target("olds"), kJsonPatch,
            fmt::format(R"([{{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{}}}])",
                        J(schema(", maximum: 5"))));
  ASSERT_EQ(changed.status, 200) << changed;
  // Each attempt writes another value, since the new schema does not apply to a value that is unchanged.
  int value = 10;
  ASSERT_TRUE(Eventually(
      [&] { return Patch(path + "/a", kMerge, fmt::format(R"({{"spec":{{"x":{}}}}})", value++)).status == 422; }));
  EXPECT_EQ(Patch(path + "/a", kMerge, J("spec: {y: 2}")).status, 200);
  EXPECT_EQ(Patch(path + "/a", kMerge, J("spec: {list: [{key: b, value: 1}, {key: a, value: 9}]}")).status, 200);
  EXPECT_EQ(Why(Patch(path + "/a", kMerge, J("spec: {list: [{key: b, value: 9}, {key: a, value: 9}]}"))),
            "FieldValueInvalid spec.list[0].value: Invalid value: 9: spec.list[0].value in body should be less than or "
            "equal to 5");
  EXPECT_EQ(Why(Patch(path + "/a", kMerge, J("spec: {x: 7}"))),
            "FieldValueInvalid spec.x: Invalid value: 7: spec.x in body should be less than or equal to 5");
  Remove("olds");
}

TEST_F(DefinitionConformance, ScopeAndNamesOfAKindStay) {
  Establish(Definition("stays", "Stay", kSchema));
  const Answer patched = Patch(Target("stays"), kMerge, J("spec: {scope: Cluster}"));
  EXPECT_EQ(patched.status, 422) << patched;
  EXPECT_TRUE(
      absl::StrContains(Why(patched), "FieldValueInvalid spec.scope: Invalid value: \"Cluster\": field is immutable"))
      << patched;
  Remove("stays");
}

TEST_F(DefinitionConformance, ItsObjectsGoWithIt) {
  Establish(Definition("goes", "Go", kSchema));
  const std::string objects = Group(kVersion, "goes");
  EXPECT_EQ(
      Post(objects, fmt::format(R"({{"apiVersion":"{}","kind":"Go","metadata":{{"name":"a"}}}})", kVersion)).status,
      201);
  const Answer gone = Delete(Target("goes"));
  EXPECT_EQ(gone.status, 200) << gone;
  EXPECT_TRUE(Eventually([&] { return Get(Target("goes")).status == 404; }, absl::Seconds(40)));
  EXPECT_TRUE(Eventually([&] { return Get(objects).status == 404; }));
  Establish(Definition("goes", "Go", kSchema));
  EXPECT_EQ(Get(objects).Names(), "");
  Remove("goes");
}

// Returns a definition with a second version v2.
std::string WithVersion2(std::string_view plural, std::string_view kind, std::string_view schema, bool is_served) {
  json::value definition = Parse(Definition(plural, kind, schema));
  json::array& versions = definition.at("spec").at("versions").as_array();
  json::value second = versions.front();
  second.at("name") = "v2";
  second.at("storage") = false;
  second.at("served") = is_served;
  versions.push_back(second);
  return ToText(definition);
}

TEST_F(DefinitionConformance, AVersionThatIsNotServedIsNotFound) {
  Establish(WithVersion2("hides", "Hide", kSchema, false));
  EXPECT_EQ(Get(Group("conformance.example.com/v2", "hides")).status, 404);
  Remove("hides");
}

TEST_F(DefinitionConformance, TwoVersionsShowTheSameObject) {
  Establish(WithVersion2("twins", "Twin", kSchema, true));
  const std::string other = Group("conformance.example.com/v2", "twins");
  EXPECT_TRUE(Eventually([&] { return Get(other).status == 200; }));
  EXPECT_EQ(
      Post(other,
           R"({"apiVersion":"conformance.example.com/v2","kind":"Twin","metadata":{"name":"a"},"spec":{"a":"x"}})")
          .status,
      201);
  EXPECT_TRUE(Has(Get(Group(kVersion, "twins", "a")).json, "{apiVersion: conformance.example.com/v1, spec: {a: x}}"));
  EXPECT_TRUE(Has(Get(other + "/a").json, "{apiVersion: conformance.example.com/v2, spec: {a: x}}"));
  EXPECT_EQ(Patch(other + "/a", kMerge, J("spec: {a: q}")).status, 200);
  EXPECT_TRUE(Has(Get(Group(kVersion, "twins", "a")).json, "{apiVersion: conformance.example.com/v1, spec: {a: q}}"));
  Remove("twins");
}

}  // namespace
}  // namespace basalt::conformance
