#include "services/pgsvc/core/grouping/karta/expression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kObject = R"({
  "mixed": [{"r": 1}, 7],
  "metadata": {"word": "é€x", "labels": {"a.b/c": "x", "empty": ""}, "name": "n"},
  "spec": {"three": 3.0, "replicas": 3, "none": null, "off": false, "list": [{"n": "a", "r": 1}, {"n": "b", "r": 2}],
           "map": {"k2": {"r": 5}, "k1": {"r": 4}}}})";

// Returns the values as texts, or the error.
std::string Of(std::string_view text) {
  const absl::StatusOr<Expression> expression = Expression::Parse(text);
  if (!expression.ok()) return fmt::format("cannot: {}", std::string(expression.status().message()));
  StepBudget budget;
  const auto values = expression->Evaluate(*ParseJson(kObject), budget);
  if (!values.ok()) return fmt::format("error: {}", std::string(values.status().message()));
  std::string all;
  for (const json::value& value : *values) all += (all.empty() ? "" : " ") + ToText(value);
  return all;
}

// Returns the message of the error of one evaluation.
std::string MessageOf(const Expression& expression, const json::value& input) {
  StepBudget budget;
  return std::string(expression.Evaluate(input, budget).status().message());
}

TEST(ExpressionTest, MeansWhatJqMeans) {
  const struct {
    const char* text;
    const char* values;
  } rows[] = {
      {".spec.replicas", "3"},
      {" .spec . replicas", "cannot"},
      {R"(.metadata.labels["a.b/c"])", R"("x")"},
      {R"(.metadata.labels."a.b/c")", R"("x")"},
      {R"(.metadata["labels"].["a.b/c"])", R"("x")"},
      {".spec.list[0].n", R"("a")"},
      {".spec.list[-1].n", R"("b")"},
      {".spec.list[7].n", "null"},
      {".spec.list[].r", "1 2"},
      {".spec.map[].r", "4 5"},
      {".spec.map | to_entries[] | .key", R"("k1" "k2")"},
      {".spec.map | to_entries[0].value.r", "4"},
      {".spec.missing.deeper", "null"},
      {".spec.missing // 7", "7"},
      {".spec.off // 7", "7"},
      {".spec.none // .spec.missing // \"d\"", R"("d")"},
      {".spec.replicas.deeper // 1", "1"},
      {".spec.replicas.deeper?", ""},
      {"[0]", "cannot"},
      {".spec.list[].n.x?", ""},
      {"(.spec.list[] | .n.x)?", ""},
      {".mixed[].r?", "1"},
      {".spec.replicas.x.y?", "error"},
      {"(.mixed[] | .r) // 9", "1"},
      {"(.mixed[] | .r)?", "1"},
      {".spec.replicas == 3.0", "cannot"},
      {".spec.three == .spec.replicas", "true"},
      {".metadata.word | length", "3"},
      {"(.spec.replicas // 1) * ((.spec.size // 3) - 1)", "6"},
      {"2 + 3 * 4", "14"},
      {".metadata.name + \"-x\"", R"("n-x")"},
      {".spec.missing + 1", "1"},
      {".spec.replicas == 3", "true"},
      {".spec.replicas != 3", "false"},
      {".spec.replicas >= 4 or .metadata.name == \"n\"", "true"},
      {".spec.replicas < 4 and .spec.missing", "false"},
      {".spec.missing < 1", "true"},
      {".spec.missing | not", "true"},
      {".spec.list | length", "2"},
      {"\"hard-coded\"", R"("hard-coded")"},
      {"true", "true"},
      {".spec.list[] | .r * 2", "2 4"},
  };
  for (const auto& row : rows) {
    const std::string_view want = row.values;
    if (want == "cannot" || want == "error") {
      EXPECT_THAT(Of(row.text), HasSubstr(fmt::format("{}: ", want))) << row.text;
    } else {
      EXPECT_EQ(Of(row.text), want) << row.text;
    }
  }
}

