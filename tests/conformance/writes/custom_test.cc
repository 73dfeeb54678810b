// Custom objects and their schema: refusals with their messages, fields that are dropped, and defaults.
#include "absl/strings/match.h"
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

// ---- refusals ----

struct SchemaRow {
  const char* title;
  const char* spec;
  const char* why;  // The causes. Empty if the write is accepted.
};

class SchemaConformance : public WriteConformance, public ::testing::WithParamInterface<SchemaRow> {};

TEST_P(SchemaConformance, Holds) {
  const SchemaRow& row = GetParam();
  const Answer made = Post(Widgets(), WidgetBody("a", fmt::format("spec: {}", row.spec)));
  const bool refused = *row.why != '\0';
  EXPECT_EQ(made.status, refused ? 422 : 201) << made;
  EXPECT_EQ(Why(made), row.why) << made;
}

INSTANTIATE_TEST_SUITE_P(
    , SchemaConformance,
    ::testing::Values(
        SchemaRow{"Minimum", "{replicas: -1}",
                  "FieldValueInvalid spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or "
                  "equal to 0"},
        SchemaRow{"Maximum", "{replicas: 11}",
                  "FieldValueInvalid spec.replicas: Invalid value: 11: spec.replicas in body should be less than or "
                  "equal to 10"},
        SchemaRow{"AtTheBounds", "{replicas: 10}", ""},
        SchemaRow{"ExclusiveMinimum", "{ratio: 0}",
                  "FieldValueInvalid spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0"},
        SchemaRow{"ExclusiveMaximum", "{ratio: 1}",
                  "FieldValueInvalid spec.ratio: Invalid value: 1: spec.ratio in body should be less than 1"},
        SchemaRow{"WithinTheBounds", "{ratio: 0.5}", ""},
        SchemaRow{"MultipleOf", "{fives: 7}",
                  "FieldValueInvalid spec.fives: Invalid value: 7: spec.fives in body should be a multiple of 5"},
        SchemaRow{
            "MinLength", "{name: a}",
            "FieldValueInvalid spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long"},
        SchemaRow{"MaxLength", "{name: abcdef}", "FieldValueTooLong spec.name: Too long: may not be more than 5 bytes"},
        SchemaRow{"Pattern", "{name: a-b}",
                  "FieldValueInvalid spec.name: Invalid value: \"a-b\": spec.name in body should match '^[a-z]*$'"},
        SchemaRow{
            "Enumeration", "{mode: weak}",
            "FieldValueNotSupported spec.mode: Unsupported value: \"weak\": supported values: \"hard\", \"soft\""},
        SchemaRow{"EnumerationOfNumbers", "{level: 3}",
                  "FieldValueNotSupported spec.level: Unsupported value: 3: supported values: \"1\", \"2\""},
        SchemaRow{
            "TextForNumber", "{replicas: many}",
            "FieldValueTypeInvalid spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type "
            "integer: \"string\""},
        SchemaRow{"NumberForText", "{name: 5}",
                  "FieldValueTypeInvalid spec.name: Invalid value: \"integer\": spec.name in body must be of type "
                  "string: \"integer\""},
        SchemaRow{"ListForMap", "{labels: []}",
                  "FieldValueTypeInvalid spec.labels: Invalid value: \"array\": spec.labels in body must be of type "
                  "object: \"array\""},
        SchemaRow{"MapForList", "{steps: {}}",
                  "FieldValueTypeInvalid spec.steps: Invalid value: \"object\": spec.steps in body must be of type "
                  "array: \"object\""},
        SchemaRow{"TextForFlag", "{flag: 'yes'}",
                  "FieldValueTypeInvalid spec.flag: Invalid value: \"string\": spec.flag in body must be of type "
                  "boolean: \"string\""},
        SchemaRow{"IntegerForEither", "{size: 5}", ""}, SchemaRow{"TextForEither", "{size: 50%}", ""},
        SchemaRow{"FlagForEither", "{size: true}",
                  "FieldValueTypeInvalid spec.size: Invalid value: \"boolean\": spec.size in body must be of type "
                  "integer,string: \"boolean\""},
        SchemaRow{"NullWhereItMayBe", "{maybe: null}", ""},
        SchemaRow{
            "Time", "{at: tomorrow}",
            "FieldValueTypeInvalid spec.at: Invalid value: \"tomorrow\": spec.at in body must be of type date-time: "
            "\"tomorrow\""},
        SchemaRow{"GoodTime", "{at: '2026-01-02T03:04:05Z'}", ""},
        SchemaRow{
            "Duration", "{lasts: long}",
            "FieldValueTypeInvalid spec.lasts: Invalid value: \"long\": spec.lasts in body must be of type duration: "
            "\"long\""},
        SchemaRow{"GoodDuration", "{lasts: 1h5m}", ""},
        SchemaRow{
            "Address", "{ip: 1.2.3}",
            "FieldValueTypeInvalid spec.ip: Invalid value: \"1.2.3\": spec.ip in body must be of type ipv4: \"1.2.3\""},
        SchemaRow{"Uuid", "{id: x}",
                  "FieldValueTypeInvalid spec.id: Invalid value: \"x\": spec.id in body must be of type uuid: \"x\""},
        SchemaRow{
            "Bytes", "{blob: '!'}",
            "FieldValueTypeInvalid spec.blob: Invalid value: \"!\": spec.blob in body must be of type byte: \"!\""},
        SchemaRow{"MinItems", "{steps: []}",
                  "FieldValueInvalid spec.steps: Invalid value: 0: spec.steps in body should have at least 1 items"},
        SchemaRow{"MaxItems", "{tags: [a, b, c, d]}",
                  "FieldValueTooMany spec.tags: Too many: 4: must have at most 3 items"},
        SchemaRow{"SetTwice", "{tags: [a, b, a]}", "FieldValueDuplicate spec.tags[2]: Duplicate value: \"a\""},
        SchemaRow{"KeyTwice", "{ports: [{name: a}, {name: a}]}",
                  "FieldValueDuplicate spec.ports[1]: Duplicate value: {\"name\":\"a\"}"},
        SchemaRow{"KeyMissing", "{ports: [{number: 1}]}", "FieldValueRequired spec.ports[0].name: Required value"},
        SchemaRow{"MaxProperties", "{labels: {a: a, b: b, c: c}}",
                  "FieldValueTooMany spec.labels: Too many: 3: must have at most 2 items"},
        SchemaRow{
            "MinProperties", "{labels: {}}",
            "FieldValueInvalid spec.labels: Invalid value: 0: spec.labels in body should have at least 1 properties"},
        SchemaRow{
            "ValueOfMap", "{labels: {a: 1}}",
            "FieldValueTypeInvalid spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type "
            "string: \"integer\""},
        SchemaRow{
            "ItemOfList", "{steps: [a, 1]}",
            "FieldValueTypeInvalid spec.steps[1]: Invalid value: \"integer\": spec.steps[1] in body must be of type "
            "string: \"integer\""},
        SchemaRow{"Required", "{strict: {may: x}}", "FieldValueRequired spec.strict.must: Required value"},
        SchemaRow{"OneOf", "{either: {a: x, b: q}}",
                  "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.either\" must validate one and only one schema "
                  "(oneOf). Found 2 valid alternatives"},
        SchemaRow{"OneOfHolds", "{either: {a: x}}", ""},
        SchemaRow{
            "AnyOf", "{any: {}}",
            "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.any\" must validate at least one schema (anyOf)\n"
            "FieldValueRequired spec.any.a: Required value"},
        SchemaRow{"Not", "{not: bad}",
                  "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.not\" must not validate the schema (not)"},
        SchemaRow{"AllOf", "{both: abcd}",
                  "FieldValueTooLong spec.both: Too long: may not be more than 3 bytes\n"
                  "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.both\" must validate all the schemas (allOf)"},
        SchemaRow{
            "EmbeddedWithoutKind", "{pod: {spec: {}}}",
            "FieldValueRequired spec.pod.apiVersion: Required value\nFieldValueRequired spec.pod.kind: Required value"},
        SchemaRow{"Embedded", "{pod: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {x: 1}}}", ""}),
    kTitle);

