// The rules of definitions (x-kubernetes-validations) on the real server, since kubesim does not evaluate them. The
// cases state which definitions the server refuses for their rules, which writes the rules refuse, and with which
// message at which field.
#include <fmt/format.h>

#include "absl/strings/match.h"
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

constexpr std::string_view kRules = R"cel(
type: object
x-kubernetes-validations:
- {rule: "self.metadata.name != 'forbidden'", message: this name is taken}
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: min is above max, fieldPath: .min}
    - {rule: "!has(self.max) || self.max < 100", messageExpression: "self.max > 200 ? 'max is far too big' : 'max is 100 or a little more'"}
    - {rule: "!has(self.secret)", reason: FieldValueForbidden, message: no secrets here, fieldPath: .secret}
    - {rule: "!has(self.plain) || self.plain == 'ok'"}
    - {rule: "!has(oldSelf.sticky) || has(self.sticky)", message: sticky stays}
    properties:
      min: {type: integer}
      max: {type: integer}
      secret: {type: string}
      plain: {type: string, maxLength: 20}
      sticky: {type: string}
      fixed:
        type: string
        x-kubernetes-validations: [{rule: self == oldSelf, message: fixed is immutable}]
      once:
        type: string
        x-kubernetes-validations:
        - {rule: "!oldSelf.hasValue() || oldSelf.value() == self", optionalOldSelf: true, message: once is once}
        - {rule: "oldSelf.hasValue() || self != 'late'", optionalOldSelf: true, message: not at first}
      needs:
        type: string
        x-kubernetes-validations: [{rule: size(self) > 0, reason: FieldValueRequired, message: say it}]
      items:
        type: array
        maxItems: 10
        items:
          type: object
          x-kubernetes-validations: [{rule: self.from < self.to, message: from must be before to}]
          properties: {from: {type: integer}, to: {type: integer}}
      names:
        type: array
        maxItems: 10
        items: {type: string, maxLength: 10}
        x-kubernetes-validations: [{rule: "self.all(x, self.exists_one(y, x == y))", message: names must be unique}]
      map:
        type: object
        maxProperties: 5
        additionalProperties: {type: integer}
        x-kubernetes-validations: [{rule: "self.all(k, self[k] > 0)", message: values must be positive}]
      window:
        type: string
        x-kubernetes-validations: [{rule: "duration(self) >= duration('1m')", message: at least a minute}]
)cel";

class RulesTest : public WriteConformance {
 protected:
  // Returns a path of the kind whose schema is kRules. The first call makes the definition.
  std::string Rules(std::string_view name = "") {
    [[maybe_unused]] static const bool made = [] {
      Establish(Definition("rules", "Rule", kRules, "subresources: {status: {}}"));
      return true;
    }();
    return Group(kVersion, "rules", name);
  }
  static std::string Rule(std::string_view name, std::string_view spec) { return Object("Rule", name, spec); }
  static std::string Object(std::string_view kind, std::string_view name, std::string_view spec) {
    return J(fmt::format("apiVersion: {}\nkind: {}\nmetadata: {{name: {}}}\nspec: {}\n", kVersion, kind, name, spec));
  }
};

struct RuleRow {
  const char* title;
  const char* before;  // The spec that is stored first. Empty if the write creates the object.
  const char* spec;
  const char* why;  // The causes. Empty if the write is accepted.
};

class RuleConformance : public RulesTest, public ::testing::WithParamInterface<RuleRow> {};

TEST_P(RuleConformance, Holds) {
  const RuleRow& row = GetParam();
  const bool creates = *row.before == '\0';
  Answer now = Post(Rules(), Rule("a", creates ? row.spec : row.before));
  if (!creates) {
    ASSERT_EQ(now.status, 201) << now;
    now.json.as_object()["spec"] = Parse(row.spec);
    now = Put(Rules("a"), ToText(now.json));
  }
  const bool refused = *row.why != '\0';
  EXPECT_EQ(now.status, refused ? 422 : creates ? 201 : 200) << now;
  EXPECT_EQ(Why(now), row.why);
}

