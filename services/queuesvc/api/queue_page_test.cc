#include "services/queuesvc/api/queue_page.h"

#include <gtest/gtest.h>

#include <string>

#include "common/testing/status_matchers.h"

namespace basalt::queuesvc {
namespace {

std::vector<queue::v1::Queue> Queues(const std::vector<std::string>& names) {
  std::vector<queue::v1::Queue> all;
  for (const std::string& name : names) all.emplace_back().mutable_object()->mutable_meta()->set_name(name);
  return all;
}

std::string Names(const queue::v1::ListQueuesResponse& page) {
  std::string names;
  for (const queue::v1::Queue& queue : page.queues()) names += queue.object().meta().name();
  return names;
}

TEST(QueuePageTest, AllOnOnePageAreSortedAndHaveNoToken) {
  const auto page = PageOfQueues(Queues({"c", "a", "b"}), {});
  ASSERT_THAT(page, testing::IsOk());
  EXPECT_EQ(Names(*page), "abc");
  EXPECT_EQ(page->next_page_token(), "");
}

TEST(QueuePageTest, PagesFollowEachOtherToTheEnd) {
  queue::v1::ListQueuesRequest request;
  request.set_page_size(2);
  std::string seen;
  for (int pages = 0; pages < 3; ++pages) {
    const auto page = PageOfQueues(Queues({"e", "d", "c", "b", "a"}), request);
    ASSERT_THAT(page, testing::IsOk());
    seen += Names(*page) + "|";
    request.set_page_token(page->next_page_token());
  }
  EXPECT_EQ(seen, "ab|cd|e|");
  EXPECT_EQ(request.page_token(), "");
}

TEST(QueuePageTest, AFullLastPageHasNoToken) {
  queue::v1::ListQueuesRequest request;
  request.set_page_size(2);
  EXPECT_EQ(PageOfQueues(Queues({"a", "b"}), request)->next_page_token(), "");
}

TEST(QueuePageTest, QueuesThatGoBetweenPagesHideNoOther) {
  queue::v1::ListQueuesRequest request;
  request.set_page_size(2);
  request.set_page_token("b");
  EXPECT_EQ(Names(*PageOfQueues(Queues({"c", "d"}), request)), "cd") << "a and b are gone by now";
}

TEST(QueuePageTest, ANegativePageSizeIsRefused) {
  queue::v1::ListQueuesRequest request;
  request.set_page_size(-1);
  EXPECT_THAT(PageOfQueues({}, request), testing::StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace basalt::queuesvc
