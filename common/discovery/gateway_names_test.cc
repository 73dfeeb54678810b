#include "common/discovery/gateway_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::discovery {
namespace {

using ::testing::HasSubstr;

TEST(GatewayNamesTest, OneGatewayEachOrANameThatStandsForMany) {
  const auto names = ParseGatewayNames({"10.0.0.1:7700", "gw-0.gw:1", "[fe80::1]:65535", "dns:///gw.ns.svc:7700"});
  ASSERT_TRUE(names.ok()) << names.status();
  struct Row {
    const char* host;
    int port;
    bool many;
    const char* text;
  };
  const Row rows[] = {{"10.0.0.1", 7700, false, "10.0.0.1:7700"},
                      {"gw-0.gw", 1, false, "gw-0.gw:1"},
                      {"fe80::1", 65535, false, "[fe80::1]:65535"},
                      {"gw.ns.svc", 7700, true, "gw.ns.svc:7700"}};
  ASSERT_EQ(names->size(), std::size(rows));
  for (size_t i = 0; i < std::size(rows); ++i) {
    const GatewayName& name = (*names)[i];
    EXPECT_EQ(name.at.host, rows[i].host);
    EXPECT_EQ(name.at.port, rows[i].port) << rows[i].text;
    EXPECT_EQ(name.many, rows[i].many) << rows[i].text;
    EXPECT_EQ(ToText(name.at), rows[i].text);
  }
}

TEST(GatewayNamesTest, AnErrorNamesFlagValueAndRule) {
  struct Row {
    std::vector<std::string> values;
    const char* words;
  };
  const Row rows[] = {
      {{}, "at least one address is needed, host:port or dns:///name:port"},
      {{""}, "'' has no port"},
      {{"a:1", ""}, "'' has no port"},
      {{"gateway"}, "'gateway' has no port"},
      {{":7700"}, "':7700' has no host"},
      {{"a:"}, "'a:' has no port between 1 and 65535"},
      {{"a:0"}, "'a:0' has no port between 1 and 65535"},
      {{"a:65536"}, "'a:65536' has no port between 1 and 65535"},
      {{"a:-1"}, "'a:-1' has no port between 1 and 65535"},
      {{"a:77x"}, "'a:77x' has no port between 1 and 65535"},
      {{"a:99999999999999999999"}, "has no port between 1 and 65535"},
      {{"::1:7700"}, "'::1:7700' has more than one colon; an IPv6 address stands in brackets"},
      {{"http://a:1"}, "'http://a:1' has more than one colon"},
      {{"a b:1"}, "'a b:1' has characters that no host name has"},
      {{"dns:///"}, "'dns:///' has no port"},
      {{"dns:///gw"}, "'dns:///gw' has no port"},
      {{"dns://8.8.8.8/gw:1"}, "'dns://8.8.8.8/gw:1' has more than one colon"},
  };
  for (const Row& row : rows) {
    const auto names = ParseGatewayNames(row.values);
    EXPECT_EQ(names.status().code(), absl::StatusCode::kInvalidArgument) << row.words;
    EXPECT_THAT(std::string(names.status().message()), HasSubstr(row.words));
    EXPECT_THAT(std::string(names.status().message()), ::testing::StartsWith("--gateway: "));
    EXPECT_THAT(std::string(names.status().message()), HasSubstr("dns:///name:port"));
  }
}

}  // namespace
}  // namespace basalt::discovery
