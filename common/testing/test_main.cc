#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"

int main(int argc, char** argv) {
  // Debian builds Abseil without NDEBUG; gRPC's own locks would trip its deadlock detector.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
