#include "services/jobsvc/api/job_page.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::jobsvc {
namespace {

job::v1::ListPartResponse Part(const std::vector<std::string>& names, bool more = false) {
  job::v1::ListPartResponse part;
  for (const std::string& name : names) {
    kube::v1::ObjectMeta& meta = *part.add_jobs()->mutable_object()->mutable_meta();
    meta.set_namespace_("n");
    meta.set_name(name);
  }
  part.set_more(more);
  return part;
}

struct Case {
  std::vector<job::v1::ListPartResponse> parts;
  size_t size;
  std::string names;
  std::string token;
};

TEST(JobPageTest, PartsMakeOneSortedPageAndTheTokenIsItsLastKey) {
  const Case cases[] = {
      {{}, 3, "", ""},
      {{Part({}), Part({})}, 3, "", ""},
      {{Part({"a", "d"}), Part({"b"})}, 3, "abd", ""},
      {{Part({"a", "d"}), Part({"b", "c"})}, 3, "abc", "n/c"},
      {{Part({"a", "b"}, true), Part({"c"})}, 2, "ab", "n/b"},
      {{Part({"b", "c"}, true), Part({"a"})}, 2, "ab", "n/b"},
      {{Part({"a", "b"}, true), Part({})}, 2, "ab", "n/b"},
  };
  for (const Case& c : cases) {
    const job::v1::ListJobsResponse page = ToPage(MergeParts(c.parts, c.size));
    std::string names;
    for (const job::v1::Job& job : page.jobs()) names += job.object().meta().name();
    EXPECT_EQ(names, c.names);
    EXPECT_EQ(page.next_page_token(), c.token) << c.names;
  }
}

TEST(JobPageTest, TheSizeOfAPageIsBounded) {
  for (const auto& [asked, size] : {std::pair(-1, 500), std::pair(0, 500), std::pair(7, 7), std::pair(5000, 1000)}) {
    job::v1::ListJobsRequest request;
    request.set_page_size(asked);
    EXPECT_EQ(PageSizeOf(request), static_cast<size_t>(size));
  }
}

}  // namespace
}  // namespace basalt::jobsvc
