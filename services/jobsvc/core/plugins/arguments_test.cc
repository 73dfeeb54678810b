#include "services/jobsvc/core/plugins/arguments.h"

#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> words;
  std::string text = "d";
  bool flag = false;
  int64_t number = 7;
  bool complains = false;
};

class ArgumentsTest : public testing::TestWithParam<Case> {};

TEST_P(ArgumentsTest, ReadsWordsAsGoDoes) {
  const Case& c = GetParam();
  PluginArguments words(c.words.begin(), c.words.end());
  std::string text = "d";
  bool flag = false;
  int64_t number = 7;
  Arguments arguments;
  arguments.Flag("text", &text);
  arguments.Flag("flag", &flag);
  arguments.Flag("number", &number);
  const std::string complaint = arguments.Parse(words);
  EXPECT_EQ(text, c.text);
  EXPECT_EQ(flag, c.flag);
  EXPECT_EQ(number, c.number);
  EXPECT_EQ(!complaint.empty(), c.complains) << complaint;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ArgumentsTest,
    testing::Values(Case{"Nothing", {}}, Case{"TwoDashes", {"--text=x"}, "x"}, Case{"OneDash", {"-text=x"}, "x"},
                    Case{"NextWord", {"--text", "x", "--flag"}, "x", true},
                    Case{"NextWordMayLookLikeAFlag", {"--text", "--flag"}, "--flag"},
                    Case{"EmptyValue", {"--text="}, ""}, Case{"ValueWithEquals", {"--text=a=b"}, "a=b"},
                    Case{"BareBoolean", {"--flag"}, "d", true}, Case{"BooleanT", {"--flag=T"}, "d", true},
                    Case{"BooleanFalse", {"--flag", "--flag=False"}, "d", false},
                    Case{"BooleanTakesNoNextWord", {"--flag", "false", "--text=x"}, "d", true, 7, true},
                    Case{"BadBoolean", {"--flag=yes", "--text=x"}, "d", false, 7, true},
                    Case{"Decimal", {"--number=-12"}, "d", false, -12}, Case{"Hex", {"--number=0x1F"}, "d", false, 31},
                    Case{"Octal", {"--number=017"}, "d", false, 15}, Case{"Binary", {"--number=0b101"}, "d", false, 5},
                    Case{"Zero", {"--number=0"}, "d", false, 0},
                    Case{"BadNumberKeepsDefault", {"--text=x", "--number=2z"}, "x", false, 7, true},
                    Case{"TwoSigns", {"--number=--2"}, "d", false, 7, true},
                    Case{"UnknownFlagStops", {"--other=1", "--text=x"}, "d", false, 7, true},
                    Case{"WordStops", {"word", "--text=x"}, "d", false, 7, true},
                    Case{"TerminatorStops", {"--", "--text=x"}}, Case{"MissingValue", {"--text"}, "d", false, 7, true},
                    Case{"ThreeDashes", {"---text=x"}, "d", false, 7, true},
                    Case{"OnlyADash", {"-"}, "d", false, 7, true}, Case{"EqualsFirst", {"--=x"}, "d", false, 7, true}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace basalt::jobsvc
