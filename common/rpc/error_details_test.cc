#include "common/rpc/error_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"

namespace basalt::rpc {
namespace {

using ::testing::HasSubstr;

TEST(ErrorDetailsTest, EachFieldIsALineAndADetail) {
  const absl::Status status = InvalidFields({{"spec.queue", "spec.queue is required"}, {"a", "a: is odd"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ToStd(status.message()), "spec.queue is required\na: is odd");
  const auto details = BadRequestOf(status);
  ASSERT_TRUE(details.has_value());
  ASSERT_EQ(details->field_violations_size(), 2);
  EXPECT_EQ(details->field_violations(0).field(), "spec.queue");
  EXPECT_EQ(details->field_violations(1).description(), "a: is odd");
}

TEST(ErrorDetailsTest, OneFieldIsNamedBeforeItsRule) {
  const absl::Status status = InvalidField("page_size", "must not be negative");
  EXPECT_EQ(ToStd(status.message()), "page_size: must not be negative");
  EXPECT_EQ(BadRequestOf(status)->field_violations(0).field(), "page_size");
}

TEST(ErrorDetailsTest, TwentyFieldsAreReportedAndTheRestIsCounted) {
  std::vector<FieldViolation> many(25, {"f", "f: is wrong"});
  const absl::Status status = InvalidFields(many);
  EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr("\n(and 5 more)"));
  EXPECT_EQ(BadRequestOf(status)->field_violations_size(), 20);
  many.resize(20);
  EXPECT_EQ(ToStd(InvalidFields(many).message()).find("more)"), std::string_view::npos);
}

TEST(ErrorDetailsTest, AResourceIsNamedByPluralAndGroup) {
  struct Case {
    kube::Kind kind;
    const char* type;
  };
  for (const Case& c : {Case{kube::kJobs, "jobs.batch.volcano.sh"}, Case{kube::kPods, "pods"}}) {
    const absl::Status status = WithResource(MakeStatus(absl::StatusCode::kNotFound, "gone"), c.kind, "ns/j");
    EXPECT_EQ(ResourceInfoOf(status)->resource_type(), c.type);
    EXPECT_EQ(ResourceInfoOf(status)->resource_name(), "ns/j");
  }
  EXPECT_TRUE(WithResource(absl::OkStatus(), kube::kJobs, "ns/j").ok());
}

TEST(ErrorDetailsTest, DetailsSurviveTheWayThereAndBack) {
  const absl::Status sent = WithResource(InvalidField("name", "is required"), kube::kQueues, "q");
  absl::Status read = MakeStatus(sent.code(), ToStd(sent.message()));
  ParseDetails(SerializeDetails(sent, 2000), read);
  EXPECT_EQ(read, sent);
}

TEST(ErrorDetailsTest, NothingIsSentOfAStatusWithoutDetailsAndNothingIsReadOfWhatIsNone) {
  EXPECT_EQ(SerializeDetails(Invalid("no"), 2000), "");
  absl::Status status = Invalid("no");
  for (const char* text : {"", "\xff\xff", "no status"}) ParseDetails(text, status);
  EXPECT_EQ(status, Invalid("no"));
}

// Holds for any contents and any number of violations.
TEST(ErrorDetailsTest, DetailsWithoutRoomAreLeftOut) {
  const std::string sentence(300, 'x');
  const absl::Status status =
      WithResource(InvalidFields(std::vector<FieldViolation>(20, {"f", sentence})), kube::kJobs, "ns/j");
  for (const size_t max_bytes : {0u, 10u, 100u, 500u, 2000u, 10'000u}) {
    const std::string sent = SerializeDetails(status, max_bytes);
    EXPECT_LE(sent.size(), max_bytes);
    absl::Status read = Invalid("no");
    ParseDetails(sent, read);
    const auto details = BadRequestOf(read);
    const int kept = details.has_value() ? details->field_violations_size() : 0;
    EXPECT_GE(kept, max_bytes < 500 ? 0 : max_bytes < 10'000 ? 1 : 20) << max_bytes;
  }
}

}  // namespace
}  // namespace basalt::rpc
