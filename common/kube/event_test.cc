#include "common/kube/event.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/json.h"

namespace basalt::kube {
namespace {

Event SampleEvent() {
  return {.api_version = "batch.volcano.sh/v1alpha1",
          .kind = "Job",
          .ns = "team",
          .name = "train",
          .uid = "u1",
          .resource_version = 7,
          .warning = true,
          .reason = "PodFailed",
          .message = "exit code 3",
          .component = "vc-controller-manager"};
}

json::value BodyAsJson(const Event& event) {
  const absl::StatusOr<json::value> body = ParseJson(BodyOf(event, 1'767'366'245'999));
  EXPECT_TRUE(body.ok()) << body.status();
  return body.value_or(json::value());
}

TEST(EventTest, SaysWhomWhatAndWhen) {
  EXPECT_EQ(BodyAsJson(SampleEvent()), *ParseJson(R"({
    "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "team", "name": ")" +
                                                  NameOf(SampleEvent()) + R"("},
    "involvedObject": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "namespace": "team", "name": "train",
                       "uid": "u1", "resourceVersion": "7"},
    "reason": "PodFailed", "message": "exit code 3", "type": "Warning",
    "source": {"component": "vc-controller-manager"},
    "firstTimestamp": "2026-01-02T15:04:05Z", "lastTimestamp": "2026-01-02T15:04:05Z", "count": 1})"));
}

TEST(EventTest, AnObjectWithoutANamespaceHasItsEventInDefault) {
  Event queue = SampleEvent();
  queue.ns = "";
  queue.resource_version = 0;
  const json::value body = BodyAsJson(queue);
  EXPECT_EQ(body.at("metadata").at("namespace"), "default");
  EXPECT_FALSE(body.at("involvedObject").as_object().contains("namespace"));
  EXPECT_FALSE(body.at("involvedObject").as_object().contains("resourceVersion"));
}

TEST(EventTest, AnotherTextOrObjectIsAnotherEvent) {
  Event other = SampleEvent();
  EXPECT_EQ(NameOf(other), NameOf(SampleEvent()));
  other.resource_version = 8;
  EXPECT_EQ(NameOf(other), NameOf(SampleEvent()));
  other.message = "exit code 4";
  EXPECT_NE(NameOf(other), NameOf(SampleEvent()));
  other = SampleEvent();
  other.uid = "u2";
  EXPECT_NE(NameOf(other), NameOf(SampleEvent()));
  other = SampleEvent();
  other.reason = "PodEvicted";
  EXPECT_NE(NameOf(other), NameOf(SampleEvent()));
}

TEST(EventTest, TheLongestNameAndTextAreStillAccepted) {
  Event event = SampleEvent();
  const std::string name = std::string(235, 'a') + ".b" + std::string(16, 'c');
  event.name = name;
  EXPECT_EQ(NameOf(event), std::string(235, 'a') + "." + KeyOf(event));
  const std::string message = std::string(1023, 'x') + "…and more";
  event.message = message;
  EXPECT_EQ(BodyAsJson(event).at("message").as_string(), std::string(1023, 'x'));
}

}  // namespace
}  // namespace basalt::kube
