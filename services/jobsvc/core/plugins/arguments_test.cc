#include "services/jobsvc/core/plugins/arguments.h"

#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> words;
  std::string complaint = "";
  std::string text = "d";
  bool flag = false;
  int64_t number = 7;
};

class ArgumentsTest : public testing::TestWithParam<Case> {};

TEST_P(ArgumentsTest, ReadsWordsAsGoDoes) {
  const Case& c = GetParam();
  PluginArguments words(c.words.begin(), c.words.end());
  std::string text = "d";
  bool flag = false;
  int64_t number = 7;
  Arguments arguments;
  arguments.Flag("text", &text, "A text");
  arguments.Flag("flag", &flag, "A flag");
  arguments.Flag("number", &number, "A number", -100, 100);
  EXPECT_EQ(arguments.Parse(words), c.complaint);
  EXPECT_EQ(text, c.text);
  EXPECT_EQ(flag, c.flag);
  EXPECT_EQ(number, c.number);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ArgumentsTest,
    testing::Values(
        Case{"Nothing", {}}, Case{"TwoDashes", {"--text=x"}, "", "x"}, Case{"OneDash", {"-text=x"}, "", "x"},
        Case{"NextWord", {"--text", "x", "--flag"}, "", "x", true},
        Case{"NextWordMayLookLikeAFlag", {"--text", "--flag"}, "", "--flag"}, Case{"EmptyValue", {"--text="}, "", ""},
        Case{"ValueWithEquals", {"--text=a=b"}, "", "a=b"}, Case{"TheLastOneCounts", {"--text=a", "--text=b"}, "", "b"},
        Case{"BareBoolean", {"--flag"}, "", "d", true}, Case{"BooleanT", {"--flag=T"}, "", "d", true},
        Case{"BooleanFalse", {"--flag", "--flag=False"}}, Case{"Decimal", {"--number=-12"}, "", "d", false, -12},
        Case{"Plus", {"--number=+12"}, "", "d", false, 12}, Case{"Hex", {"--number=0x1F"}, "", "d", false, 31},
        Case{"Octal", {"--number=017"}, "", "d", false, 15}, Case{"OctalWithO", {"--number=0o17"}, "", "d", false, 15},
        Case{"Binary", {"--number=0b101"}, "", "d", false, 5},
        Case{"CapitalPrefix", {"--number=-0X1f"}, "", "d", false, -31}, Case{"Zero", {"--number=0"}, "", "d", false, 0},
        Case{"NumberInTheNextWord", {"--number", "12", "--flag"}, "", "d", true, 12},
        Case{"TerminatorStops", {"--", "--text=x"}},
        Case{"TerminatorIsAValue", {"--text", "--", "--flag"}, "", "--", true}),
    [](const auto& row) { return row.param.name; });

