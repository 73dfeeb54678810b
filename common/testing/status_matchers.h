#pragma once

// Matchers: EXPECT_THAT(status_or, IsOk()); EXPECT_THAT(status, StatusIs(StatusCode::kNotFound, HasSubstr("job")));
#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace basalt::testing {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status) {
  return status.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P(StatusIs, code, std::string("has code ") + absl::StatusCodeToString(code)) {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code;
}

MATCHER_P2(StatusIs, code, message,
           std::string("has code ") + absl::StatusCodeToString(code) + " and a message that fits") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code &&
         ::testing::ExplainMatchResult(::testing::Matcher<std::string>(message), std::string(GetStatus(arg).message()),
                                       result_listener);
}

}  // namespace basalt::testing