// ---- dropped fields and defaults ----

struct ShapeRow {
  const char* title;
  const char* spec;
  const char* shape;  // The shape of the stored spec.
};

class ShapeConformance : public WriteConformance, public ::testing::WithParamInterface<ShapeRow> {};

TEST_P(ShapeConformance, IsStored) {
  const Answer made = MakeWidget("a", fmt::format("spec: {}", GetParam().spec));
  EXPECT_TRUE(Has(made.json, fmt::format("spec: {}", GetParam().shape))) << made;
  EXPECT_EQ(Get(Widgets("a")).json, made.json);
}

INSTANTIATE_TEST_SUITE_P(
    , ShapeConformance,
    ::testing::Values(
        ShapeRow{"UnknownIsDropped", "{unknown: 1, parent: {unknown: 1}}", "{unknown: null, parent: {unknown: null}}"},
        ShapeRow{"UnknownInItems", "{ports: [{name: a, unknown: 1}]}", "{ports: [{name: a, unknown: null}]}"},
        ShapeRow{"OpenIsKept", "{open: {any: {thing: [1]}}}", "{open: {any: {thing: [1]}}}"},
        ShapeRow{"KnownPartOfOpen", "{mixed: {other: {x: 1}, known: {a: x, b: q}}}",
                 "{mixed: {other: {x: 1}, known: {a: x, b: null}}}"},
        ShapeRow{"MapKeys", "{labels: {any: x}}", "{labels: {any: x}}"}, ShapeRow{"Default", "{}", "{policy: Always}"},
        ShapeRow{"OwnValue", "{policy: Never}", "{policy: Never}"},
        ShapeRow{"DefaultForNull", "{policy: null}", "{policy: Always}"},
        ShapeRow{"NullIsAValue", "{cleared: null}", "{policy: Always}"},
        ShapeRow{"NestedDefault", "{}", "{nested: {a: x, b: null}}"},
        ShapeRow{"NestedDefaultOfPart", "{nested: {b: 1}}", "{nested: {a: x, b: 1}}"},
        ShapeRow{"NoParentNoDefault", "{}", "{parent: null}"},
        ShapeRow{"ParentAndDefault", "{parent: {}}", "{parent: {child: 7}}"},
        ShapeRow{"DefaultInItems", "{ports: [{name: a}]}", "{ports: [{name: a, protocol: TCP}]}"},
        ShapeRow{"NullIsDropped", "{name: null}", "{name: null}"},
        ShapeRow{"EmbeddedMetadata", "{pod: {apiVersion: v1, kind: Pod, metadata: {name: a, unknown: x}}}",
                 "{pod: {apiVersion: v1, kind: Pod, metadata: {name: a, unknown: null}}}"}),
    kTitle);

