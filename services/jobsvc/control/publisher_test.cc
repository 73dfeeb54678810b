#include "services/jobsvc/control/publisher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using Kind = ShownChange::Kind;

class PublisherTest : public PartTest {
 protected:
  PublisherTest() {
    job.slot = SlotOf("default/j");
    publisher_.SetListener([this](const ShownChange& change) { told_.push_back(change); });
    publisher_.Open(job.slot, watch::RevisionLog({}, {}, /*epoch=*/1));
  }
  // What is told of a pass over the job; none: nothing.
  std::vector<Kind> Pass() {
    kv::WriteBatch batch;
    publisher_.PublishIfChanged(job, group_, {.queue = &queue_}, batch);
    return Tell();
  }
  std::vector<Kind> Tell() {
    told_.clear();
    publisher_.Tell();
    std::vector<Kind> kinds;
    for (const ShownChange& change : told_) kinds.push_back(change.kind);
    return kinds;
  }

  GroupView group_;
  kube::v1::Queue queue_;
  Publisher publisher_{context.random(), [this](const std::string&) { return &job; }};
  std::vector<ShownChange> told_;
};

TEST_F(PublisherTest, TellsOnceOfEachChangeOfWhatPeopleSee) {
  SetPhase(kube::v1::JOB_PHASE_PENDING);
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown});
  EXPECT_EQ(told_.front().entry, &job);
  EXPECT_EQ(Pass(), std::vector<Kind>{});
  job.job->mutable_meta()->set_resource_version(8);
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown});
  queue_.set_state("Closed");
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown}) << "it waits for its queue";
  group_ = {.present = true, .name = "g", .uid = "u", .phase = "Running"};
  EXPECT_EQ(Pass(), std::vector<Kind>{Kind::kShown});
  queue_.set_state("Open");
  EXPECT_EQ(Pass(), std::vector<Kind>{}) << "it waits no more";
}

TEST_F(PublisherTest, TellsOfTheEndOfWhatWasShown) {
  kv::WriteBatch batch;
  publisher_.PublishEnd(job, batch);
  EXPECT_EQ(Tell(), std::vector<Kind>{Kind::kUnseen});
  Pass();
  publisher_.PublishEnd(job, batch);
  EXPECT_EQ(Tell(), std::vector<Kind>{Kind::kGone});
  EXPECT_EQ(told_.front().uid, "job-uid");
}

TEST_F(PublisherTest, TellsNothingOfASlotThatIsClosedButThat) {
  kv::WriteBatch batch;
  publisher_.PublishIfChanged(job, group_, {}, batch);
  publisher_.Close(job.slot);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_.front().kind, Kind::kClosed);
  EXPECT_EQ(publisher_.LogOf(job.slot), nullptr);
  EXPECT_EQ(Pass(), std::vector<Kind>{});
}

}  // namespace
}  // namespace basalt::jobsvc::testing
