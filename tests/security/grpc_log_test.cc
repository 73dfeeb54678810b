// Tests that data from a stranger on a gRPC port appears in our log as a value, never as a line of its own.
#include <grpcpp/version_info.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "common/http/testing/raw_connection.h"
#include "common/rpc/grpc/server.h"

namespace basalt::security {
namespace {

std::string Frame(char type, char flags, char stream, std::string_view payload) {
  std::string frame = {0, 0, static_cast<char>(payload.size()), type, flags, 0, 0, 0, stream};
  return frame.append(payload);
}

// Returns an HPACK header as a literal, without any table.
std::string Header(std::string_view name, std::string_view value) {
  std::string header = {0, static_cast<char>(name.size())};
  header.append(name);
  header.push_back(static_cast<char>(value.size()));
  return header.append(value);
}

std::string CallWith(std::string_view name, std::string_view value) {
  return Frame(1, 5, 1,
               Header(":method", "POST") + Header(":scheme", "http") + Header(":path", "/a.B/C") + Header(name, value));
}

TEST(GrpcLogTest, AHeaderOfAStrangerIsNoLineOfTheLog) {
  const auto server = rpc::GrpcServer::Start({.bounds = {.handshake_timeout = absl::Seconds(2)}}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  ::testing::internal::CaptureStderr();
  {
    http::testing::RawConnection stranger(static_cast<uint16_t>((*server)->port()));
    stranger.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, "") +
                  CallWith("te", "x\n{\"level\":\"error\",\"message\":\"FORGED\"}\n\x1b[2J\xff"));
    stranger.Send(Frame(9, 4, 9, ""));  // A CONTINUATION without HEADERS, at which the server closes the connection.
    stranger.ReadToEnd();
  }
  std::istringstream log(::testing::internal::GetCapturedStderr());
  bool is_logged = false;
  for (std::string line; std::getline(log, line);) {
    const absl::StatusOr<json::value> parsed = ParseJson(line);
    ASSERT_TRUE(parsed.ok()) << line;
    EXPECT_NE(FindString(*parsed, "message"), "FORGED") << line;
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    is_logged |= line.find("FORGED") != std::string::npos;
  }
  // Later releases of gRPC do not log such a header.
  if (GRPC_CPP_VERSION_MINOR == 51) {
    EXPECT_TRUE(is_logged) << "gRPC logs the header nowhere, so that this shows nothing";
  }
}

}  // namespace
}  // namespace basalt::security
