// Literals, operators, macros, types and optional values, each with what a kube-apiserver 1.36 makes of it.
#include <gtest/gtest.h>

#include <array>

#include "kubesim/schema/cel/testing.h"

namespace basalt::kubesim::cel {
namespace {

struct Row {
  std::string_view source;
  std::string_view result;
};

class LanguageTest : public ::testing::TestWithParam<Row> {};

TEST_P(LanguageTest, GivesWhatTheServerGives) {
  EXPECT_EQ(Computed(GetParam().source), GetParam().result) << GetParam().source;
}

constexpr auto kRows = std::to_array<Row>({
    {"1 + ",
     "compilation failed: ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
     "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 + \n | ....^"},
    {"1 + 2 3",
     "compilation failed: ERROR: <input>:1:7: Syntax error: extraneous input '3' expecting <EOF>\n | 1 + 2 3\n | "
     "......^"},
    {"foo", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^"},
    {"@",
     "compilation failed: ERROR: <input>:1:1: Syntax error: token recognition error at: '@'\n | @\n | ^\nERROR: "
     "<input>:1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', "
     "'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | @\n | .^"},
    {"'a' + 1",
     "compilation failed: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n | 'a' "
     "+ 1\n | ....^"},
    {"1 == 1.0",
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'\n | 1 "
     "== 1.0\n | ..^"},
    {"1 < 1.5", "true"},
    {"dyn(1) == 1.0", "true"},
    {"dyn(1) + 'a'", "error: no such overload"},
    {"[1,'a']", "compilation failed: ERROR: <input>:1:4: expected type 'int' but found 'string'\n | [1,'a']\n | ...^"},
    {"[1,2][5]", "error: index out of bounds: 5"},
    {"{'a':1}['b']", "error: no such key: b"},
    {"{'a':1}.b", "error: no such key: b"},
    {"{'a':1, 'a':2}", "{'a': 2}"},
    {"9223372036854775807 + 1", "error: integer overflow"},
    {"1/0", "error: division by zero"},
    {"1%0", "error: modulus by zero"},
    {"1.0/0.0", "double +Inf"},
    {"1u - 2u", "error: unsigned integer overflow"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"-(-9223372036854775808)", "error: integer overflow"},
    {"int(1e30)", "program instantiation failed: integer overflow"},
    {"int('a')", "program instantiation failed: type conversion error from 'string' to 'int'"},
    {"uint(-1)", "program instantiation failed: unsigned integer overflow"},
    {"double('a')", "program instantiation failed: type conversion error from 'string' to 'double'"},
    {"bool('x')", "program instantiation failed: type conversion error from 'string' to 'bool'"},
    {"string(1.0)", "'1'"},
    {"string(1e30)", "'1e+30'"},
    {"string(0.1)", "'0.1'"},
    {"string(123456789.0)", "'1.23456789e+08'"},
    {R"~(string(b'\xff'))~", "program instantiation failed: invalid UTF-8 in bytes, cannot convert to string"},
    {"cel.bind(x, 1, x + 1)",
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'cel' (in container '')\n | cel.bind(x, 1, x + "
     "1)\n | ^\nERROR: <input>:1:9: undeclared reference to 'bind' (in container '')\n | cel.bind(x, 1, x + 1)\n | "
     "........^\nERROR: <input>:1:10: undeclared reference to 'x' (in container '')\n | cel.bind(x, 1, x + 1)\n | "
     ".........^\nERROR: <input>:1:16: undeclared reference to 'x' (in container '')\n | cel.bind(x, 1, x + 1)\n | "
     "...............^"},
    {"optional.of(1).orValue(2)", "1"},
    {"optional.none().value()", "error: optional.none() dereference"},
    {"{'a':1}[?'b'].orValue(3)", "3"},
    {"{'a':1}.?a.value()", "1"},
    {"{?'a': optional.none()}", "{}"},
    {"[?optional.of(1)]", "[1]"},
    {"optional.of(1).optMap(x, x + 1).value()", "2"},
    {"has({'a':1}.b)", "false"},
    {"has(1)", "compilation failed: ERROR: <input>:1:5: invalid argument to has() macro\n | has(1)\n | ....^"},
    {"[1,2,3].all(x, x > 0)", "true"},
    {"[1,2,3].all(x, 1/(x-2) > 0)", "false"},
    {"[1,2,3].exists(x, 1/(x-2) > 0)", "true"},
    {"[1,2,3].exists_one(x, x > 2)", "true"},
    {"[1,2,3].map(x, x * 2)", "[2, 4, 6]"},
    {"[1,2,3].map(x, x > 1, x * 2)", "[4, 6]"},
    {"[1,2,3].filter(x, x > 1)", "[2, 3]"},
    {"[1,2].all(1, true)",
     "compilation failed: ERROR: <input>:1:11: argument must be a simple name\n | [1,2].all(1, true)\n | ..........^"},
    {"[1,2].all(x, x)",
     "compilation failed: ERROR: <input>:1:14: expected type 'bool' but found 'int'\n | [1,2].all(x, x)\n | "
     ".............^"},
    {"1.all(x, true)",
     "compilation failed: ERROR: <input>:1:1: expression of type 'int' cannot be range of a comprehension (must be "
     "list, map, or dynamic)\n | 1.all(x, true)\n | ^"},
    {"{'a':1}.all(k, k == 'a')", "true"},
    {"[1,2].all(i, v, i < v)", "true"},
    {"[1,2].transformList(i, v, i + v)", "[1, 3]"},
    {"{'a':1}.transformMap(k, v, v + 1)", "{'a': 2}"},
    {"[1,2].exists(i, v, i > v)", "false"},
    {"true ? 1 : 'a'",
     "compilation failed: ERROR: <input>:1:6: found no matching overload for '_?_:_' applied to '(bool, int, "
     "string)'\n | true ? 1 : 'a'\n | .....^"},
    {"1 ? 2 : 3",
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'\n | "
     "1 ? 2 : 3\n | ..^"},
    {"true && 1",
     "compilation failed: ERROR: <input>:1:9: expected type 'bool' but found 'int'\n | true && 1\n | ........^"},
    {"true || 1/0 > 0", "true"},
    {"1/0 > 0 || true", "true"},
    {"1/0 > 0 && false", "false"},
    {"1/0 > 0 && true", "error: division by zero"},
    {"dyn(1) && false", "false"},
    {"'a' in ['a']", "true"},
    {"1 in {'a':1}",
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '@in' applied to '(int, map(string, "
     "int))'\n | 1 in {'a':1}\n | ..^"},
    {"type(1) == int", "true"},
    {"type(1)", "int"},
    {"type([1])", "list"},
    {"size('äö')", "2"},
    {"b'äö'.size()", "4"},
    {R"~(r'\n'.size())~", "2"},
    {R"~("\u00e4\x41\101")~", "'äAA'"},
    {R"~('\q')~",
     "compilation failed: ERROR: <input>:1:1: Syntax error: token recognition error at: ''\\q'\n | '\\q'\n | ^\nERROR: "
     "<input>:1:4: Syntax error: token recognition error at: '''\n | '\\q'\n | ...^\nERROR: <input>:1:5: Syntax error: "
     "mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
     "NUM_UINT, STRING, BYTES, IDENTIFIER}\n | '\\q'\n | ....^"},
    {"0x1F", "31"},
    {"18446744073709551615u", "18446744073709551615u"},
    {"9223372036854775808",
     "compilation failed: ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^"},
    {"if", "compilation failed: ERROR: <input>:1:1: reserved identifier: if\n | if\n | ^"},
    {"namespace", "compilation failed: ERROR: <input>:1:1: reserved identifier: namespace\n | namespace\n | ^"},
    {"for.x", "compilation failed: ERROR: <input>:1:1: reserved identifier: for\n | for.x\n | ^"},
    {"self.if",
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'self' (in container '')\n | self.if\n | ^"},
    {"null == null", "true"},
    {"null == 1",
     "compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(null, int)'\n | null "
     "== 1\n | .....^"},
    {"dyn(null) == 1", "false"},
    {"[1] + ['a']",
     "compilation failed: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(list(int), "
     "list(string))'\n | [1] + ['a']\n | ....^"},
    {"[1] + [dyn('a')]", "[1, 'a']"},
    {"'abc' < 'abd'", "true"},
    {"true < false", "false"},
    {"[1] < [2]",
     "compilation failed: ERROR: <input>:1:5: found no matching overload for '_<_' applied to '(list(int), "
     "list(int))'\n | [1] < [2]\n | ....^"},
    {"b'a' + b'b'", "b'ab'"},
    {"'a'.contains()",
     "compilation failed: ERROR: <input>:1:13: found no matching overload for 'contains' applied to 'string.()'\n | "
     "'a'.contains()\n | ............^"},
    {"'a'.foo()",
     "compilation failed: ERROR: <input>:1:8: undeclared reference to 'foo' (in container '')\n | 'a'.foo()\n | "
     ".......^"},
    {"foo(1)",
     "compilation failed: ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(1)\n | ...^"},
    {"foo.bar(1)",
     "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo.bar(1)\n | "
     "^\nERROR: <input>:1:8: undeclared reference to 'bar' (in container '')\n | foo.bar(1)\n | .......^"},
    {"1.5.foo",
     "compilation failed: ERROR: <input>:1:4: type 'double' does not support field selection\n | 1.5.foo\n | ...^"},
    {"'a'.b",
     "compilation failed: ERROR: <input>:1:4: type 'string' does not support field selection\n | 'a'.b\n | ...^"},
    {"[1].b",
     "compilation failed: ERROR: <input>:1:4: type 'list(int)' does not support field selection\n | [1].b\n | ...^"},
    {"Foo{a: 1}",
     "compilation failed: ERROR: <input>:1:4: undeclared reference to 'Foo' (in container '')\n | Foo{a: 1}\n | ...^"},
    {"uint('18446744073709551616')", "program instantiation failed: type conversion error from 'string' to 'uint'"},
    {"!true", "false"},
    {"!1",
     "compilation failed: ERROR: <input>:1:1: found no matching overload for '!_' applied to '(int)'\n | !1\n | ^"},
    {"-'a'",
     "compilation failed: ERROR: <input>:1:1: found no matching overload for '-_' applied to '(string)'\n | -'a'\n | "
     "^"},
    {"--1", "1"},
    {"!!true", "true"},
    {"a.b.c", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a.b.c\n | ^"},
    {"1 in 5",
     "compilation failed: ERROR: <input>:1:3: found no matching overload for '@in' applied to '(int, int)'\n | 1 in "
     "5\n | ..^"},
    {"{1: 'a'}[1.0]",
     "compilation failed: ERROR: <input>:1:9: found no matching overload for '_[_]' applied to '(map(int, string), "
     "double)'\n | {1: 'a'}[1.0]\n | ........^"},
    {"{1: 'a'}[dyn(1.0)]", "'a'"},
    {"[1,2][dyn(1.0)]", "2"},
    {"[1,2][dyn(1.5)]", "error: unsupported index value 1.5 in list"},
    {"[1,2][-1]", "error: index out of bounds: -1"},
    {"[1,2][?7]", "none"},
    {"'a' == b'a'",
     "compilation failed: ERROR: <input>:1:5: found no matching overload for '_==_' applied to '(string, bytes)'\n | "
     "'a' == b'a'\n | ....^"},
    {"bytes('a') == b'a'", "true"},
    {"string(100000.0)", "'100000'"},
    {"string(1000000.0)", "'1e+06'"},
    {"string(123456.0)", "'123456'"},
    {"string(1234567.0)", "'1.234567e+06'"},
    {"string(1e20)", "'1e+20'"},
    {"string(1e21)", "'1e+21'"},
    {"string(0.0001)", "'0.0001'"},
    {"string(0.00001)", "'1e-05'"},
    {"string(12345678901234567890.0)", "'1.2345678901234567e+19'"},
    {"string(1e6)", "'1e+06'"},
    {"string(999999.0)", "'999999'"},
    {"string(100.5)", "'100.5'"},
    {"string(-0.0)", "'-0'"},
    {"string(1.0/0.0)", "'+Inf'"},
    {"1.0 == 1.0 && dyn(1).size() > 0", "error: no such overload: size"},
    {"dyn(1).foo", "error: no such key: foo"},
    {"dyn('a').b", "error: no such key: b"},
    {"dyn(1)[0]", "error: no such key: 0"},
    {"dyn(1).startsWith('a')", "error: no such overload"},
    {"dyn(1).all(x, true)", "error: got 'types.Int', expected iterable type"},
    {"-dyn('a')", "error: no such overload"},
    {"!dyn(1)", "error: no such overload"},
    {"dyn(1) < 'a'", "error: no such overload"},
    {"dyn([1]) < [2]",
     "compilation failed: ERROR: <input>:1:10: found no matching overload for '_<_' applied to '(dyn, list(int))'\n | "
     "dyn([1]) < [2]\n | .........^"},
    {"dyn('a') in dyn(1)", "error: no such overload"},
    {"size(dyn(1))", "error: no such overload: size"},
    {"dyn(1) ? 1 : 2", "error: no such overload"},
    {"[dyn('a')].all(x, x > 1)", "error: no such overload"},
    {"[1, 2, dyn('a')].exists(x, x > 1)",
     "compilation failed: ERROR: <input>:1:11: expected type 'int' but found 'dyn'\n | [1, 2, dyn('a')].exists(x, x > "
     "1)\n | ..........^"},
    {"[dyn('a'), 2].exists_one(x, x > 1)",
     "compilation failed: ERROR: <input>:1:12: expected type 'dyn' but found 'int'\n | [dyn('a'), 2].exists_one(x, x > "
     "1)\n | ...........^"},
    {"optional.of(1).or(optional.none()).value()", "1"},
    {"optional.none().or(optional.of(2)).value()", "2"},
    {"optional.of({'a':1}).a", "optional(1)"},
    {"optional.of({'a':1}).a.value()", "1"},
    {"optional.of({'a':1}).b.hasValue()", "false"},
    {"optional.of([1])[0].value()", "1"},
    {"optional.ofNonZeroValue('').hasValue()", "false"},
    {"optional.none() == optional.none()", "true"},
    {"optional.of(1) == optional.of(1)", "true"},
    {"optional.of({'a':1}).optFlatMap(x, x.?a).value()", "1"},
    {"has(optional.of({'a':1}).a)", "true"},
    {"has({'a':{}}.a.b)", "false"},
    {"has(dyn({'a':{}}).a.b)", "false"},
    {"{'a':{}}.a.b", "error: no such key: b"},
    {"{}.?a.?b.orValue('z')", "'z'"},
    {"[?optional.none(), 1]", "[1]"},
    {"[?1]",
     "compilation failed: ERROR: <input>:1:3: expected type 'optional_type(int)' but found 'int'\n | [?1]\n | ..^"},
    {"{'a': 1}['a'] == 1", "true"},
    {"{1:1, 'a':2}",
     "compilation failed: ERROR: <input>:1:7: expected type 'int' but found 'string'\n | {1:1, 'a':2}\n | ......^"},
    {"{1.5: 2}", "{double 1.5: 2}"},
    {"{null: 1}", "{null: 1}"},
    {"type(null)", "null_type"},
    {"type(type(1))", "type"},
    {"type({})", "map"},
    {"type(optional.of(1)) == optional_type", "true"},
    {"google.protobuf.Timestamp", "google.protobuf.Timestamp"},
    {"type(b'a') == bytes && type(null) == null_type && type(1u) == uint", "true"},
    {"list", "list"},
    {"'a' == dyn(1)", "false"},
    {"1 != dyn('a')", "true"},
    {"[1] == [1.0]",
     "compilation failed: ERROR: <input>:1:5: found no matching overload for '_==_' applied to '(list(int), "
     "list(double))'\n | [1] == [1.0]\n | ....^"},
    {"[dyn(1)] == [1.0]", "true"},
    {"{'a':1} == {'a':dyn(1.0)}", "true"},
    {"0.0 == -0.0", "true"},
    {"dyn(0.0/0.0) == 0.0/0.0", "false"},
    {"0.0/0.0 < 1.0", "error: NaN values cannot be ordered"},
    {"1u == dyn(1)", "true"},
    {"-1 < 1u", "true"},
    {"18446744073709551615u > 1", "true"},
    {"9007199254740993 == dyn(9007199254740992.0)", "true"},
});

INSTANTIATE_TEST_SUITE_P(Rows, LanguageTest, ::testing::ValuesIn(kRows));

}  // namespace
}  // namespace basalt::kubesim::cel
