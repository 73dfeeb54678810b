// Expressions over JSON as a schema shows it.
#include <gtest/gtest.h>

#include <array>

#include "kubesim/schema/cel/testing.h"

namespace basalt::kubesim::cel {
namespace {

struct Row {
  std::string_view source;
  std::string_view result;
};

TypePtr ListWith(ListSemantics semantics, TypePtr item) {
  auto list = std::make_shared<Type>(*ListOf(std::move(item)));
  list->list = semantics;
  list->list_keys = {"k"};
  return list;
}

TypePtr Struct(std::string_view name, std::map<std::string, Field, std::less<>> fields) {
  auto type = std::make_shared<Type>();
  type->kind = Kind::kStruct;
  type->name = name;
  type->fields = std::move(fields);
  return type;
}

class JsonTest : public ::testing::TestWithParam<Row> {
 protected:
  const TypePtr pair_ = Struct("pair", {{"k", {"k", Simple(Kind::kString)}}, {"v", {"v", Simple(Kind::kInt)}}});
  const TypePtr type_ = Struct("object", {{"i", {"i", Simple(Kind::kInt)}},
                                          {"d", {"d", Simple(Kind::kDouble)}},
                                          {"t", {"t", Simple(Kind::kString)}},
                                          {"ios", {"ios", Simple(Kind::kDyn)}},
                                          {"n", {"n", Simple(Kind::kInt)}},
                                          {"absent", {"absent", Simple(Kind::kInt)}},
                                          {"du", {"du", Simple(Kind::kDuration)}},
                                          {"by", {"by", Simple(Kind::kBytes)}},
                                          {"a__dash__b", {"a-b", Simple(Kind::kInt)}},
                                          {"o", {"o", pair_}},
                                          {"m", {"m", MapOf(Simple(Kind::kString), Simple(Kind::kInt))}},
                                          {"list", {"list", ListOf(Simple(Kind::kInt))}},
                                          {"set", {"set", ListWith(ListSemantics::kSet, Simple(Kind::kInt))}},
                                          {"pairs", {"pairs", ListWith(ListSemantics::kMap, pair_)}}});
};

TEST_P(JsonTest, IsSeenThroughItsSchema) {
  const absl::StatusOr<json::value> object = ParseJson(
      R"({"i":3,"d":2,"t":"text","ios":"5%","n":null,"du":"90s","by":"aGk=","a-b":7,"o":{"k":"x","v":1},"hidden":1,
          "m":{"a":1,"b":2},"list":[1,2,3],"set":[1,2],"pairs":[{"k":"a","v":1},{"k":"b","v":2}]})");
  ASSERT_TRUE(object.ok()) << object.status();
  const absl::StatusOr<json::value> old =
      ParseJson(R"({"list":[3,2,1],"set":[2,1],"pairs":[{"k":"b","v":2},{"k":"a","v":1}]})");
  ASSERT_TRUE(old.ok()) << old.status();
  const Activation values = {{"self", *FromJson(*object, *type_)}, {"oldSelf", *FromJson(*old, *type_)}};
  EXPECT_EQ(Computed(GetParam().source, {{"self", type_}, {"oldSelf", type_}}, values), GetParam().result);
}

constexpr auto kRows = std::to_array<Row>({
    {"self.i + 1", "4"},
    {"self.d", "double 2"},
    {"self.t.size()", "4"},
    {"self.ios", "'5%'"},
    {"type(self.ios) == string", "true"},
    {"self.ios > 1", "error: no such overload"},
    {"self.n == null",
     "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, "
     "null)'\n | self.n == null\n | .......^"},
    {"dyn(self.n) == null", "true"},
    {"has(self.n)", "true"},
    {"has(self.absent)", "false"},
    {"self.absent", "error: no such key: absent"},
    {"self.?absent.orValue(5)", "5"},
    {"self.hidden", "compilation failed: ERROR: <input>:1:5: undefined field 'hidden'\n | self.hidden\n | ....^"},
    {"self.du", "90s"},
    {"self.by", "b'hi'"},
    {"self.a__dash__b", "7"},
    {"self.o.v", "1"},
    {"self.m", "{'a': 1, 'b': 2}"},
    {"self.m.a + self.m['b']", "3"},
    {"self.m.c", "error: no such key: c"},
    {"'a' in self.m", "true"},
    {"self.m.all(k, self.m[k] > 1)", "false"},
    {"self.m.all(k, v, v > 0)", "true"},
    {"size(self.m)", "2"},
    {"self.list", "[1, 2, 3]"},
    {"self.list[3]", "error: index out of bounds: 3"},
    {"self.list == oldSelf.list", "false"},
    {"self.list + [1]", "[1, 2, 3, 1]"},
    {"self.set == oldSelf.set", "true"},
    {"self.set == [2, 1]", "true"},
    {"self.set + [2, 3]", "[1, 2, 3]"},
    {"self.pairs == oldSelf.pairs", "true"},
    {"size(self.pairs + oldSelf.pairs)", "2"},
    {"self.pairs.map(p, p.k)", "['a', 'b']"},
    {"self.pairs.filter(p, p.v > 1).size()", "1"},
    {"self.o == self.pairs[0]", "false"},
    {"type(self.o) == type(self.i)", "false"},
});

INSTANTIATE_TEST_SUITE_P(Rows, JsonTest, ::testing::ValuesIn(kRows));

}  // namespace
}  // namespace basalt::kubesim::cel
