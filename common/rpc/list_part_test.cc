#include "common/rpc/list_part.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "basalt/job/v1/job_part.pb.h"

namespace basalt::rpc {
namespace {

struct Jobs {
  using Item = job::v1::Job;
  using Page = job::v1::ListJobsResponse;
  using Part = job::v1::ListPartResponse;
  static auto& Items(Part& part) { return *part.mutable_jobs(); }
  static auto& Items(Page& page) { return *page.mutable_jobs(); }
  static const std::string& KeyOf(const Item& job) { return job.object().meta().name(); }
};

void Add(const std::string& name, Jobs::Part& part) {
  part.add_jobs()->mutable_object()->mutable_meta()->set_name(name);
}

Jobs::Part Part(const std::vector<std::string>& names, bool more = false) {
  Jobs::Part part;
  for (const std::string& name : names) Add(name, part);
  part.set_more(more);
  return part;
}

template <typename Message>
std::string NamesOf(const Message& message) {
  std::string names;
  for (const job::v1::Job& job : message.jobs()) names += job.object().meta().name();
  return names;
}

TEST(ListPartTest, PartsMakeOneSortedPageAndTheTokenIsItsLastKey) {
  struct Case {
    std::vector<Jobs::Part> parts;
    size_t size;
    std::string names;
    std::string token;
  };
  const Case cases[] = {
      {{}, 3, "", ""},
      {{Part({}), Part({})}, 3, "", ""},
      {{Part({"a", "d"}), Part({"b"})}, 3, "abd", ""},
      {{Part({"a", "d"}), Part({"b", "c"})}, 3, "abc", "c"},
      {{Part({"a", "b"}, true), Part({"c"})}, 2, "ab", "b"},
      {{Part({"b", "c"}, true), Part({"a"})}, 2, "ab", "b"},
      {{Part({"a", "b"}, true), Part({})}, 2, "ab", "b"},
  };
  for (const Case& c : cases) {
    const Jobs::Page page = ToPage<Jobs>(MergeParts<Jobs>(c.parts, c.size));
    EXPECT_EQ(NamesOf(page), c.names);
    EXPECT_EQ(page.next_page_token(), c.token) << c.names;
  }
}

TEST(ListPartTest, AWorkersPartIsWhatComesAfterTheTokenAndSaysWhetherThereIsMore) {
  struct Case {
    std::string token;
    size_t size;
    std::string unwanted;
    std::string names;
    bool more;
  };
  const Case cases[] = {{"", 9, "", "abcd", false}, {"", 4, "", "abcd", false}, {"", 3, "", "abc", true},
                        {"b", 1, "", "c", true},    {"b", 2, "", "cd", false},  {"d", 2, "", "", false},
                        {"", 2, "b", "ac", true},   {"", 3, "d", "abc", false}, {"bb", 2, "", "cd", false},
                        {"", 2, "cd", "ab", false}, {"", 1, "abcd", "", false}};
  std::map<std::string, std::unique_ptr<int>, std::less<>> entries;
  for (const char* key : {"a", "b", "c", "d"}) entries[key] = std::make_unique<int>(1);
  for (const Case& c : cases) {
    const Jobs::Part part =
        MakePart<Jobs>(entries, c.token, c.size, [&](const std::string& key, int, Jobs::Part& listed) {
          if (c.unwanted.find(key) == std::string::npos) Add(key, listed);
        });
    EXPECT_EQ(NamesOf(part), c.names) << c.token << c.size << c.unwanted;
    EXPECT_EQ(part.more(), c.more) << c.token << c.size << c.unwanted;
  }
}

TEST(ListPartTest, TheSizeOfAPageIsBounded) {
  for (const auto& [asked, size] : {std::pair(-1, 500), std::pair(0, 500), std::pair(7, 7), std::pair(5000, 1000)}) {
    EXPECT_EQ(PageSizeOf(asked), static_cast<size_t>(size));
  }
}

}  // namespace
}  // namespace basalt::rpc