INSTANTIATE_TEST_SUITE_P(
    , RuleConformance,
    ::testing::Values(
        RuleRow{"Holds", "", "{min: 1, max: 2}", ""},
        RuleRow{"MessageAtItsFieldPath", "", "{min: 3, max: 2}",
                "FieldValueInvalid spec.min: Invalid value: min is above max"},
        RuleRow{"MessageExpression", "", "{max: 100}",
                "FieldValueInvalid spec: Invalid value: max is 100 or a little more"},
        RuleRow{"Reason", "", "{secret: x}", "FieldValueForbidden spec.secret: Forbidden: no secrets here"},
        RuleRow{"ReasonRequired", "", "{needs: ''}", "FieldValueRequired spec.needs: Required value: say it"},
        RuleRow{"NoMessage", "", "{plain: other}",
                "FieldValueInvalid spec: Invalid value: failed rule: !has(self.plain) || "
                "self.plain == 'ok'"},
        RuleRow{"TransitionRuleAtFirst", "", "{fixed: x}", ""},
        RuleRow{"TransitionRuleHolds", "{fixed: x}", "{fixed: x}", ""},
        RuleRow{"TransitionRule", "{fixed: x}", "{fixed: q}",
                "FieldValueInvalid spec.fixed: Invalid value: \"q\": fixed is immutable"},
        RuleRow{"TransitionRuleOfAnAbsentField", "{}", "{fixed: q}", ""},
        RuleRow{"TransitionRuleOfTheParent", "{sticky: x}", "{}",
                "FieldValueInvalid spec: Invalid value: sticky stays"},
        RuleRow{"OptionalOldAtFirst", "", "{once: late}",
                "FieldValueInvalid spec.once: Invalid value: \"late\": not at first"},
        RuleRow{"OptionalOldHolds", "", "{once: x}", ""},
        RuleRow{"OptionalOldChanges", "{once: x}", "{once: q}",
                "FieldValueInvalid spec.once: Invalid value: \"q\": once is once"},
        RuleRow{"RuleOfItems", "", "{items: [{from: 1, to: 2}, {from: 3, to: 2}]}",
                "FieldValueInvalid spec.items[1]: Invalid value: from must be before to"},
        RuleRow{"MacrosHold", "", "{names: [a, b]}", ""},
        RuleRow{"Macros", "", "{names: [a, b, a]}",
                "FieldValueInvalid spec.names: Invalid value: names must be unique"},
        RuleRow{"Maps", "", "{map: {a: 1, b: 0}}",
                "FieldValueInvalid spec.map: Invalid value: values must be positive"},
        RuleRow{"Durations", "", "{window: 30s}",
                "FieldValueInvalid spec.window: Invalid value: \"30s\": at least a minute"},
        RuleRow{"DurationsHold", "", "{window: 90s}", ""},
        RuleRow{
            "ErrorOfARule", "", "{items: [{from: 1}]}",
            "FieldValueInvalid spec.items[0]: Invalid value: \"object\": no such key: to evaluating rule: from must "
            "be before to"},
        RuleRow{"SchemaFirst", "", "{min: x, max: 100}",
                "FieldValueTypeInvalid spec.min: Invalid value: \"string\": spec.min in body must be of type integer: "
                "\"string\"\n"
                "FieldValueInvalid <nil>: Invalid value: null: some validation rules were not checked because the "
                "object was "
                "invalid; correct the existing errors to complete validation"},
        RuleRow{"SeveralAtOnce", "", "{min: 3, max: 2, secret: x}",
                "FieldValueInvalid spec.min: Invalid value: min is above max\n"
                "FieldValueForbidden spec.secret: Forbidden: no secrets here"}),
    kTitle);

TEST_F(RulesTest, RulesOfTheRootSeeTheName) {
  const Answer made = Post(Rules(), Rule("forbidden", "{}"));
  EXPECT_EQ(made.status, 422) << made;
  EXPECT_TRUE(made.message().ends_with("this name is taken")) << made;
}

