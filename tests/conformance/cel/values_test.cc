// Validation rules in the expression language (CEL): which definitions are refused for their rules, and which objects
// the rules refuse, word for word.
#include <array>
#include <regex>

#include "common/base/json.h"
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kGroup[] = "rules.conformance.test";

std::string Definition(std::string_view plural, std::string_view schema) {
  return fmt::format(
      R"~({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{0}.{1}"}},)~"
      R"~("spec":{{"group":"{1}","scope":"Namespaced","names":{{"plural":"{0}","kind":"K{0}"}},"versions":[{{)~"
      R"~("name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{2}}}}}]}}}})~",
      plural, kGroup, schema);
}

std::string Causes(const Answer& answer) {
  std::string all;
  for (const std::string& cause : answer.Causes()) all += (all.empty() ? "" : "\n") + cause;
  // The server makes up a name for the type of self.
  return std::regex_replace(all, std::regex("selfType[0-9]+"), "selfType");
}

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

class CelConformance : public Conformance {
 protected:
  static void Make(std::string_view plural, std::string_view schema) {
    const Answer made = Post(kDefinitions, Definition(plural, schema));
    ASSERT_EQ(made.status, 201) << made;
    const std::string served = fmt::format("/apis/{}/v1/namespaces/default/{}", kGroup, plural);
    ASSERT_TRUE(Eventually([&] { return Get(served).status == 200; }));
  }
};

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
