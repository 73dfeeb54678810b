#include "common/shell/listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace basalt::shell {
namespace {

using ::testing::HasSubstr;

TEST(CheckListenTest, OnlyLoopbackIsServedUnlessTheFlagIsSet) {
  const struct {
    const char* address;
    bool loopback;
    bool beyond;  // Whether the address is allowed if the flag is set.
  } rows[] = {
      {"127.0.0.1:0", true, true},
      {"127.0.0.1:7700", true, true},
      {"127.8.9.10:7700", true, true},
      {"localhost:7700", true, true},
      {"[::1]:0", true, true},
      {"0.0.0.0:7700", false, true},
      {"[::]:0", false, true},
      {":7700", false, false},
      {"10.1.2.3:7700", false, true},
      {"[2001:db8::1]:7700", false, true},
      {"[::ffff:127.0.0.1]:1", false, true},
      {"gateway-0:7700", false, true},
      {"127.0.0.1.example:1", false, true},
      {"localhost.example:1", false, true},
      {"127.1:1", false, true},  // Some resolvers read this host as 127.0.0.1.
      {"0x7f000001:1", false, true},
      {"", false, false},
      {"127.0.0.1", false, false},
      {"127.0.0.1:", false, false},
      {"127.0.0.1:http", false, false},
      {"127.0.0.1:65536", false, false},
      {"127.0.0.1:-1", false, false},
      {"::1:7700", false, false},
      {"unix:/run/gateway", false, false},
      {"unix:7700", false, true},  // "unix" is a host name here.
      {"dns:///localhost:7700", false, false},
  };
  for (const auto& row : rows) {
    const absl::Status status = CheckListen("listen", row.address, false);
    EXPECT_EQ(status.ok(), row.loopback) << row.address << " " << status;
    if (!row.loopback) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr("--listen: '" + std::string(row.address) + "'"));
    }
    EXPECT_EQ(CheckListen("listen", row.address, true).ok(), row.beyond) << row.address;
  }
}

TEST(CheckListenTest, APortWithTlsNeedsNoFlag) {
  EXPECT_TRUE(CheckListenByFlag("metrics_listen", "0.0.0.0:7701", /*has_tls=*/true).ok());
  EXPECT_FALSE(CheckListenByFlag("metrics_listen", "0.0.0.0:7701", /*has_tls=*/false).ok());
}

}  // namespace
}  // namespace basalt::shell
