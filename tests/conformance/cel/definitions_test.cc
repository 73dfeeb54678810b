// Which definitions are refused for their rules, word for word.
#include <array>
#include <regex>

#include "common/base/json.h"
#include "tests/conformance/cel/support.h"

namespace basalt::conformance {
namespace {

// A definition that is refused for the rules of its spec, which has these properties.
struct BadRow {
  std::string_view name;
  std::string_view rules;
  std::string_view causes;  // @: the path of the rules. #: the rule as the server shows it.
};

constexpr std::string_view kBadProperties =
    R"~("x":{"type":"integer"},"t":{"type":"string","maxLength":5},"o":{"type":"object","properties":{"y":{"type":"integer"}}},)~"
    R"~("free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"ios":{"x-kubernetes-int-or-string":true},)~"
    R"~("m":{"type":"object","maxProperties":3,"additionalProperties":{"type":"integer"}},)~"
    R"~("l":{"type":"array","maxItems":3,"items":{"type":"object","properties":{"z":{"type":"integer"}}}})~";

constexpr auto kBadRows = std::to_array<BadRow>({
    {"UnknownField", R"~({"rule":"self.foo == 1"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:5: undefined field 'foo'\n"
     " | self.foo == 1\n | ....^"},
    {"UnknownFieldWithin", R"~({"rule":"self.o.x == 1"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:7: undefined field 'x'\n"
     " | self.o.x == 1\n | ......^"},
    {"UnknownFieldsOfFreeObjects", R"~({"rule":"self.free.x == 1"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:10: undefined field 'x'\n"
     " | self.free.x == 1\n | .........^"},
    {"UnknownName", R"~({"rule":"spec.x == 1"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:1: undeclared reference to "
     "'spec' (in container '')\n | spec.x == 1\n | ^"},
    {"UnknownFunction", R"~({"rule":"foo(self.x)"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:4: undeclared reference to "
     "'foo' (in container '')\n | foo(self.x)\n | ...^"},
    {"NoBool", R"~({"rule":"self.x"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: cel expression must evaluate to a bool"},
    {"Dynamic", R"~({"rule":"self.ios"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: cel expression must evaluate to a bool"},
    {"WrongTypes", R"~({"rule":"self.x == 'a'"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:8: found no matching "
     "overload "
     "for '_==_' applied to '(int, string)'\n | self.x == 'a'\n | .......^"},
    {"WrongTypeOfAnObject", R"~({"rule":"self.o == 1"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:8: found no matching "
     "overload "
     "for '_==_' applied to '(selfType.o, int)'\n | self.o == 1\n | .......^"},
    {"WrongTypeOfAList", R"~({"rule":"self.l == 1"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:8: found no matching "
     "overload "
     "for '_==_' applied to '(list(selfType.l.@idx), int)'\n | self.l == 1\n | .......^"},
    {"Unfinished", R"~({"rule":"self.x =="})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:10: Syntax error: mismatched "
     "input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
     "STRING, BYTES, IDENTIFIER}\n | self.x ==\n | .........^"},
    {"TooMuch", R"~({"rule":"self.x == 1 2"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:13: Syntax error: extraneous "
     "input '2' expecting <EOF>\n | self.x == 1 2\n | ............^"},
    {"Reserved", R"~({"rule":"if"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:1: reserved identifier: if\n"
     " | if\n | ^"},
    {"ListOfMixedTypes", R"~({"rule":"self.x in [1, 'a']"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:15: expected type 'int' but "
     "found 'string'\n | self.x in [1, 'a']\n | ..............^"},
    {"NoList", R"~({"rule":"self.x.all(y, true)"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:5: expression of type 'int' "
     "cannot be range of a comprehension (must be list, map, or dynamic)\n | self.x.all(y, true)\n | ....^"},
    {"BadPattern", R"~({"rule":"self.t.matches('(')"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:16: invalid matches "
     "argument\n | self.t.matches('(')\n | ...............^"},
    {"BadDuration", R"~({"rule":"duration('1 day') > duration('1s')"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:10: invalid duration "
     "argument\n | duration('1 day') > duration('1s')\n | .........^"},
    {"NoSuchLibrary", R"~({"rule":"cel.bind(a, self.x, a > 1)"})~",
     "FieldValueInvalid @[0].rule: Invalid value: #: compilation failed: ERROR: <input>:1:1: undeclared reference to "
     "'cel' (in container '')\n | cel.bind(a, self.x, a > 1)\n | ^\n"
     "ERROR: <input>:1:9: undeclared reference to 'bind' (in container '')\n | cel.bind(a, self.x, a > 1)\n | "
     "........^\n"
     "ERROR: <input>:1:10: undeclared reference to 'a' (in container '')\n | cel.bind(a, self.x, a > 1)\n | "
     ".........^\n"
     "ERROR: <input>:1:21: undeclared reference to 'a' (in container '')\n | cel.bind(a, self.x, a > 1)\n"
     " | ....................^"},
    {"EmptyRule", R"~({"rule":""})~", "FieldValueRequired @[0].rule: Required value: rule is not specified"},
    {"Lines", R"~({"rule":"self.x\n > 1"})~",
     "FieldValueRequired @[0].message: Required value: message must be specified if rule contains line breaks"},
    {"MessageOfLines", R"~({"rule":"self.x > 1","message":"a\nb"})~",
     "FieldValueInvalid @[0].message: Invalid value: \"a\\nb\": must not contain line breaks"},
    {"EmptyMessage", R"~({"rule":"self.x > 1","message":" "})~",
     "FieldValueInvalid @[0].message: Invalid value: \" \": must be non-empty if specified"},
    {"Reason", R"~({"rule":"self.x > 1","reason":"Because"})~",
     "FieldValueNotSupported @[0].reason: Unsupported value: \"Because\": supported values: \"FieldValueDuplicate\", "
     "\"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\""},
    {"FieldPath", R"~({"rule":"self.x > 1","fieldPath":".y"})~",
     "FieldValueInvalid @[0].fieldPath: Invalid value: \".y\": must be a valid path"},
    {"FieldPathWithoutDot", R"~({"rule":"self.x > 1","fieldPath":"x"})~",
     "FieldValueInvalid @[0].fieldPath: Invalid value: \"x\": must be a valid path"},
    {"OptionalOldSelf", R"~({"rule":"self.x > 1","optionalOldSelf":true})~",
     "FieldValueInvalid @[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"},
    {"Two", R"~({"rule":"self.x"},{"rule":"self.t"})~",
     R"~(FieldValueInvalid @[0].rule: Invalid value: {"Rule":"self.x","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool)~"
     "\n"
     R"~(FieldValueInvalid @[1].rule: Invalid value: {"Rule":"self.t","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool)~"},
    {"MessageExpression", R"~({"rule":"self.x > 1","messageExpression":"self.x"})~",
     R"~(FieldValueInvalid @[0].messageExpression: Invalid value: {"Rule":"self.x \u003e 1","Message":"","MessageExpression":"self.x","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string)~"},
});

