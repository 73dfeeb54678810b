// A watch of pod groups at any replica returns all groups, and continues at another replica without a gap.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "tests/integration/follower.h"
#include "tests/integration/replicas.h"

namespace basalt::integration {
namespace {

using basalt::testing::IsOk;

class PodGroupWatchTest : public ::testing::Test {
 protected:
  // Submits jobs that keep running. Each job has a group.
  void SubmitMore(int count) {
    for (int i = 0; i < count; ++i) {
      jobs_.push_back(fmt::format("job-{:03}", submitted_++));
      ASSERT_THAT(replicas_.Submit(0, jobs_.back(), "600"), IsOk());
    }
  }
  void DeleteFirst() {
    ASSERT_THAT(replicas_.Delete(0, jobs_.front()), IsOk());
    jobs_.erase(jobs_.begin());
  }
  // Returns true if the client knows the group of each job, in the phase Running, and no other group.
  bool KnowsAll() const {
    std::vector<std::string> owners;
    for (const auto& [name, group] : follower_.objects()) {
      if (group.object().phase() != "Running") return false;
      for (const auto& owner : group.object().meta().owner_references()) owners.push_back(owner.name());
    }
    std::sort(owners.begin(), owners.end());
    return owners == jobs_;
  }
  bool ReadUntilAllAreKnown() {
    return KnowsAll() || follower_.ReadUntil([this](const auto&) { return KnowsAll(); });
  }
  // Returns the UIDs of the existing groups by name.
  std::map<std::string, std::string> UidsThereAre() {
    grpc::ClientContext context;
    podgroup::v1::ListPodGroupsResponse page;
    std::map<std::string, std::string> uids;
    EXPECT_TRUE(replicas_.pod_groups(1).ListPodGroups(&context, {}, &page).ok());
    for (const auto& group : page.pod_groups()) uids[group.object().meta().name()] = group.object().meta().uid();
    return uids;
  }
  void ExpectToKnowAll() {
    std::map<std::string, std::string> uids;
    for (const auto& [name, group] : follower_.objects()) uids[name] = group.object().meta().uid();
    EXPECT_EQ(uids, UidsThereAre());
    EXPECT_TRUE(follower_.resets().empty());
  }

  Replicas replicas_;
  Follower<FollowedPodGroups> follower_;
  std::vector<std::string> jobs_;  // Sorted.
  int submitted_ = 0;
};

TEST_F(PodGroupWatchTest, ReplicasThatRestartAndSlotsThatMoveLeaveNoGap) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(12);
  follower_.Open(replicas_.pod_groups(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  ASSERT_TRUE(ReadUntilAllAreKnown());
  ASSERT_TRUE(follower_.ReadUntilNewestToken());
  for (const size_t replica : {1, 2}) {
    replicas_.Stop(kPgsvc, replica);
    DeleteFirst();
    replicas_.Start(kPgsvc, replica);
    SubmitMore(4);
    ASSERT_TRUE(ReadUntilAllAreKnown()) << "after the restart of " << replica;
  }
  // The replica that serves the watch restarts, too.
  replicas_.Stop(kPgsvc, 0);
  replicas_.Start(kPgsvc, 0);
  follower_.Open(replicas_.pod_groups(1));
  DeleteFirst();
  ASSERT_TRUE(ReadUntilAllAreKnown());
  replicas_.Leave(kPgsvc, 2);
  DeleteFirst();
  SubmitMore(4);
  ASSERT_TRUE(ReadUntilAllAreKnown()) << "2 has left";
  replicas_.Start(kPgsvc, 2);
  DeleteFirst();
  SubmitMore(4);
  ASSERT_TRUE(ReadUntilAllAreKnown()) << "2 has come back";
  ExpectToKnowAll();
}

}  // namespace
}  // namespace basalt::integration
