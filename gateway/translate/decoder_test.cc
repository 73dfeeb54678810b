#include "gateway/translate/decoder.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/translate/sample_pod.h"

namespace basalt::gateway {
namespace {

TEST(WatchLineTest, TellsTheTypeAndTheVersion) {
  Decoder decoder(ObjectKind::kPod);
  const std::pair<std::string_view, WatchType> types[] = {
      {"ADDED", WatchType::kAdded}, {"MODIFIED", WatchType::kModified}, {"DELETED", WatchType::kDeleted}};
  for (const auto& [name, type] : types) {
    const absl::StatusOr<WatchEvent> event =
        decoder.DecodeWatchLine(R"({"type":")" + std::string(name) + R"(","object":)" + std::string(kSamplePod) + "}");
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(event->resource_version, 48151623);
    EXPECT_EQ(event->decoded.object.pod().name(), "train-worker-17");
    EXPECT_EQ(event->decoded.error, "");
  }
}

TEST(WatchLineTest, MembersMayComeInAnyOrder) {
  Decoder decoder(ObjectKind::kPriorityClass);
  const absl::StatusOr<WatchEvent> event = decoder.DecodeWatchLine(
      R"({"object":{"value":7,"metadata":{"uid":"u","name":"high","resourceVersion":"5"}},"type":"ADDED"})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->decoded.object.priority_class().value(), 7);
  EXPECT_EQ(event->decoded.object.priority_class().meta().name(), "high");
}

TEST(WatchLineTest, ABookmarkCarriesItsVersionAndTheEndOfTheInitialEvents) {
  Decoder decoder(ObjectKind::kPod);
  absl::StatusOr<WatchEvent> event = decoder.DecodeWatchLine(
      R"({"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12746",)"
      R"("creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, WatchType::kBookmark);
  EXPECT_EQ(event->resource_version, 12746);
  EXPECT_TRUE(event->initial_events_end);
  event = decoder.DecodeWatchLine(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"3"}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_FALSE(event->initial_events_end);
}

// The line of the bookmark is longer, so the memory of the line before is gone: a sanitizer reports a read of it.
TEST(WatchLineTest, ABookmarkIsReadWithoutTheLineBefore) {
  Decoder decoder(ObjectKind::kPod);
  ASSERT_TRUE(decoder
                  .DecodeWatchLine(R"({"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod",)"
                                   R"("metadata":{"name":"p","uid":"u","resourceVersion":"1"}}})")
                  .ok());
  const auto event =
      decoder.DecodeWatchLine(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"},"x":")" +
                              std::string(100'000, 'x') + R"("}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->resource_version, 2);
}

TEST(WatchLineTest, AnErrorCarriesTheStatus) {
  Decoder decoder(ObjectKind::kJob);
  const absl::StatusOr<WatchEvent> event = decoder.DecodeWatchLine(
      R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"too old resource version: 1","reason":"Expired","code":410
}
})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, WatchType::kError);
  EXPECT_EQ(event->error.code(), 410);
  EXPECT_EQ(event->error.reason(), "Expired");
}

TEST(WatchLineTest, RefusesWhatIsNoWatchLine) {
  Decoder decoder(ObjectKind::kPod);
  for (const std::string_view line :
       {"", " ", "null", "5", "[]", "{}", "{", R"({"type":"ADDED"})", R"({"type":"ADDED","object":null})",
        R"({"type":"ADDED","object":[]})", R"({"type":"OTHER","object":{}})", R"({"type":5,"object":{}})",
        R"({"type":"ADDED","object":{}})", R"({"type":"ADDED","object":{"metadata":{"name":5}}})",
        R"({"type":"ADDED","object":{"metadata":{"name":"x")"}) {
    EXPECT_EQ(decoder.DecodeWatchLine(line).status().code(), absl::StatusCode::kInvalidArgument) << line;
  }
  // The decoder goes on with the next line.
  EXPECT_TRUE(decoder.DecodeWatchLine(R"({"type":"ADDED","object":{"metadata":{"name":"x","uid":"u"}}})").ok());
}

TEST(ListTest, ReadsItemsVersionAndContinueToken) {
  Decoder decoder(ObjectKind::kQueue);
  const absl::StatusOr<DecodedList> list =
      decoder.DecodeList(R"({"kind":"QueueList","metadata":{"continue":"abc","resourceVersion":"77"},"items":[)"
                         R"({"metadata":{"name":"a","uid":"1","resourceVersion":"5"}},)"
                         R"({"metadata":{"name":"b","uid":"2","resourceVersion":"6"},"spec":{"weight":"heavy"}}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->resource_version, 77);
  EXPECT_EQ(list->continue_token, "abc");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[0].object.queue().meta().name(), "a");
  EXPECT_EQ(list->items[0].error, "");
  EXPECT_EQ(list->items[1].object.queue().meta().name(), "b");
  EXPECT_EQ(list->items[1].error, "spec.weight: expected a number, found a string");
}

TEST(ListTest, AnEmptyListMayHaveNullItems) {
  Decoder decoder(ObjectKind::kQueue);
  const absl::StatusOr<DecodedList> list = decoder.DecodeList(R"({"metadata":{"resourceVersion":"1"},"items":null})");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->items.empty());
}