TEST(ExpressionTest, AMistakeIsNamed) {
  EXPECT_THAT(Of("any(.spec.list[]; .r > 1)"), HasSubstr("cannot: expression 'any(.spec.list[]; .r > 1)'"));
  EXPECT_THAT(Of("def f: f; f"), HasSubstr("'def f: f; f' is not known here"));
  EXPECT_THAT(Of(".spec.list[] |= 1"), HasSubstr("cannot"));
  EXPECT_THAT(Of(".spec.list[1:2]"), HasSubstr("cannot"));
  EXPECT_THAT(Of("\"\\(.spec)\""), HasSubstr("cannot"));
  EXPECT_THAT(Of(""), HasSubstr("it ends too early"));
  EXPECT_THAT(Of("(.a"), HasSubstr("')' is missing"));
  EXPECT_THAT(Of("\"a"), HasSubstr("a text does not end"));
  EXPECT_THAT(Of("1.5"), HasSubstr("must be integers"));
  EXPECT_THAT(Of(".a, .b"), HasSubstr("cannot"));
  EXPECT_THAT(Of(".spec.replicas.x"), HasSubstr("error: expression '.spec.replicas.x': a number has no member x"));
  EXPECT_THAT(Of(".metadata[]?[0]"), HasSubstr("error: "));
  EXPECT_THAT(Of(".spec.missing[]"), HasSubstr("null has no elements"));
  EXPECT_THAT(Of(".spec * 2"), HasSubstr("cannot be calculated with"));
  EXPECT_THAT(Of("2147483647 * 2147483647 * 2147483647"), HasSubstr("too large"));
}

TEST(ExpressionTest, IsBounded) {
  EXPECT_THAT(Of(std::string(200, '(') + "1" + std::string(200, ')')), HasSubstr("nests too deeply"));
  EXPECT_THAT(Of("." + std::string(2000, 'a')), HasSubstr("1024 characters at most"));
  std::string many = "1";
  for (int i = 0; i < 40; ++i) many += " // 1";
  EXPECT_THAT(Of(many), HasSubstr("nests too deeply"));
  const Expression product = *Expression::Parse(".[] * .[]");
  json::array numbers;
  for (int i = 0; i < 200; ++i) numbers.push_back(i);
  EXPECT_THAT(MessageOf(product, numbers), HasSubstr("more than 10000 values"));
}

TEST(ExpressionTest, MakesNoLongTexts) {
  std::string doubled = "\"aaaaaaaa\"";
  for (int i = 0; i < 100; ++i) doubled += "|.+.";
  EXPECT_THAT(Of(doubled), HasSubstr("more than 1048576 bytes"));
  json::array many;
  for (int i = 0; i < 5000; ++i) many.push_back(json::object());
  const json::object input{{"l", many}, {"text", std::string(100'000, 'a')}};
  StepBudget budget;
  const auto values = Expression::Parse(".l[].missing + .text | length")->Evaluate(input, budget);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->size(), 5000u) << "of one text";
  EXPECT_THAT(MessageOf(*Expression::Parse(".l[].missing + .text"), input), HasSubstr("more than 1048576 bytes"))
      << "what it yields is copied";
}

TEST(ExpressionTest, EndsWhereNothingIsYielded) {
  json::array numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  const Expression nested = *Expression::Parse(".[] and (.[] and (.[] and .[0][]?))");
  EXPECT_THAT(MessageOf(nested, numbers), HasSubstr("200000 steps are not enough"));
}

// Values that are compared, made and yielded cost as much as the nodes of the expression do.
TEST(ExpressionTest, EvaluationsShareABudget) {
  json::array numbers;
  for (int i = 0; i < 90; ++i) numbers.push_back(i);
  const Expression compared = *Expression::Parse("(.[] == .[]) // 1");
  StepBudget budget(20'000);
  ASSERT_TRUE(compared.Evaluate(numbers, budget).ok());
  EXPECT_GT(budget.used(), 90 * 90);
  EXPECT_LT(budget.used(), 4 * 90 * 90);
  EXPECT_FALSE(budget.is_spent());
  EXPECT_THAT(std::string(compared.Evaluate(numbers, budget).status().message()),
              HasSubstr("20000 steps are not enough for it and for what was evaluated before"));
  EXPECT_TRUE(budget.is_spent());
  EXPECT_FALSE(Expression::Parse("1")->Evaluate(numbers, budget).ok()) << "whatever comes after it";
}

TEST(ExpressionTest, SaysWhatItReads) {
  EXPECT_THAT(Expression::Parse(R"(.spec.a["b/c"] // .status[0].d)")->members(),
              ElementsAre("a", "b/c", "d", "spec", "status"));
  EXPECT_THAT(Expression::Parse(R"(.metadata.labels["env"] // .metadata.annotations.spec)")->members(),
              ElementsAre("annotations", "labels", "metadata"));
}

}  // namespace
}  // namespace basalt::pgsvc
