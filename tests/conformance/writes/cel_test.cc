// Rules of custom kinds (x-kubernetes-validations): which writes they refuse, and with which words at which field.
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

struct RuleRow {
  const char* title;
  const char* before;  // The spec that is stored first; empty: the write creates.
  const char* spec;
  const char* why;  // Empty: it is accepted.
};

class RuleConformance : public WriteConformance, public ::testing::WithParamInterface<RuleRow> {};

TEST_P(RuleConformance, Holds) {
  const RuleRow& row = GetParam();
  const bool creates = *row.before == '\0';
  Answer now = Post(Rules(), Body("Rule", "a", fmt::format("spec: {}", creates ? row.spec : row.before)));
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

class RuleOfRootConformance : public WriteConformance {};

TEST_F(RuleOfRootConformance, SeesTheName) {
  const Answer made = Post(Rules(), Body("Rule", "forbidden", "spec: {}"));
  EXPECT_EQ(made.status, 422) << made;
  EXPECT_TRUE(made.message().ends_with("this name is taken")) << made;
}

TEST_F(RuleOfRootConformance, AStatusWriteIsCheckedToo) {
  Post(Rules(), Body("Rule", "a", "spec: {fixed: x}"));
  EXPECT_EQ(Patch(Rules("a") + "/status", kMerge, J("status: {}")).status, 200);
}

TEST_F(RuleOfRootConformance, AWrongStoredValueMayStayAsItIs) {
  // A tightened rule does not stop writes that leave the wrong value alone.
  Post(Rules(), Body("Rule", "a", "spec: {min: 1}"));
  EXPECT_EQ(Patch(Rules("a"), kMerge, J("metadata: {labels: {l: v}}")).status, 200);
}

}  // namespace
}  // namespace basalt::conformance
