// Which values of a property its rules refuse, word for word.
#include <array>

#include "tests/conformance/cel/support.h"

namespace basalt::conformance {
namespace {

// What one property of the spec says, and what becomes of its values.
struct Row {
  std::string_view schema;
  std::string_view old;  // Empty: the object is created.
  std::string_view value;
  std::string_view causes;  // @ stands for the property's path. Empty: accepted.
};

// A property with a value of this schema, named x, and a rule on the object around it.
#define OBJECT(properties, rules) \
  R"~({"type":"object","properties":{)~" properties R"~(},"x-kubernetes-validations":[)~" rules "]}"
#define INT R"~({"type":"integer"})~"
#define TEXT R"~({"type":"string","maxLength":100})~"
#define TEXTS R"~({"type":"array","maxItems":10,"items":{"type":"string","maxLength":20}})~"
#define NUMBERS R"~({"type":"array","maxItems":10,"items":{"type":"integer"}})~"

constexpr auto kRows = std::to_array<Row>({
    // What a refusal looks like.
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1"})~"), "", R"~({"x":2})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1"})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.x > 1"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","message":" more "})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: more"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","messageExpression":"self.x == 1 ? 'only one' : 'few'"})~"), "",
     R"~({"x":1})~", "FieldValueInvalid @: Invalid value: only one"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","message":"m","messageExpression":"string(1 / (self.x - 1))"})~"),
     "", R"~({"x":1})~", "FieldValueInvalid @: Invalid value: m"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","message":"m","messageExpression":"' '"})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: m"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","fieldPath":".x"})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @.x: Invalid value: failed rule: self.x > 1"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","reason":"FieldValueForbidden"})~"), "", R"~({"x":1})~",
     "FieldValueForbidden @: Forbidden: failed rule: self.x > 1"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","reason":"FieldValueRequired"})~"), "", R"~({"x":1})~",
     "FieldValueRequired @: Required value: failed rule: self.x > 1"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1","reason":"FieldValueDuplicate"})~"), "", R"~({"x":1})~",
     "FieldValueDuplicate @: Duplicate value"},
    {R"~({"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]})~", "", "1",
     "FieldValueInvalid @: Invalid value: 1: failed rule: self > 1"},
    {R"~({"type":"string","maxLength":10,"x-kubernetes-validations":[{"rule":"self != 'a'"}]})~", "", R"~("a")~",
     R"~(FieldValueInvalid @: Invalid value: "a": failed rule: self != 'a')~"},
    {R"~({"type":"number","x-kubernetes-validations":[{"rule":"self > 2.5"}]})~", "", "1.5",
     "FieldValueInvalid @: Invalid value: 1.5: failed rule: self > 2.5"},
    {R"~({"type":"boolean","x-kubernetes-validations":[{"rule":"self"}]})~", "", "false",
     "FieldValueInvalid @: Invalid value: false: failed rule: self"},
    {R"~({"type":"array","maxItems":5,"items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"size(self) > 1"}]})~",
     "", "[1]", "FieldValueInvalid @: Invalid value: failed rule: size(self) > 1"},
    {R"~({"type":"array","maxItems":5,"items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}})~",
     "", "[2,1]", "FieldValueInvalid @[1]: Invalid value: 1: failed rule: self > 1"},
    {R"~({"type":"object","maxProperties":5,"additionalProperties":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}})~",
     "", R"~({"k":1})~", "FieldValueInvalid @[k]: Invalid value: 1: failed rule: self > 1"},
    {R"~({"type":"integer","nullable":true,"x-kubernetes-validations":[{"rule":"self > 1"}]})~", "", "null", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x > 1"},{"rule":"self.x > 2"})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.x > 1\n"
     "FieldValueInvalid @: Invalid value: failed rule: self.x > 2"},
    // Rules that cannot be computed.
    {OBJECT(R"~("x":)~" INT R"~(,"y":)~" INT, R"~({"rule":"self.y > 1"})~"), "", R"~({"x":1})~",
     R"~(FieldValueInvalid @: Invalid value: "object": no such key: y evaluating rule: self.y > 1)~"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"10 / self.x > 1"})~"), "", R"~({"x":0})~",
     R"~(FieldValueInvalid @: Invalid value: "object": division by zero evaluating rule: 10 / self.x > 1)~"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"10 % self.x > 1"})~"), "", R"~({"x":0})~",
     R"~(FieldValueInvalid @: Invalid value: "object": modulus by zero evaluating rule: 10 % self.x > 1)~"},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x + 9223372036854775807 > 1"})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: \"object\": integer overflow evaluating rule: self.x + 9223372036854775807 > "
     "1"},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"self.l[1] > 1"})~"), "", R"~({"l":[1]})~",
     R"~(FieldValueInvalid @: Invalid value: "object": index out of bounds: 1 evaluating rule: self.l[1] > 1)~"},
    {OBJECT(R"~("x":{"x-kubernetes-int-or-string":true})~", R"~({"rule":"self.x > 1"})~"), "", R"~({"x":"a"})~",
     "FieldValueInvalid @: Invalid value: \"object\": 'no such overload': call arguments did not match a supported "
     "operator, function or macro signature for rule: self.x > 1"},
    // Values as expressions see them.
    {OBJECT(R"~("x":{"x-kubernetes-int-or-string":true})~",
            R"~({"rule":"type(self.x) == int ? self.x > 1 : self.x == '5%'"})~"),
     "", R"~({"x":"5%"})~", ""},
    {OBJECT(R"~("x":{"x-kubernetes-int-or-string":true})~",
            R"~({"rule":"type(self.x) == int ? self.x > 1 : self.x == '5%'"})~"),
     "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: failed rule: type(self.x) == int ? self.x > 1 : self.x == '5%'"},
    {OBJECT(
         R"~("a-b":)~" INT R"~(,"c.d":)~" INT R"~(,"e/f":)~" INT R"~(,"namespace":)~" INT R"~(,"g__h":)~" INT,
         R"~({"rule":"self.a__dash__b + self.c__dot__d + self.e__slash__f + self.__namespace__ + self.g__underscores__h == 15"})~"),
     "", R"~({"a-b":1,"c.d":2,"e/f":3,"namespace":4,"g__h":5})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"!has(self.x)"})~"), "", R"~({})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"!has(self.x)"})~"), "", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: failed rule: !has(self.x)"},
    {OBJECT(R"~("d":{"type":"string","format":"duration"})~", R"~({"rule":"self.d > duration('1m')"})~"), "",
     R"~({"d":"90s"})~", ""},
    {OBJECT(R"~("d":{"type":"string","format":"date-time"})~", R"~({"rule":"self.d.getFullYear() == 2020"})~"), "",
     R"~({"d":"2021-01-02T03:04:05Z"})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.d.getFullYear() == 2020"},
    {OBJECT(R"~("d":{"type":"string","format":"date"})~", R"~({"rule":"self.d.getMonth() == 1"})~"), "",
     R"~({"d":"2021-02-03"})~", ""},
    {OBJECT(R"~("d":{"type":"string","format":"byte","maxLength":20})~", R"~({"rule":"self.d == b'hi'"})~"), "",
     R"~({"d":"aGk="})~", ""},
    {OBJECT(
         R"~("e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})~",
         R"~({"rule":"self.e.metadata.name == 'n' && self.e.kind == 'Pod'"})~"),
     "", R"~({"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"}}})~", ""},
    {OBJECT(R"~("l":{"type":"array","maxItems":5,"x-kubernetes-list-type":"set","items":{"type":"integer"}})~",
            R"~({"rule":"self.l == [2,1]"})~"),
     "", R"~({"l":[1,2]})~", ""},
    {OBJECT(R"~("l":{"type":"array","maxItems":5,"x-kubernetes-list-type":"set","items":{"type":"integer"}})~",
            R"~({"rule":"size(self.l + [2,3]) == 3"})~"),
     "", R"~({"l":[1,2]})~", ""},
    // The language.
    {OBJECT(R"~("l":)~" TEXTS, R"~({"rule":"self.l.all(x, x.startsWith('a')) && self.l.exists(x, x == 'ab')"})~"), "",
     R"~({"l":["a","ab"]})~", ""},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"self.l.map(x, x * 2).filter(x, x > 2).size() == 1"})~"), "",
     R"~({"l":[1,2]})~", ""},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"self.l.exists_one(x, x > 1)"})~"), "", R"~({"l":[2,3]})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.l.exists_one(x, x > 1)"},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"self.l.all(x, 6 / x > 1)"})~"), "", R"~({"l":[0,6]})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.l.all(x, 6 / x > 1)"},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"self.l.isSorted() && self.l.sum() == 6 && self.l.max() == 3"})~"), "",
     R"~({"l":[1,2,3]})~", ""},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"self.l.min() == 1"})~"), "", R"~({"l":[]})~",
     R"~(FieldValueInvalid @: Invalid value: "object": min called on empty list evaluating rule: self.l.min() == 1)~"},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"self.t.matches('^[a-z]+$')"})~"), "", R"~({"t":"A"})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.t.matches('^[a-z]+$')"},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"self.t.find('[0-9]+') == '12' && self.t.findAll('[0-9]').size() == 2"})~"),
     "", R"~({"t":"a12"})~", ""},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"self.t.split(',')[1].trim().upperAscii() == 'B'"})~"), "",
     R"~({"t":"a, b"})~", ""},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"self.t.substring(1, 9) == ''"})~"), "", R"~({"t":"abc"})~",
     R"~(FieldValueInvalid @: Invalid value: "object": index out of range: 9 evaluating rule: self.t.substring(1, 9) == '')~"},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"quantity(self.t).isLessThan(quantity('1Gi'))"})~"), "", R"~({"t":"2G"})~",
     "FieldValueInvalid @: Invalid value: failed rule: quantity(self.t).isLessThan(quantity('1Gi'))"},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"quantity(self.t).isInteger()"})~"), "", R"~({"t":"q"})~",
     "FieldValueInvalid @: Invalid value: \"object\": quantities must match the regular expression "
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' evaluating rule: quantity(self.t).isInteger()"},
    {OBJECT(
         R"~("t":)~" TEXT,
         R"~({"rule":"!format.dns1123Label().validate(self.t).hasValue()","messageExpression":"format.dns1123Label().validate(self.t).value()[0]"})~"),
     "", R"~({"t":"A"})~",
     "FieldValueInvalid @: Invalid value: a lowercase RFC 1123 label must consist of lower case alphanumeric "
     "characters "
     "or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
     "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"isIP(self.t) && cidr('10.0.0.0/8').containsIP(self.t)"})~"), "",
     R"~({"t":"10.1.2.3"})~", ""},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"url(self.t).getHost() == 'a:80'"})~"), "", R"~({"t":"http://a:80/x"})~", ""},
    {OBJECT(R"~("t":)~" TEXT, R"~({"rule":"'%s-%d'.format([self.t, 1]) == 'a-1'"})~"), "", R"~({"t":"a"})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.?x.orValue(3) == 3"})~"), "", R"~({})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.?x.optMap(v, v + 1).orValue(0) == 2"})~"), "", R"~({"x":1})~", ""},
    {OBJECT(R"~("l":)~" NUMBERS, R"~({"rule":"sets.contains(self.l, [1]) && self.l.all(i, v, i <= v)"})~"), "",
     R"~({"l":[0,1]})~", ""},
    // Rules that look at what was before.
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x >= oldSelf.x"})~"), "", R"~({"x":1})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x >= oldSelf.x"})~"), R"~({"x":1})~", R"~({"x":2})~", ""},
    {OBJECT(R"~("x":)~" INT, R"~({"rule":"self.x >= oldSelf.x"})~"), R"~({"x":2})~", R"~({"x":1})~",
     "FieldValueInvalid @: Invalid value: failed rule: self.x >= oldSelf.x"},
    {R"~({"type":"integer","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"fixed"}]})~", "1", "2",
     "FieldValueInvalid @: Invalid value: 2: fixed"},
    {R"~({"type":"integer","x-kubernetes-validations":[{"rule":"oldSelf.hasValue() || self == 1","optionalOldSelf":true}]})~",
     "", "2", "FieldValueInvalid @: Invalid value: 2: failed rule: oldSelf.hasValue() || self == 1"},
    {R"~({"type":"integer","x-kubernetes-validations":[{"rule":"oldSelf.hasValue() || self == 1","optionalOldSelf":true}]})~",
     "1", "2", ""},
    {R"~({"type":"array","maxItems":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string","maxLength":5},"v":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.v == oldSelf.v"}]}})~",
     R"~([{"k":"a","v":1},{"k":"b","v":2}])~", R"~([{"k":"b","v":2},{"k":"a","v":3},{"k":"c","v":4}])~",
     "FieldValueInvalid @[1]: Invalid value: failed rule: self.v == oldSelf.v"},
});

