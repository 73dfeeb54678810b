#include "services/jobsvc/control/status/shown_state.h"

#include <gtest/gtest.h>

#include <utility>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class ShownStateTest : public PartTest {
 protected:
  // Returns whether clients would see something else than at the last call.
  bool HasChanged() {
    const uint64_t state = ShownStateOf(job, group_, {.queue = &queue_});
    return std::exchange(last_, state) != state;
  }

  GroupView group_;
  kube::v1::Queue queue_;
  uint64_t last_ = 0;
};

TEST_F(ShownStateTest, ChangesWithWhatPeopleSeeOfAJobAndWithNothingElse) {
  SetPhase(kube::v1::JOB_PHASE_PENDING);
  EXPECT_TRUE(HasChanged());
  EXPECT_FALSE(HasChanged());
  job.job->mutable_meta()->set_resource_version(8);
  EXPECT_TRUE(HasChanged());
  queue_.set_state("Closed");
  EXPECT_TRUE(HasChanged()) << "it waits for its queue";
  group_ = {.present = true, .name = "g", .uid = "u", .phase = "Running"};
  EXPECT_TRUE(HasChanged());
  queue_.set_state("Open");
  EXPECT_FALSE(HasChanged()) << "it waits no more";
}

// The hash is stored, and a process of another version compares with it.
TEST_F(ShownStateTest, IsTheSameInEveryProcess) {
  group_ = {.present = true, .name = "g", .uid = "u", .phase = "Running"};
  EXPECT_EQ(ShownStateOf(job, group_, {}), 0x1758f3c9d5a4baeaU);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
