#include "common/kube/quantity.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace basalt::kube {
namespace {

Quantity Q(std::string_view text) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << quantity.status();
  return quantity.value_or(Quantity());
}

TEST(QuantityTest, PrintsTheCanonicalText) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"0", "0"},
      {"0Gi", "0"},
      {"-0", "0"},
      {"1", "1"},
      {"1000m", "1"},
      {"1500m", "1500m"},
      {"0.5", "500m"},
      {".5", "500m"},
      {"5.", "5"},
      {"+3", "3"},
      {"007", "7"},
      {"100", "100"},
      {"1000", "1k"},
      {"1024", "1024"},
      {"1500", "1500"},
      {"2000000", "2M"},
      {"1Gi", "1Gi"},
      {"1024Mi", "1Gi"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"1536Ki", "1536Ki"},
      {"1000Mi", "1000Mi"},
      {"2e9", "2e9"},
      {"2E3", "2e3"},
      {"1e-3", "1e-3"},
      {"12e2", "1200"},
      {"1E", "1E"},
      {"100n", "100n"},
      {"1n", "1n"},
      {"0.1n", "1n"},
      {"-0.1n", "-1n"},
      {"-1500m", "-1500m"},
      {"-2Gi", "-2Gi"},
      {"0.0000000001Gi", "107374183n"},
      {"1023", "1023"},
      {"1Ki", "1Ki"},
      {"9223372036854775807", "9223372036854775807"},
      {"16Ei", "9223372036854775807"},
      {"1.1Ki", "1126400m"},
      {"1e21", "1e21"},
      {"1000E", "1e21"},
      {"1e-99", "1e-9"},
      {"64G", "64G"},
      {"0.001", "1m"},
      {"4k", "4k"},
      {"500u", "500u"},
  };
  for (const auto& [text, printed] : cases) {
    EXPECT_EQ(Q(text).Text(), printed) << text;
    EXPECT_EQ(Q(Q(text).Text()), Q(text)) << text;
  }
}

TEST(QuantityTest, RefusesWhatIsNoQuantity) {
  for (const std::string_view text : {"",   "-",   "+",  ".",   "Gi",    "m",   "1i",  "1 Gi", "1Gi ", "1.1.1", "1KI",
                                      "1K", "1ki", "1e", "1e+", "1e1.5", "--1", "1mm", "0x10", "1,5",  "NaN",   "1g"}) {
    EXPECT_EQ(Quantity::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(QuantityTest, ComparesByValue) {
  EXPECT_EQ(Q("1000m"), Q("1"));
  EXPECT_EQ(Q("1Ki"), Q("1024"));
  EXPECT_EQ(Q("1k"), Q("1e3"));
  EXPECT_LT(Q("999m"), Q("1"));
  EXPECT_LT(Q("1G"), Q("1Gi"));
  EXPECT_LT(Q("-1"), Q("0"));
}

TEST(QuantityTest, ASumKeepsTheFirstFormAndZeroTakesTheOther) {
  EXPECT_EQ((Q("1Gi") + Q("1000")).Text(), "1073742824");
  EXPECT_EQ((Q("1Gi") + Q("1Gi")).Text(), "2Gi");
  EXPECT_EQ((Quantity() + Q("512Mi")).Text(), "512Mi");
  EXPECT_EQ((Q("50m") + Q("100m") + Q("50m")).Text(), "200m");
  EXPECT_EQ((Q("1") - Q("250m")).Text(), "750m");
  EXPECT_EQ((Q("1024") + Q("1Ki")).Text(), "2048");
}

TEST(QuantityTest, MultipliesExactlyAndStopsAtTheBound) {
  EXPECT_EQ((Q("100m") * 3).Text(), "300m");
  EXPECT_EQ((Q("1Gi") * 1000).Text(), "1000Gi");
  EXPECT_EQ((Q("250m") * 4).Text(), "1");
  EXPECT_EQ((Q("1") * 0).Text(), "0");
  const Quantity huge = Q("9E") * INT64_MAX;
  EXPECT_EQ(huge * 2, huge);
  EXPECT_EQ(huge + huge, huge);
  EXPECT_EQ((huge * -1) + huge, Quantity());
}

TEST(QuantityTest, ValuesAreRoundedAwayFromZero) {
  EXPECT_EQ(Q("1500m").Value(), 2);
  EXPECT_EQ(Q("-1500m").Value(), -2);
  EXPECT_EQ(Q("1500m").MilliValue(), 1500);
  EXPECT_EQ(Q("1u").MilliValue(), 1);
  EXPECT_EQ(Q("1e25").Value(), INT64_MAX);
  EXPECT_EQ(Quantity::OfInt(2000, Quantity::Form::kBinarySi).Text(), "2000");
}

}  // namespace
}  // namespace basalt::kube
