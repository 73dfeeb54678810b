// Any replica answers calls about any job, queue and pod group.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/testing/status_matchers.h"
#include "tests/integration/replicas.h"

namespace basalt::integration {
namespace {

using basalt::testing::IsOk;
using basalt::testing::StatusIs;

std::vector<std::string> NamesOf(const std::vector<job::v1::Job>& jobs) {
  std::vector<std::string> names;
  for (const job::v1::Job& job : jobs) names.push_back(job.object().meta().name());
  return names;
}

TEST(ReadsTest, AnyReplicaAnswersForAnyJobAndWhatOneWasToldAnotherKnows) {
  Replicas replicas;
  ASSERT_TRUE(replicas.ok());
  std::vector<std::string> names;
  std::set<size_t> owners;
  for (int i = 0; i < 24; ++i) {
    names.push_back(fmt::format("job-{:02}", i));
    owners.insert(replicas.OwnerOf("default/" + names.back()));
    ASSERT_THAT(replicas.Submit(i % kReplicas, names.back()), IsOk());
    EXPECT_THAT(replicas.Get((i + 1) % kReplicas, names.back()), IsOk()) << "at once";
  }
  EXPECT_EQ(owners.size(), kReplicas);
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    for (const std::string& name : names) {
      const auto job = replicas.Get(replica, name);
      ASSERT_THAT(job, IsOk());
      EXPECT_EQ(job->object().meta().name(), name);
      EXPECT_THAT(replicas.Submit(replica, name), StatusIs(absl::StatusCode::kAlreadyExists));
    }
    EXPECT_THAT(replicas.Get(replica, "none"), StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(replicas.Get(replica, ""), StatusIs(absl::StatusCode::kInvalidArgument));
    // Each page is read from the next replica.
    for (const int page : {0, 1, 5, 24, 25}) {
      const auto all = replicas.ListFrom(replica, page);
      ASSERT_THAT(all, IsOk());
      EXPECT_EQ(NamesOf(*all), names) << page;
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_THAT(replicas.Delete((i + 2) % kReplicas, names[i]), IsOk());
    EXPECT_THAT(replicas.Delete(i % kReplicas, "none"), StatusIs(absl::StatusCode::kNotFound));
  }
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    EXPECT_TRUE(Eventually([&] {
      const auto all = replicas.ListFrom(replica, 0);
      return all.ok() && all->empty();
    }));
    job::v1::GetJobHistoryRequest request;
    request.set_name(names[0]);
    grpc::ClientContext context;
    job::v1::JobHistory history;
    EXPECT_TRUE(replicas.job(replica).GetJobHistory(&context, request, &history).ok());
    EXPECT_GT(history.entries_size(), 0);
  }
}

TEST(ReadsTest, AnyQueueIsToldWithTheCountsOfItsOwnerByEveryReplica) {
  Replicas replicas;
  ASSERT_TRUE(replicas.ok());
  for (int i = 0; i < 5; ++i) ASSERT_THAT(replicas.Submit(0, fmt::format("job-{}", i), "600"), IsOk());
  const auto count = [&](size_t replica) {
    queue::v1::GetQueueRequest request;
    request.set_name("default");
    grpc::ClientContext context;
    queue::v1::Queue queue;
    const grpc::Status status = replicas.queue(replica).GetQueue(&context, request, &queue);
    return status.ok() ? queue.pod_groups().running() + queue.pod_groups().inqueue() + queue.pod_groups().pending()
                       : -1;
  };
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    EXPECT_TRUE(Eventually([&] { return count(replica) == 5; })) << replica << " " << count(replica);
    queue::v1::ListQueuesRequest request;
    request.set_page_size(1);
    std::string names;
    do {
      grpc::ClientContext context;
      queue::v1::ListQueuesResponse page;
      const grpc::Status status = replicas.queue(replica).ListQueues(&context, request, &page);
      ASSERT_TRUE(status.ok()) << status.error_message();
      for (const queue::v1::Queue& queue : page.queues()) names += queue.object().meta().name() + " ";
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(names, "default root ");
    grpc::ClientContext context;
    queue::v1::GetQueueRequest unknown;
    unknown.set_name("none");
    queue::v1::Queue queue;
    EXPECT_EQ(replicas.queue(replica).GetQueue(&context, unknown, &queue).error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

class PodGroupReadsTest : public ::testing::Test {
 protected:
  // Returns the names of all pod groups, which that replica lists page by page.
  std::vector<std::string> NamesFrom(size_t replica, int page_size) {
    std::vector<std::string> names;
    podgroup::v1::ListPodGroupsRequest request;
    request.set_page_size(page_size);
    do {
      grpc::ClientContext context;
      podgroup::v1::ListPodGroupsResponse page;
      if (!replicas_.pod_groups(replica).ListPodGroups(&context, request, &page).ok()) return {};
      for (const auto& group : page.pod_groups()) names.push_back(group.object().meta().name());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return names;
  }
  // Returns true if that replica's history of each group begins with the group's creation.
  bool KnowsHistories(size_t replica, const std::vector<std::string>& names) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      podgroup::v1::GetPodGroupHistoryRequest request;
      request.set_name(name);
      grpc::ClientContext context;
      podgroup::v1::PodGroupHistory history;
      return replicas_.pod_groups(replica).GetPodGroupHistory(&context, request, &history).ok() &&
             history.entries_size() > 0 &&
             history.entries(0).decision() == podgroup::v1::PodGroupHistoryEntry::DECISION_CREATED;
    });
  }

  Replicas replicas_;
};

TEST_F(PodGroupReadsTest, AnyReplicaTellsAnyGroupAndItsHistoryAlsoOverARestartAndAMove) {
  ASSERT_TRUE(replicas_.ok());
  constexpr size_t kJobs = 12;
  for (size_t i = 0; i < kJobs; ++i) ASSERT_THAT(replicas_.Submit(0, fmt::format("job-{}", i), "600"), IsOk());
  ASSERT_TRUE(Eventually([&] { return NamesFrom(0, 0).size() == kJobs; }));
  const std::vector<std::string> names = NamesFrom(0, 0);
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    for (const int page : {1, 5, 12, 13}) {
      EXPECT_TRUE(Eventually([&] { return NamesFrom(replica, page) == names; })) << replica << " " << page;
    }
    EXPECT_TRUE(Eventually([&] { return KnowsHistories(replica, names); })) << replica;
    podgroup::v1::GetPodGroupRequest request;
    request.set_name(names[0]);
    grpc::ClientContext context;
    podgroup::v1::PodGroup group;
    EXPECT_TRUE(replicas_.pod_groups(replica).GetPodGroup(&context, request, &group).ok());
    EXPECT_EQ(group.object().meta().name(), names[0]);
    request.set_name("none");
    grpc::ClientContext unknown;
    EXPECT_EQ(replicas_.pod_groups(replica).GetPodGroup(&unknown, request, &group).error_code(),
              grpc::StatusCode::NOT_FOUND);
  }
  podgroup::v1::TryGroupingRequest rules;
  rules.add_objects(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u1"}})");
  grpc::ClientContext trying;
  podgroup::v1::TryGroupingResponse tried;
  EXPECT_TRUE(replicas_.pod_groups(1).TryGrouping(&trying, rules, &tried).ok());
  ASSERT_EQ(tried.groups_size(), 1);
  EXPECT_EQ(tried.groups(0).name(), "pg-p-u1");
  replicas_.Stop(kPgsvc, 1);
  replicas_.Start(kPgsvc, 1);
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    EXPECT_TRUE(Eventually([&] { return KnowsHistories(replica, names); })) << replica << " after a restart";
  }
  replicas_.Leave(kPgsvc, 0);
  for (const size_t replica : {1U, 2U}) {
    EXPECT_TRUE(Eventually([&] { return KnowsHistories(replica, names); })) << replica << " after a move";
    EXPECT_TRUE(Eventually([&] { return NamesFrom(replica, 5) == names; })) << replica << " after a move";
  }
}

TEST(ReadsTest, AnyReplicaTellsTheHistoryOfAnyQueue) {
  Replicas replicas;
  ASSERT_TRUE(replicas.ok());
  const auto ask = [&](size_t replica, const std::string& name, queue::v1::QueueHistory& history) {
    queue::v1::GetQueueHistoryRequest request;
    request.set_name(name);
    grpc::ClientContext context;
    return replicas.queue(replica).GetQueueHistory(&context, request, &history).error_code();
  };
  const auto knows_that = [&](size_t replica) {
    queue::v1::QueueHistory history;
    if (ask(replica, "default", history) != grpc::StatusCode::OK) return false;
    return std::any_of(history.entries().begin(), history.entries().end(), [](const auto& entry) {
      return entry.kind() == queue::v1::QueueHistoryEntry::KIND_STATE_CHANGED && entry.to_state() == "Open" &&
             entry.committed() && entry.has_time();
    });
  };
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    EXPECT_TRUE(Eventually([&] { return knows_that(replica); })) << replica;
    queue::v1::QueueHistory history;
    EXPECT_EQ(ask(replica, "none", history), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(ask(replica, "", history), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

}  // namespace
}  // namespace basalt::integration
