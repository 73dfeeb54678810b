#include "cli/commands.h"

#include <gtest/gtest.h>

#include "common/base/status.h"

namespace basalt::cli {
namespace {

std::string Reported(const absl::Status& status, int& exit_code) {
  ::testing::internal::CaptureStderr();
  exit_code = Report(status);
  return ::testing::internal::GetCapturedStderr();
}

TEST(ReportTest, AnErrorIsNeverWithoutWords) {
  int code = 0;
  EXPECT_EQ(Reported(absl::Status(absl::StatusCode::kUnimplemented, ""), code), "error: UNIMPLEMENTED\n");
  EXPECT_EQ(code, kExitRefused);
  EXPECT_EQ(Reported(absl::InvalidArgumentError("a\x1b[31mb"), code), "error: a?[31mb\n");
  EXPECT_EQ(code, kExitBadInput);
}

TEST(ReportTest, OnlyWhatDoesNotExistIsToldWithWhereToLook) {
  EXPECT_EQ(OrLookAt(absl::NotFoundError("job j does not exist"), "look there").message(),
            "job j does not exist; look there");
  EXPECT_EQ(OrLookAt(absl::UnavailableError("away"), "look there").message(), "away");
  EXPECT_TRUE(OrLookAt(absl::OkStatus(), "look there").ok());
}

}  // namespace
}  // namespace basalt::cli
