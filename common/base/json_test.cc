#include "common/base/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/base/json_int32.h"
#include "common/base/status.h"

namespace basalt {
namespace {

TEST(JsonTest, FindsWhatIsThereAndNothingElse) {
  const json::value v = *ParseJson(R"({"a":{"b":"x","n":3.0}})");
  EXPECT_EQ(FindString(*FindPath(v, {"a"}), "b"), "x");
  EXPECT_EQ(FindInt(*FindPath(v, {"a"}), "n"), 3);
  EXPECT_EQ(FindPath(v, {"a", "b", "c"}), nullptr);
}

// A number that does not fit does not wrap around.
TEST(JsonTest, AnIntegerThatDoesNotFitIsNone) {
  struct Case {
    const char* number;
    int64_t of_64;  // Is 7 if the number is no integer of 64 bits.
    int32_t of_32;  // Is 7 if the number is no integer of 32 bits.
  };
  const Case cases[] = {
      {"3", 3, 3},
      {"-3.0", -3, -3},
      {"2147483647", 2147483647, 2147483647},
      {"-2147483648", -2147483648, INT32_MIN},
      {"2147483648", 2147483648, 7},
      {"-2147483649", -2147483649, 7},
      {"4294967297", 4294967297, 7},
      {"9223372036854775807", INT64_MAX, 7},
      {"-9223372036854775808.0", INT64_MIN, 7},
      {"9223372036854775808", 7, 7},
      {"9223372036854775808.0", 7, 7},
      {"18446744073709551615", 7, 7},
      {"1e300", 7, 7},
      {"-1e300", 7, 7},
      {"1.5", 7, 7},
      {"\"3\"", 7, 7},
      {"null", 7, 7},
  };
  for (const Case& test : cases) {
    const json::value v = *ParseJson(std::string("{\"n\":") + test.number + "}");
    EXPECT_EQ(FindInt(v, "n", 7), test.of_64) << test.number;
    EXPECT_EQ(FindInt32(v, "n", 7), test.of_32) << test.number;
    EXPECT_EQ(Int32Of(v.at("n")).value_or(7), test.of_32) << test.number;
  }
  EXPECT_EQ(FindInt32(*ParseJson("{}"), "n", 7), 7);
}

TEST(JsonTest, RefusesBrokenDeepAndTrailingText) {
  for (const std::string& text :
       {std::string("{"), std::string("{} x"), std::string(200, '[') + std::string(200, ']')}) {
    EXPECT_EQ(ParseJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

// A number is read as its nearest double, whatever digits follow beyond the precision of a double.
TEST(JsonTest, ANumberThatIsWrittenIsReadAsItWas) {
  for (const std::string& digits :
       {std::string("44444444444444444444444444444444444444444444444442"), std::string("4.4444444444444446E49"),
        std::string("0.1234567890123456789012345678"), std::string("2.2250738585072011e-308"), std::string("5e-324"),
        std::string("9007199254740993.0"), std::string("1.7976931348623157e308")}) {
    const absl::StatusOr<json::value> read = ParseJson(digits);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->as_double(), std::strtod(digits.c_str(), nullptr)) << digits;
    EXPECT_EQ(*ParseJson(ToText(*read)), *read) << digits;
  }
}

// Every value that the parser returns can be written as JSON.
TEST(JsonTest, RefusesNumbersThatNoDoubleHolds) {
  for (const char* const number : {"1e400", "-1e309"}) {
    const absl::StatusOr<json::value> read = ParseJson(std::string("{\"a\":[1,{\"b\":") + number + "}]}");
    ASSERT_FALSE(read.ok()) << ToText(*read);
    EXPECT_EQ(read.status(), Invalid("not valid JSON: a number is beyond 64-bit floating point")) << number;
  }
  EXPECT_EQ(ToText(*ParseJson("[1e308,1e-400,0e400]")), "[1E308,0E0,0E0]");
}

}  // namespace
}  // namespace basalt