// All rows share a definition: a property each.
std::string PropertyOf(size_t row) { return fmt::format("r{:02}", row); }

class CelRows : public CelConformance, public ::testing::WithParamInterface<size_t> {
 protected:
  static void SetUpTestSuite() {
    std::string properties;
    for (size_t i = 0; i < kRows.size(); ++i) {
      properties += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", PropertyOf(i), kRows[i].schema);
    }
    Make("rows", fmt::format(R"~({{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{}}}}}}}}})~",
                             properties));
  }
};

TEST_P(CelRows, IsJudgedAlike) {
  const Row& row = kRows[GetParam()];
  const std::string property = PropertyOf(GetParam());
  const std::string path = Group(fmt::format("{}/v1", kGroup), "rows");
  const auto body = [&](std::string_view value) {
    return fmt::format(R"~({{"apiVersion":"{}/v1","kind":"Krows","metadata":{{"name":"a"}},"spec":{{"{}":{}}}}})~",
                       kGroup, property, value);
  };
  Answer answer = Post(path, body(row.old.empty() ? row.value : row.old));
  if (!row.old.empty()) {
    ASSERT_EQ(answer.status, 201) << answer;
    answer = Patch(path + "/a", kMerge, fmt::format(R"~({{"spec":{{"{}":{}}}}})~", property, row.value));
  }
  std::string wanted(row.causes);
  for (size_t at = 0; (at = wanted.find('@', at)) != std::string::npos;) wanted.replace(at, 1, "spec." + property);
  EXPECT_EQ(answer.ok(), wanted.empty()) << answer;
  EXPECT_EQ(Causes(answer), wanted) << row.schema;
}

INSTANTIATE_TEST_SUITE_P(Rows, CelRows, ::testing::Range<size_t>(0, kRows.size()),
                         [](const auto& row) { return fmt::format("Row{:02}", row.param); });

}  // namespace
}  // namespace basalt::conformance
