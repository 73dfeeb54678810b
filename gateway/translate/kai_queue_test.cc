#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/testing/status_matchers.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;

constexpr char kMeta[] = R"("metadata":{"name":"team","uid":"u","resourceVersion":"7"})";

Decoded Decode(const std::string& rest) {
  absl::StatusOr<Decoded> decoded =
      Decoder(ObjectKind::kKaiQueue)
          .DecodeObject(R"({"apiVersion":"scheduling.run.ai/v2","kind":"Queue",)" + std::string(kMeta) + rest + "}");
  EXPECT_THAT(decoded, IsOk());
  return decoded.ok() ? *std::move(decoded) : Decoded();
}

std::string Text(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& amounts) {
  std::string text;
  for (const kube::v1::KeyValue& pair : amounts) text += pair.key() + "=" + pair.value() + " ";
  return text;
}

TEST(KaiQueueTest, AmountsAreQuantitiesOfTheirUnits) {
  const Decoded decoded = Decode(R"(,"spec":{"displayName":"Team","parentQueue":"all","priority":7,"resources":{
    "gpu":{"quota":0.7,"limit":8,"overQuotaWeight":1},"cpu":{"quota":1500,"limit":-1},
    "memory":{"quota":2000,"limit":1e6}}},
    "status":{"allocated":{"cpu":"500m","memory":"1Gi"},"requested":{"cpu":2}})");
  EXPECT_EQ(decoded.error, "");
  const kube::v1::KaiQueue& queue = decoded.object.kai_queue();
  EXPECT_EQ(queue.meta().name(), "team");
  EXPECT_EQ(queue.parent(), "all");
  EXPECT_EQ(queue.display_name(), "Team");
  EXPECT_EQ(queue.priority(), 7);
  EXPECT_EQ(Text(queue.quota()), "cpu=1500m gpu=700m memory=2G ");
  EXPECT_EQ(Text(queue.limit()), "gpu=8 memory=1T ") << "-1 is none";
  EXPECT_EQ(Text(queue.allocated()), "cpu=500m memory=1Gi ");
  EXPECT_EQ(Text(queue.requested()), "cpu=2 ");
}

TEST(KaiQueueTest, AQueueWithoutSpecHasTheDefaultPriority) {
  const Decoded decoded = Decode("");
  EXPECT_EQ(decoded.error, "");
  EXPECT_EQ(decoded.object.kai_queue().priority(), 100);
}

TEST(KaiQueueTest, AnAmountThatIsNoNumberIsNamedAndLosesNothingElse) {
  const Decoded decoded = Decode(R"(,"spec":{"parentQueue":"all","resources":{"cpu":{"quota":"many","limit":4}}})");
  EXPECT_THAT(decoded.error, HasSubstr("spec.resources.cpu.quota"));
  EXPECT_EQ(decoded.object.kai_queue().parent(), "all");
  EXPECT_EQ(Text(decoded.object.kai_queue().limit()), "cpu=4m ");
}

TEST(KaiQueueTest, AGroupNamesItsQueue) {
  const absl::StatusOr<Decoded> decoded =
      Decoder(ObjectKind::kKaiPodGroup)
          .DecodeObject(
              R"({"spec":{"minMember":1,"subGroups":[{"queue":"no"}],"queue":"te\u0061m","x":{"queue":"no"}},)"
              R"("metadata":{"name":"pg","uid":"u"}})");
  ASSERT_THAT(decoded, IsOk());
  const kube::v1::KaiPodGroup& group = decoded->object.kai_pod_group();
  EXPECT_EQ(group.queue(), "team");
  EXPECT_EQ(group.meta().name(), "pg");
  EXPECT_EQ(group.spec_json(),
            R"({"minMember":1,"subGroups":[{"queue":"no"}],"queue":"te\u0061m","x":{"queue":"no"}})");
}

}  // namespace
}  // namespace basalt::gateway
