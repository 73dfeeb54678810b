#include "services/pgsvc/control/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/random.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ExplanationTest, FieldsThatTheGroupKeepsAgainstTheRulesAreNamed) {
  const struct {
    const char* is;
    const char* rules;
    std::vector<std::string> changing;
    std::string expected;
  } rows[] = {
      {R"({"queue":"a","priorityClassName":"p"})", R"({"queue":"a","priorityClassName":"p"})", {}, ""},
      {R"({"queue":"a"})",
       R"({"queue":"b"})",
       {},
       "the queue of the group is a and stays so, though the rules say b by now: it was fixed when the group was made"},
      {R"({"queue":"a"})", R"({"queue":"b"})", {"queue"}, ""},
      {R"({"priorityClassName":"p"})",
       "{}",
       {},
       "the priority class of the group is p and stays so: neither the pods nor their owners name one any more"},
      {R"({"queue":"default"})", "{}", {}, ""},
      {"{}", R"({"queue":"b"})", {}, ""},
  };
  for (const auto& row : rows) {
    const std::vector<std::string> kept =
        KeptFields(*ParseJson(row.is), ParseJson(row.rules)->as_object(), row.changing);
    EXPECT_EQ(kept, row.expected.empty() ? std::vector<std::string>() : std::vector<std::string>{row.expected})
        << row.is << row.rules;
  }
}

TEST(ExplanationTest, ADeletionAndARefusalAreNamedWithTheCureForAMissingRight) {
  Retry retry;
  EXPECT_THAT(ObstaclesOf(nullptr, "", retry), IsEmpty());
  kube::v1::ObjectMeta meta;
  meta.set_deletion_ms(1'000);
  EXPECT_THAT(
      ObstaclesOf(&meta, "", retry),
      ElementsAre("the group is being deleted since 1970-01-01T00:00:01Z: another one is made once it is gone"));
  SeededRandom random(1);
  retry.Fail(absl::FromUnixSeconds(2), random);
  EXPECT_THAT(ObstaclesOf(nullptr, "no quota", retry),
              ElementsAre("the API server refuses to have the group written: no quota; since 1970-01-01T00:00:02Z"));
  EXPECT_THAT(
      ObstaclesOf(nullptr, "an ownerReference refers to a resource you can't set finalizers on: , <nil>", retry),
      ElementsAre(HasSubstr("deploy/rbac/owner-references gives the right")));
}

}  // namespace
}  // namespace basalt::pgsvc
