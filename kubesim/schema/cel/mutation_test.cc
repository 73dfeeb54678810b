// Nonsense does no harm: mutated expressions neither crash nor run on, and depth is bounded.
#include <gtest/gtest.h>

#include <array>

#include "common/base/random.h"
#include "kubesim/schema/cel/syntax/parser.h"
#include "kubesim/schema/cel/testing.h"

namespace basalt::kubesim::cel {
namespace {

constexpr auto kSeeds = std::to_array<std::string_view>({
    "self.a.all(x, x > 0 && x < 10) || has(self.b) ? size(self.c) == 1 : 'a' in self.d",
    "[1, 2, 3].map(x, x * 2).filter(y, y > 2).exists_one(z, z == 4)",
    "{'a': 1, 'b': [1, 2]}.transformMap(k, v, string(v) + k)",
    "'a,b,c'.split(',').join('-').replace('-', '+', 2).substring(1, 3).matches('^[a-z]+$')",
    "'%s %d %.2f %x'.format(['a', 1, 2.0, 255]) == \"a 1 2.00 ff\"",
    "duration('1h') + duration('1m') > duration('61s') && timestamp('2020-01-01T00:00:00Z').getHours('+02:00') == 2",
    "quantity('1.5Gi').add(quantity('1k')).isGreaterThan(quantity('1')) && sign(quantity('-1')) == -1",
    "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3')) && url('https://a:80/b?c=d').getQuery() == {'c': ['d']}",
    "self.?a[?0].optMap(x, x + 1).orValue(-9223372036854775808) % 7u == dyn(1.5)",
    "format.dns1123Label().validate('A').hasValue() && sets.contains([1, 2], [1]) && b'\\xff' == bytes(r'\\n')",
    "[[1], [2]].flatten().sort().slice(0, 1).sum() / 0 == int('x') && lists.range(1000000).all(x, true)",
});

std::string Mutated(std::string text, Random& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random.Uniform(n); };
  const std::string_view other = kSeeds[below(kSeeds.size())];
  for (size_t i = below(4) + 1; i > 0; --i) {
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text.erase(at, below(8));
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random.Uniform(256)));
        break;
      case 2:
        text.insert(at, other.substr(below(other.size()), below(20)));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(20)));
        break;
      case 4:
        if (!text.empty()) text[at] = "()[]{}.,?:+-*/%<>=!&|'\"\\ 09ax"[below(30)];
        break;
      default:
        text.insert(at, std::array{"9223372036854775807", "0", "1e308", "''", "null", "self", "oldSelf"}[below(7)]);
    }
  }
  return text;
}

TEST(MutationTest, MutatedExpressionsStayInBounds) {
  const json::value object = {{"a", {1, 2, 3}}, {"c", "text"}, {"d", {"a", "b"}}};
  auto type = std::make_shared<Type>();
  type->kind = Kind::kStruct;
  type->name = "object";
  type->fields = {{"a", {"a", ListOf(Simple(Kind::kInt))}},
                  {"b", {"b", Simple(Kind::kDyn)}},
                  {"c", {"c", Simple(Kind::kString)}},
                  {"d", {"d", ListOf(Simple(Kind::kString))}}};
  const absl::StatusOr<Value> self = FromJson(object, *type);
  ASSERT_TRUE(self.ok());
  SeededRandom random(20240607);
  size_t compiled = 0;
  size_t computed = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string source = Mutated(std::string(kSeeds[random.Uniform(kSeeds.size())]), random);
    const auto program = Program::Compile(source, {{"self", type}});
    if (!program.ok()) {
      EXPECT_FALSE(program.status().message().empty()) << source;
      continue;
    }
    ++compiled;
    Budget budget(20000);
    if ((*program)->Run({{"self", *self}}, &budget).ok()) ++computed;
  }
  // Else it would test the parser alone.
  EXPECT_GT(compiled, 200U);
  EXPECT_GT(computed, 50U);
}

TEST(MutationTest, DepthIsBounded) {
  const auto repeated = [](std::string_view part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  for (const std::string& source :
       {repeated("(", 20000), repeated("[", 20000), repeated("{1:", 20000), repeated("!", 20000) + "true",
        repeated("-", 20000) + "1", "1" + repeated("+1", 20000), "{}" + repeated(".a", 20000),
        "[]" + repeated("[0]", 20000), repeated("true?true:", 9000) + "true", repeated("[1].all(x,", 5000) + "true",
        "[1]" + repeated(".map(x,x)", 5000), repeated("size(", 10000)}) {
    std::vector<Issue> issues;
    const ExprPtr expr = Parse(source, &issues);
    EXPECT_TRUE(expr != nullptr || !issues.empty()) << source.substr(0, 20);
    EXPECT_LE(expr == nullptr ? 0 : expr->depth, kMaxExprDepth) << source.substr(0, 20);
  }
  EXPECT_EQ(Computed(repeated("true && ", 10000) + "true"), "true");
  EXPECT_EQ(
      Computed("1" + repeated("+1", 300)).find("compilation failed: ERROR: <input>:1:1: expression recursion limit"),
      0U);
}

TEST(MutationTest, CostIsBounded) {
  const std::string loops =
      "lists.range(100).all(a, lists.range(100).all(b, lists.range(100).all(c, lists.range(100).all(d, true))))";
  EXPECT_EQ(Computed(loops), "error: operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(Computed("lists.range(9223372036854775807).size() == 1"),
            "error: operation cancelled: actual cost limit exceeded");
  // An error that another term decides over does not hide that the budget is gone.
  EXPECT_EQ(Computed(loops + " || true"), "error: operation cancelled: actual cost limit exceeded");
  std::string doubled = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'";
  for (int i = 0; i < 40; ++i) doubled = "[" + doubled + "].map(x, x + x)[0]";
  EXPECT_EQ(Computed(doubled), "error: operation cancelled: actual cost limit exceeded");
}

}  // namespace
}  // namespace basalt::kubesim::cel