TEST_F(RulesTest, AStatusWriteIsCheckedToo) {
  Post(Rules(), Rule("a", "{fixed: x}"));
  EXPECT_EQ(Patch(Rules("a") + "/status", kMerge, J("status: {}")).status, 200);
}

TEST_F(RulesTest, AnUnchangedPartMayStayAsBadAsItWas) {
  const auto schema = [](std::string_view rules) {
    return fmt::format(R"(
type: object
properties: {{spec: {{type: object, properties: {{x: {{type: integer{}}}, y: {{type: integer}}}}}}}}
)",
                       rules);
  };
  Establish(Definition("olds", "Old", schema("")));
  const std::string path = Group(kVersion, "olds");
  ASSERT_EQ(Post(path, Object("Old", "a", "{x: 9, y: 1}")).status, 201);
  const Answer changed =
      Patch(fmt::format("{}/olds.{}", kDefinitions, kGroup), kJsonPatch,
            fmt::format(R"([{{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{}}}])",
                        J(schema(", x-kubernetes-validations: [{rule: self < 5}]"))));
  ASSERT_EQ(changed.status, 200) << changed;
  // Each attempt writes another value, since the rule does not apply to a value that is unchanged.
  int value = 10;
  ASSERT_TRUE(Eventually(
      [&] { return Patch(path + "/a", kMerge, fmt::format(R"({{"spec":{{"x":{}}}}})", value++)).status == 422; }));
  EXPECT_EQ(Patch(path + "/a", kMerge, R"({"spec":{"y":2}})").status, 200);
  EXPECT_EQ(Why(Patch(path + "/a", kMerge, R"({"spec":{"x":7}})")),
            "FieldValueInvalid spec.x: Invalid value: 7: failed rule: self < 5");
}

TEST_F(RulesTest, OneThatCostsTooMuchIsARefusal) {
  Establish(Definition("costs", "Cost", R"cel(
type: object
properties:
  spec:
    type: array
    maxItems: 60
    items: {type: integer}
    x-kubernetes-validations: [{rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}]
)cel"));
  std::string items;
  for (int i = 0; i < 60; ++i) items += (items.empty() ? "" : ",") + std::to_string(i);
  EXPECT_EQ(Why(Post(Group(kVersion, "costs"), Object("Cost", "a", "[" + items + "]"))),
            "FieldValueInvalid spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
            "further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, "
            "self.all(c, a + b + c >= 0)))");
}

struct RefusedRow {
  const char* title;
  const char* rule;
  const char* why;  // The causes contain this text.
};

class RefusedRule : public WriteConformance, public ::testing::WithParamInterface<RefusedRow> {};

TEST_P(RefusedRule, IsRefusedWithItsDefinition) {
  const Answer made =
      Post(std::string(kDefinitions) + "?dryRun=All",
           Definition("refusals", "Refusal",
                      fmt::format("{{type: object, x-kubernetes-validations: [{{rule: {}}}]}}", GetParam().rule)));
  EXPECT_EQ(made.status, 422) << made;
  EXPECT_TRUE(absl::StrContains(Why(made), GetParam().why)) << Why(made);
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedRule,
    ::testing::Values(
        RefusedRow{"DoesNotCompile", "'self.none > '", ".x-kubernetes-validations[0].rule: Invalid value: "},
        RefusedRow{"OfAnUnknownField", "self.none == 1", ".x-kubernetes-validations[0].rule: Invalid value: "},
        RefusedRow{"OfALabel", "self.metadata.labels.size() == 0", "undefined field 'labels'"},
        RefusedRow{"IsNoTruth", "size(self.metadata.name)", ".x-kubernetes-validations[0].rule: Invalid value: "},
        RefusedRow{"IsEmpty", "''", ".x-kubernetes-validations[0].rule: Required value: "}),
    kTitle);

}  // namespace
}  // namespace basalt::conformance
