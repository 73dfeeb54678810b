#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace {

// Repeats the failures at the end, since often only the end of a long output is kept.
class FailuresLast : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed() || failures_.size() == kMost) return;
    const char* const file = result.file_name() == nullptr ? "?" : result.file_name();
    failures_.push_back(std::string(file) + ":" + std::to_string(result.line_number()) + ": " +
                        std::string(result.summary()).substr(0, kLongest));
  }
  void OnTestProgramEnd(const ::testing::UnitTest& /*test*/) override {
    for (const std::string& failure : failures_) std::fprintf(stderr, "failed: %s\n", failure.c_str());
  }

  static constexpr size_t kMost = 10;
  static constexpr size_t kLongest = 1000;
  std::vector<std::string> failures_;
};

}  // namespace

int main(int argc, char** argv) {
  // Debian builds Abseil without NDEBUG; gRPC's own locks would trip its deadlock detector.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(new FailuresLast);
  return RUN_ALL_TESTS();
}