class CustomConformance : public WriteConformance {};

TEST_F(CustomConformance, ANullThatMayBeIsKept) {
  const Answer made = MakeWidget("a", "spec: {maybe: null, cleared: null}");
  const json::value* maybe = FindPath(made.json, {"spec", "maybe"});
  const json::value* cleared = FindPath(made.json, {"spec", "cleared"});
  EXPECT_TRUE(maybe != nullptr && maybe->is_null()) << made;
  EXPECT_TRUE(cleared != nullptr && cleared->is_null()) << made;
}

TEST_F(CustomConformance, NoSpecNoDefaults) { EXPECT_TRUE(Has(MakeWidget("a").json, "spec: null")); }

TEST_F(CustomConformance, ADefaultIsFilledInByAStatusWriteToo) {
  MakeWidget("a");
  EXPECT_TRUE(Has(Patch(Widgets("a") + "/status", kMerge, J("status: {phase: x}")).json, "status: {seen: never}"));
}

TEST_F(CustomConformance, UnknownMembersOfTheRootAreDropped) {
  EXPECT_TRUE(Has(MakeWidget("a", "{extra: 1, spec: {}}").json, "extra: null"));
}

TEST_F(CustomConformance, AMessageNamesAllThatIsWrong) {
  const Answer made = Post(Widgets(), WidgetBody("a", "spec: {replicas: -1, mode: weak}"));
  // The server lists the errors in no fixed order.
  for (const char* one :
       {"spec.mode: Unsupported value: \"weak\": supported values: \"hard\", \"soft\"",
        "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0"}) {
    EXPECT_TRUE(absl::StrContains(made.message(), one)) << made;
  }
  EXPECT_TRUE(absl::StartsWith(made.message(), "Widget.conformance.example.com \"a\" is invalid: [spec."));
  EXPECT_TRUE(Has(made.json, "details: {name: a, group: conformance.example.com, kind: Widget}"));
}

TEST_F(CustomConformance, AnUpdateIsChecked) {
  MakeWidget("a", "spec: {replicas: 1}");
  const Answer patched = Patch(Widgets("a"), kMerge, J("spec: {replicas: 99}"));
  EXPECT_EQ(patched.status, 422) << patched;
  EXPECT_TRUE(Has(Get(Widgets("a")).json, "spec: {replicas: 1}"));
}

TEST_F(CustomConformance, RemovingADefaultedFieldRestoresIt) {
  MakeWidget("a", "spec: {policy: Never}");
  EXPECT_TRUE(Has(Patch(Widgets("a"), kMerge, J("spec: {policy: null}")).json, "spec: {policy: Always}"));
}

}  // namespace
}  // namespace basalt::conformance
