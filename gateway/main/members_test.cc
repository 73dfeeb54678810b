#include "gateway/main/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(MembersTest, CountsStandByService) {
  EXPECT_THAT(ParseMembers({"queuesvc=1", "jobsvc=3", "pgsvc=1024"}).value(),
              ElementsAre(Pair(v1::SERVICE_KIND_JOB, 3), Pair(v1::SERVICE_KIND_POD_GROUP, 1024),
                          Pair(v1::SERVICE_KIND_QUEUE, 1)));
  EXPECT_THAT(ParseMembers({"jobsvc=2"}).value(), ElementsAre(Pair(v1::SERVICE_KIND_JOB, 2)));
  EXPECT_THAT(ParseMembers({}).value(), ::testing::IsEmpty());
}

TEST(MembersTest, AnErrorNamesFlagValueAndRule) {
  struct Row {
    std::vector<std::string> values;
    const char* words;
  };
  const Row rows[] = {
      {{""}, "'' has no count"},
      {{"jobsvc"}, "'jobsvc' has no count"},
      {{"3"}, "'3' has no count"},
      {{"=3"}, "'=3' is of no service"},
      {{"jobs=3"}, "'jobs=3' is of no service"},
      {{"gateway=2"}, "'gateway=2' is of no service"},
      {{"Jobsvc=3"}, "'Jobsvc=3' is of no service"},
      {{"jobsvc=3", " pgsvc=3"}, "' pgsvc=3' is of no service"},
      {{"jobsvc="}, "'jobsvc=' is no number of replicas between 1 and 1024"},
      {{"jobsvc=0"}, "'jobsvc=0' is no number of replicas between 1 and 1024"},
      {{"jobsvc=-1"}, "'jobsvc=-1' is no number of replicas"},
      {{"jobsvc=1025"}, "'jobsvc=1025' is no number of replicas"},
      {{"jobsvc=99999999999"}, "is no number of replicas"},
      {{"jobsvc=3 "}, "'jobsvc=3 ' is no number of replicas"},
      {{"jobsvc=three"}, "'jobsvc=three' is no number of replicas"},
      {{"jobsvc=3", "jobsvc=3"}, "'jobsvc=3' names its service once more"},
  };
  for (const Row& row : rows) {
    const auto counts = ParseMembers(row.values);
    EXPECT_EQ(counts.status().code(), absl::StatusCode::kInvalidArgument) << row.words;
    EXPECT_THAT(std::string(counts.status().message()), HasSubstr(row.words));
    EXPECT_THAT(std::string(counts.status().message()), ::testing::StartsWith("--members: "));
    EXPECT_THAT(std::string(counts.status().message()), HasSubstr("it takes jobsvc=COUNT,"));
  }
}

}  // namespace
}  // namespace basalt::gateway