class BadCelRows : public Conformance, public ::testing::WithParamInterface<BadRow> {};

TEST_P(BadCelRows, AreRefusedAlike) {
  const BadRow& row = GetParam();
  const Answer answer =
      Post(kDefinitions,
           Definition("bads",
                      fmt::format(R"~({{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{}}},)~"
                                  R"~("x-kubernetes-validations":[{}]}}}}}})~",
                                  kBadProperties, row.rules)));
  std::string wanted(row.causes);
  const std::string path = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations";
  for (size_t at = 0; (at = wanted.find("@[", at)) != std::string::npos;) wanted.replace(at, 1, path);
  if (const size_t at = wanted.find('#'); at != std::string::npos) {
    const absl::StatusOr<json::value> rule = ParseJson(row.rules);
    ASSERT_TRUE(rule.ok()) << rule.status();
    wanted.replace(at, 1,
                   fmt::format(R"~({{"Rule":{},"Message":"","MessageExpression":"","Reason":null,"FieldPath":"",)~"
                               R"~("OptionalOldSelf":null}})~",
                               std::regex_replace(ToText(*Find(*rule, "rule")), std::regex(">"), "\\u003e")));
  }
  EXPECT_EQ(answer.status, 422) << answer;
  EXPECT_EQ(Causes(answer), wanted);
}

INSTANTIATE_TEST_SUITE_P(Rows, BadCelRows, ::testing::ValuesIn(kBadRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(Conformance, TransitionRulesNeedItemsThatCanBeToldApart) {
  const Answer answer = Post(
      kDefinitions,
      Definition(
          "bads",
          R"~({"type":"object","properties":{"l":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self == oldSelf"}]}}}})~"));
  EXPECT_EQ(Causes(answer),
            "FieldValueInvalid spec.validation.openAPIV3Schema.properties[l].items.x-kubernetes-validations[0].rule: "
            "Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema "
            "within spec.validation.openAPIV3Schema.properties[l]");
}

}  // namespace
}  // namespace basalt::conformance