// Unlike in Go, the words behind one that cannot be used still count.
INSTANTIATE_TEST_SUITE_P(
    Passed, ArgumentsTest,
    testing::Values(
        Case{"BooleanTakesNoNextWord", {"--flag", "false", "--text=x"}, "'false' is not a flag", "x", true},
        Case{"BadBoolean", {"--flag=yes", "--text=x"}, "flag 'flag': 'yes' is neither true nor false", "x"},
        Case{"EmptyBoolean", {"--flag=", "--text=x"}, "flag 'flag': '' is neither true nor false", "x"},
        Case{"BadNumber", {"--number=2z", "--text=x"}, "flag 'number': '2z' is not a number", "x"},
        Case{"BadNumberInTheNextWord", {"--number", "x", "--text=x"}, "flag 'number': 'x' is not a number", "x"},
        Case{"BadNumberKeepsWhatWasReadBefore",
             {"--number=9", "--number=z"},
             "flag 'number': 'z' is not a number",
             "d",
             false,
             9},
        Case{"EmptyNumber", {"--number="}, "flag 'number': '' is not a number"},
        Case{"PrefixAlone", {"--number=0x"}, "flag 'number': '0x' is not a number"},
        Case{"BadOctal", {"--number=08"}, "flag 'number': '08' is not a number"},
        Case{"TwoSigns", {"--number=--2"}, "flag 'number': '--2' is not a number"},
        Case{"MoreThanAnInteger",
             {"--number=9223372036854775808"},
             "flag 'number': '9223372036854775808' is not a number"},
        Case{"UnknownFlag", {"--other=1", "--text=x"}, "flag 'other' is unknown", "x"},
        Case{"UnknownFlagTakesNoNextWord",
             {"--other", "1", "--text=x"},
             "flag 'other' is unknown; '1' is not a flag",
             "x"},
        Case{"Word", {"word", "--text=x"}, "'word' is not a flag", "x"},
        Case{"EmptyWord", {"", "--text=x"}, "'' is not a flag", "x"},
        Case{"MissingValue", {"--flag", "--text"}, "flag 'text' needs a value", "d", true},
        Case{"ThreeDashes", {"---text=x", "--flag"}, "'---text=x' is not a flag", "d", true},
        Case{"OnlyADash", {"-", "--flag"}, "'-' is not a flag", "d", true},
        Case{"EqualsFirst", {"--=x", "--flag"}, "'--=x' is not a flag", "d", true},
        Case{"SeveralComplaints",
             {"--other", "--number=x", "--flag=2", "word", "--text=x"},
             "flag 'other' is unknown; flag 'number': 'x' is not a number; "
             "flag 'flag': '2' is neither true nor false; 'word' is not a flag",
             "x"},
        Case{"TerminatorStopsComplaints", {"word", "--", "word"}, "'word' is not a flag"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Ranges, ArgumentsTest,
    testing::Values(
        Case{"Lowest", {"--number=-100"}, "", "d", false, -100}, Case{"Highest", {"--number=100"}, "", "d", false, 100},
        Case{"HighestInHex", {"--number=0x64"}, "", "d", false, 100},
        Case{"TooLow", {"--number=-101", "--text=x"}, "flag 'number': -101 is not between -100 and 100", "x"},
        Case{"TooHigh", {"--number=101", "--text=x"}, "flag 'number': 101 is not between -100 and 100", "x"},
        Case{"TooHighInHex", {"--number=0xFF"}, "flag 'number': 255 is not between -100 and 100"},
        Case{"TooHighInTheNextWord",
             {"--number", "101", "--flag"},
             "flag 'number': 101 is not between -100 and 100",
             "d",
             true},
        Case{"OneOfTwo",
             {"--number=50", "--number=500"},
             "flag 'number': 500 is not between -100 and 100",
             "d",
             false,
             50}),
    [](const auto& row) { return row.param.name; });

PluginArguments WordsOf(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

TEST(ArgumentsPortTest, IsANumberOf16BitsAndNotZero) {
  struct Row {
    std::string word;
    int64_t port;
    std::string complaint;
  };
  for (const Row& row :
       {Row{"--port=1", 1, ""}, Row{"--port=65535", 65535, ""},
        Row{"--port=0", 22, "flag 'port': 0 is not between 1 and 65535"},
        Row{"--port=-1", 22, "flag 'port': -1 is not between 1 and 65535"},
        Row{"--port=65536", 22, "flag 'port': 65536 is not between 1 and 65535"},
        Row{"--port=70000", 22, "flag 'port': 70000 is not between 1 and 65535"},
        Row{"--port=ssh", 22, "flag 'port': 'ssh' is not a number"}, Row{"--port", 22, "flag 'port' needs a value"}}) {
    int64_t port = 22;
    Arguments arguments;
    arguments.Port("port", &port, "A port");
    EXPECT_EQ(arguments.Parse(WordsOf({row.word})), row.complaint);
    EXPECT_EQ(port, row.port) << row.word;
  }
}

// Some users' manifests name flags of earlier versions of Volcano.
TEST(ArgumentsOldFlagTest, LosesItselfAlone) {
  int64_t port = 22;
  Arguments arguments;
  arguments.Port("ssh-port", &port, "The port");
  EXPECT_EQ(arguments.Parse(WordsOf({"--no-root=true", "--ssh-port=2222"})), "flag 'no-root' is unknown");
  EXPECT_EQ(port, 2222);
}

TEST(ArgumentsDescribeTest, TellsFlagsInTheirOrderWithWhatTheyHaveNow) {
  std::string text = "d";
  bool flag = false;
  int64_t number = 7;
  int64_t port = 22;
  Arguments arguments;
  EXPECT_TRUE(arguments.Describe().empty());
  arguments.Flag("text", &text, "A text");
  arguments.Flag("number", &number, "A number", -100, 100);
  arguments.Port("port", &port, "A port");
  arguments.Flag("flag", &flag, "A flag");
  const auto lines = [&arguments] {
    std::vector<std::string> all;
    for (const FlagDescription& known : arguments.Describe()) {
      all.push_back(known.name + "=" + known.default_value + ": " + known.text);
    }
    return all;
  };
  EXPECT_EQ(lines(), (std::vector<std::string>{"text=d: A text", "number=7: A number", "port=22: A port",
                                               "flag=false: A flag"}));
  EXPECT_EQ(arguments.Parse(WordsOf({"--text=", "--number=-0x10", "--flag", "--port=0"})),
            "flag 'port': 0 is not between 1 and 65535");
  EXPECT_EQ(lines(), (std::vector<std::string>{"text=: A text", "number=-16: A number", "port=22: A port",
                                               "flag=true: A flag"}));
}

}  // namespace
}  // namespace basalt::jobsvc
