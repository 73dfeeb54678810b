#include "gateway/health/unreadable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/json.h"
#include "gateway/kube/fake_kube_access.h"

namespace basalt::gateway {
namespace {

Decoded Group(const std::string& name, const std::string& error) {
  Decoded decoded;
  decoded.error = error;
  kube::v1::ObjectMeta& meta = *decoded.object.mutable_pod_group()->mutable_meta();
  meta.set_name(name);
  meta.set_namespace_("n");
  meta.set_uid("u");
  return decoded;
}

TEST(UnreadableTest, TheFieldOfAnErrorIsOneOfFew) {
  EXPECT_EQ(FieldOf("spec.minMember: 4294967297 is not between 1 and 2"), "spec.minMember");
  EXPECT_EQ(FieldOf("spec.tasks[3].template.x: expected"), "spec.tasks");
  EXPECT_EQ(FieldOf("metadata.labels[a.b/c]: expected a string"), "metadata.labels");
  EXPECT_EQ(FieldOf("spec.minResources.cpu: no quantity"), "spec.minResources");
  EXPECT_EQ(FieldOf("spec: expected an object; status: expected an object"), "spec");
  EXPECT_EQ(FieldOf(""), "object");
}

TEST(UnreadableTest, AnEventTellsTheObjectOnceForEachText) {
  testing::FakeKubeAccess kube;
  auto metrics = obs::MakeMetrics();
  Unreadable unreadable(kube, *metrics);
  unreadable.Note("w", Group("g", ""));
  EXPECT_EQ(kube.writes.size(), 0u);
  for (int i = 0; i < 3; ++i) unreadable.Note("w", Group("g", "spec.minMember: bad"));
  EXPECT_EQ(kube.writes.size(), 1u);
  unreadable.Note("w", Group("g", "spec.minMember: worse"));
  EXPECT_EQ(kube.writes.size(), 2u);
  EXPECT_NE(kube.writes[0].first.name(), kube.writes[1].first.name());
  EXPECT_THAT(metrics->Text(),
              ::testing::HasSubstr(R"(gateway_undecodable_total{field="spec.minMember",watch="w"} 4)"));
}

TEST(UnreadableTest, AnEventThatCannotBeWrittenYetIsWrittenLater) {
  testing::FakeKubeAccess kube;
  auto metrics = obs::MakeMetrics();
  Unreadable unreadable(kube, *metrics);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& [request, done] : kube.writes) all.push_back(request.name());
    return all;
  };
  unreadable.Note("w", Group("g", "spec.minMember: bad"));
  const std::vector<std::string> first = names();
  ASSERT_EQ(first.size(), 1u);
  for (int i = 0; i < 3; ++i) {
    kube.Answer(absl::UnavailableError("this gateway does not lead"));
    EXPECT_THAT(names(), ::testing::IsEmpty()) << "only when it is asked to";
    unreadable.LogWaiting();
    EXPECT_EQ(names(), first);
  }
  kube.Answer(v1::WriteResponse());
  unreadable.LogWaiting();
  EXPECT_THAT(names(), ::testing::IsEmpty());
}

TEST(UnreadableTest, AnObjectThatWasMendedBeforeItsEventHasNone) {
  testing::FakeKubeAccess kube;
  auto metrics = obs::MakeMetrics();
  Unreadable unreadable(kube, *metrics);
  unreadable.Note("w", Group("g", "spec.minMember: bad"));
  kube.Answer(absl::UnavailableError("this gateway does not lead"));
  unreadable.Note("w", Group("g", "spec.minMember: worse"));
  kube.Answer(absl::UnavailableError("this gateway does not lead"));
  unreadable.LogWaiting();
  ASSERT_EQ(kube.writes.size(), 1u) << "the newest text only";
  EXPECT_THAT(kube.writes[0].first.create().body(), ::testing::HasSubstr("worse"));
  kube.Answer(absl::UnavailableError("this gateway does not lead"));
  unreadable.Note("w", Group("g", ""));
  unreadable.LogWaiting();
  EXPECT_EQ(kube.writes.size(), 0u);
}

TEST(UnreadableTest, TheLongestNameAndTextStillMakeAnEvent) {
  testing::FakeKubeAccess kube;
  auto metrics = obs::MakeMetrics();
  Unreadable unreadable(kube, *metrics);
  unreadable.Note("w", Group(std::string(252, 'a') + "b", "spec.minMember: " + std::string(5000, 'x')));
  ASSERT_EQ(kube.writes.size(), 1u);
  EXPECT_LE(kube.writes[0].first.name().size(), 253u);
  const absl::StatusOr<json::value> body = ParseJson(kube.writes[0].first.create().body());
  ASSERT_TRUE(body.ok());
  EXPECT_LE(FindString(*body, "message").size(), 1024u);
}

}  // namespace
}  // namespace basalt::gateway