TEST(ListTest, RefusesWhatIsNoList) {
  Decoder decoder(ObjectKind::kQueue);
  for (const std::string_view text : {"", "{}", "[]", R"({"items":[5]})", R"({"items":[{"metadata":{}}]})",
                                      R"({"items":[{)", R"({"metadata":{"resourceVersion":"x"},"items":[]})",
                                      R"({"metadata":{"resourceVersion":"99999999999999999999999"},"items":[]})"}) {
    EXPECT_EQ(decoder.DecodeList(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_NE(decoder.DecodeList(R"({"items":[{"metadata":{}}]})").status().message().find("items[0]"),
            absl::string_view::npos);
}

TEST(GenericTest, CarriesItsJsonOnlyWhereAsked) {
  const std::string text =
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n","uid":"u","resourceVersion":"3",)"
      R"("finalizers":["a"],"deletionTimestamp":"2026-01-02T15:04:05Z","deletionGracePeriodSeconds":0},"data":{}})";
  const absl::StatusOr<Decoded> kept = Decoder(ObjectKind::kGeneric, Decoder::Json::kKeep).DecodeObject(text);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->object.generic().json(), text);
  EXPECT_EQ(kept->object.generic().kind(), "Secret");
  EXPECT_EQ(kept->object.generic().api_version(), "v1");
  EXPECT_EQ(kept->object.generic().meta().deletion_ms(), 1767366245000);
  EXPECT_EQ(kept->deletion_grace_seconds, 0);
  EXPECT_TRUE(kept->finalizers);
  const absl::StatusOr<Decoded> bare = Decoder(ObjectKind::kGeneric).DecodeObject(text);
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_EQ(bare->object.generic().json(), "");
}

TEST(GenericTest, AStatusIsToldFromAnObject) {
  const absl::StatusOr<Decoded> decoded =
      Decoder(ObjectKind::kPod)
          .DecodeObject(
              R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"x","uid":"u"}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(decoded->is_status);
}

TEST(StatusErrorTest, ReadsTheStatus) {
  const v1::KubeError error = DecodeStatusError(
      422, R"({"kind":"Status","status":"Failure","message":"it is invalid","reason":"Invalid","code":422,)"
           R"("details":{"name":"x","causes":[{"reason":"FieldValueInvalid","message":"m","field":"spec.a"},)"
           R"({"field":"spec.b"}],"retryAfterSeconds":3}})");
  EXPECT_EQ(error.code(), 422);
  EXPECT_EQ(error.reason(), "Invalid");
  EXPECT_EQ(error.message(), "it is invalid");
  EXPECT_EQ(error.retry_after_ms(), 3000);
  ASSERT_EQ(error.fields_size(), 2);
  EXPECT_EQ(error.fields(1), "spec.b");
}

TEST(StatusErrorTest, FallsBackToTheStatusLine) {
  const v1::KubeError page = DecodeStatusError(503, "<html>\xff\nno</html>");
  EXPECT_EQ(page.code(), 503);
  EXPECT_EQ(page.reason(), "ServiceUnavailable");
  EXPECT_EQ(page.message(), "HTTP 503: <html>  no</html>");
  EXPECT_EQ(DecodeStatusError(409, "").reason(), "Conflict");
  EXPECT_EQ(DecodeStatusError(418, "5").reason(), "Unknown");
  EXPECT_EQ(DecodeStatusError(404, R"({"reason":7,"message":null})").reason(), "NotFound");
}

TEST(KindOfTest, NamesTheProjectedResources) {
  EXPECT_EQ(KindOf("", "pods"), ObjectKind::kPod);
  EXPECT_EQ(KindOf("batch.volcano.sh", "jobs"), ObjectKind::kJob);
  EXPECT_EQ(KindOf("batch", "jobs"), ObjectKind::kGeneric);
  EXPECT_EQ(KindOf("scheduling.volcano.sh", "podgroups"), ObjectKind::kPodGroup);
  EXPECT_EQ(KindOf("scheduling.volcano.sh", "queues"), ObjectKind::kQueue);
  EXPECT_EQ(KindOf("bus.volcano.sh", "commands"), ObjectKind::kCommand);
  EXPECT_EQ(KindOf("scheduling.k8s.io", "priorityclasses"), ObjectKind::kPriorityClass);
  EXPECT_EQ(KindOf("", "secrets"), ObjectKind::kGeneric);
}

}  // namespace
}  // namespace basalt::gateway
