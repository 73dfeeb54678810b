#include "common/runtime/events/object_events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "common/base/json.h"
#include "common/runtime/testing/scripted_context.h"

namespace basalt::runtime {
namespace {

using testing::Done;
using testing::Refused;

// The request about the Event that is under way. Existing: the create before it found that an Event has the name.
enum class Stage { kNone, kCreate, kGetExisting, kPatchExisting, kGet, kPatch };

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kInterval = absl::Minutes(5);

kube::Event Failure(const std::string& message = "the queue is closed") {
  return {.api_version = "v1",
          .kind = "Pod",
          .ns = "team",
          .name = "web-1",
          .uid = "uid-1",
          .warning = true,
          .reason = "PodGroupError",
          .message = message,
          .component = "test"};
}

// "create", "get", "patch COUNT" or "" for nothing.
std::string TextOf(const EventRequest& request) {
  if (const auto* const get = std::get_if<gateway::v1::GetRequest>(&request)) {
    EXPECT_EQ(get->resource().plural(), "events");
    EXPECT_EQ(get->namespace_() + "/" + get->name(), "team/" + kube::NameOf(Failure()));
    return "get";
  }
  const auto* const write = std::get_if<gateway::v1::WriteRequest>(&request);
  if (write == nullptr) return "";
  EXPECT_EQ(write->namespace_() + "/" + write->name(), "team/" + kube::NameOf(Failure()));
  if (write->has_create()) return "create";
  EXPECT_EQ(write->patch().uid(), "event-uid");
  EXPECT_EQ(write->patch().resource_version(), 7);
  return fmt::format("patch {}", FindInt(*ParseJson(write->patch().body()), "count"));
}

absl::StatusOr<gateway::v1::GetResponse> Found(const std::string& json) {
  gateway::v1::GetResponse response;
  kube::v1::GenericObject& event = *response.mutable_object()->mutable_generic();
  event.mutable_meta()->set_uid("event-uid");
  event.mutable_meta()->set_resource_version(7);
  event.set_json(json);
  return response;
}

absl::StatusOr<gateway::v1::GetResponse> NotRead(int code) {
  gateway::v1::GetResponse response;
  response.mutable_error()->set_code(code);
  return response;
}

// Returns a series at that stage. Those that were read before have two records.
ObjectEvents After(Stage stage) {
  ObjectEvents events;
  events.Record(Failure(), kStart, kInterval);
  if (stage == Stage::kCreate) return events;
  const bool existing = stage == Stage::kGetExisting || stage == Stage::kPatchExisting;
  events.OnWritten(Failure(), existing ? Refused(409, "AlreadyExists") : Done(), kStart);
  if (stage == Stage::kNone) return events;
  if (!existing) events.Record(Failure(), kStart + kInterval, kInterval);
  if (stage == Stage::kPatch || stage == Stage::kPatchExisting) {
    events.OnRead(Failure(), Found(R"({"count":1})"), kStart + kInterval);
  }
  return events;
}

int CountIn(const ObjectEvents& events) { return events.series().empty() ? 0 : events.series().front().count; }

TEST(ObjectEventsTest, AnEventIsCreatedOnceAndThenCountedOnceAnInterval) {
  const struct {
    Stage before;
    absl::Duration later;  // Time since the series began.
    std::string expected;
    int count;
  } rows[] = {
      {Stage::kNone, absl::Minutes(4), "", 2},
      {Stage::kNone, absl::Minutes(5), "get", 2},
      {Stage::kNone, absl::Minutes(59), "get", 2},
      {Stage::kNone, absl::Hours(1), "create", 1},  // The API server has forgotten the Event.
      // The API server's clock was set back.
      {Stage::kNone, -absl::Minutes(4), "", 2},
      {Stage::kNone, -absl::Minutes(6), "get", 2},
      {Stage::kNone, -absl::Hours(2), "create", 1},
      // One request at a time.
      {Stage::kCreate, absl::Minutes(10), "", 2},
      {Stage::kCreate, absl::Hours(2), "", 2},
      {Stage::kGetExisting, absl::Minutes(10), "", 2},
      {Stage::kPatchExisting, absl::Minutes(10), "", 3},
      {Stage::kGet, absl::Minutes(10), "", 3},
      {Stage::kPatch, absl::Minutes(10), "", 3},
  };
  EXPECT_EQ(TextOf(ObjectEvents().Record(Failure(), kStart, kInterval)), "create");
  for (const auto& row : rows) {
    ObjectEvents events = After(row.before);
    EXPECT_EQ(TextOf(events.Record(Failure(), kStart + row.later, kInterval)), row.expected)
        << static_cast<int>(row.before) << " " << row.later;
    EXPECT_EQ(CountIn(events), row.count) << static_cast<int>(row.before) << " " << row.later;
  }
}

TEST(ObjectEventsTest, TheOutcomeOfAWriteDecidesWhatComesNext) {
  const WriteOutcome unknown{.kind = WriteOutcome::Kind::kUnknown};
  const WriteOutcome not_sent{.kind = WriteOutcome::Kind::kNotSent};
  const struct {
    Stage before;
    WriteOutcome outcome;
    std::string expected;
    int count;  // 0 if the series is forgotten.
  } rows[] = {
      {Stage::kCreate, Done(), "", 1},
      {Stage::kCreate, Refused(409, "AlreadyExists"), "get", 1},
      {Stage::kCreate, Refused(409, "Conflict"), "", 1},  // A conflict of a quota: the name is free.
      {Stage::kCreate, Refused(403, "Forbidden"), "", 1},
      {Stage::kCreate, Refused(404, "NotFound"), "", 1},  // The namespace is gone.
      {Stage::kCreate, unknown, "", 1},
      {Stage::kCreate, not_sent, "", 1},
      {Stage::kPatch, Done(), "", 2},
      {Stage::kPatch, Refused(404, "NotFound"), "create", 1},
      {Stage::kPatch, Refused(409, "Conflict"), "", 2},
      {Stage::kPatch, unknown, "", 2},
      {Stage::kPatch, not_sent, "", 2},
      {Stage::kPatchExisting, Done(), "", 2},
      {Stage::kPatchExisting, Refused(404, "NotFound"), "", 0},  // No circle: the next record creates the Event.
      // No write is under way.
      {Stage::kNone, Refused(409, "AlreadyExists"), "", 1},
      {Stage::kGet, Refused(409, "AlreadyExists"), "", 2},
      {Stage::kGet, Refused(404, "NotFound"), "", 2},
  };
  for (const auto& row : rows) {
    ObjectEvents events = After(row.before);
    const std::string what = fmt::format("{} {} {}", static_cast<int>(row.before), static_cast<int>(row.outcome.kind),
                                         row.outcome.error.reason());
    EXPECT_EQ(TextOf(events.OnWritten(Failure(), row.outcome, kStart + kInterval)), row.expected) << what;
    EXPECT_EQ(CountIn(events), row.count) << what;
  }
}

TEST(ObjectEventsTest, AReadDecidesHowTheSeriesGoesOn) {
  const struct {
    Stage before;
    absl::StatusOr<gateway::v1::GetResponse> answer;
    std::string expected;
    int count;  // 0 if the series is forgotten.
  } rows[] = {
      {Stage::kGet, Found(R"({"count":1})"), "patch 2", 2},
      {Stage::kGet, Found(R"({"count":8})"), "patch 9", 9},  // A count never goes back.
      {Stage::kGet, NotRead(404), "create", 1},
      {Stage::kGet, NotRead(403), "", 2},
      {Stage::kGet, absl::UnavailableError("away"), "", 2},
      {Stage::kGetExisting, Found(R"({"count":8})"), "patch 9", 9},
      {Stage::kGetExisting, Found("{}"), "patch 2", 2},
      {Stage::kGetExisting, Found("no JSON"), "patch 2", 2},
      {Stage::kGetExisting, Found(R"({"count":-5})"), "patch 2", 2},
      {Stage::kGetExisting, Found(R"({"count":2147483647})"), "patch 2147483647", std::numeric_limits<int32_t>::max()},
      {Stage::kGetExisting, NotRead(404), "", 0},
      {Stage::kGetExisting, NotRead(403), "", 1},
      {Stage::kGetExisting, absl::UnavailableError("away"), "", 1},
      // No read is under way.
      {Stage::kNone, NotRead(404), "", 1},
      {Stage::kCreate, Found(R"({"count":8})"), "", 1},
      {Stage::kPatch, Found(R"({"count":8})"), "", 2},
  };
  int i = 0;
  for (const auto& row : rows) {
    ObjectEvents events = After(row.before);
    EXPECT_EQ(TextOf(events.OnRead(Failure(), row.answer, kStart + kInterval)), row.expected) << i;
    EXPECT_EQ(CountIn(events), row.count) << i;
    ++i;
  }
}

TEST(ObjectEventsTest, RecordsDuringAReadAreCountedToo) {
  ObjectEvents events = After(Stage::kGetExisting);
  for (int i = 0; i < 3; ++i) events.Record(Failure(), kStart, kInterval);
  EXPECT_EQ(TextOf(events.OnRead(Failure(), Found(R"({"count":10})"), kStart)), "patch 14");
}

TEST(ObjectEventsTest, ASeriesThatWasStoredGoesOn) {
  ObjectEvents before = After(Stage::kGet);
  std::vector<EventSeries> stored = before.series();
  for (EventSeries& series : stored) series.under_way = EventSeries::Request::kNone;
  ObjectEvents events(std::move(stored));
  EXPECT_FALSE(events.TakeChange());
  EXPECT_EQ(TextOf(events.Record(Failure(), kStart + kInterval + absl::Minutes(1), kInterval)), "");
  EXPECT_EQ(TextOf(events.Record(Failure(), kStart + 2 * kInterval, kInterval)), "get");
  EXPECT_EQ(CountIn(events), 4);
}

TEST(ObjectEventsTest, ChangesOfWhatIsStoredAreSaidOnce) {
  ObjectEvents events;
  EXPECT_FALSE(events.TakeChange());
  events.Record(Failure(), kStart, kInterval);
  EXPECT_TRUE(events.TakeChange());
  EXPECT_FALSE(events.TakeChange());
  events.OnWritten(Failure(), Refused(409, "AlreadyExists"), kStart);
  EXPECT_FALSE(events.TakeChange()) << "which request is under way is not stored";
  events.OnRead(Failure(), Found(R"({"count":8})"), kStart);
  EXPECT_TRUE(events.TakeChange());
}

TEST(ObjectEventsTest, AnOutcomeOfASeriesThatIsForgottenAsksForNothing) {
  ObjectEvents events;
  EXPECT_EQ(TextOf(events.OnWritten(Failure(), Refused(409, "AlreadyExists"), kStart)), "");
  EXPECT_EQ(TextOf(events.OnRead(Failure(), NotRead(404), kStart)), "");
  EXPECT_TRUE(events.series().empty());
}

TEST(ObjectEventsTest, TheNewestSeriesAreRemembered) {
  ObjectEvents events;
  for (size_t i = 0; i <= ObjectEvents::kMostSeries; ++i) {
    events.Record(Failure(fmt::format("pod {}", i)), kStart, kInterval);
    events.OnWritten(Failure(fmt::format("pod {}", i)), Done(), kStart);
  }
  EXPECT_EQ(events.series().size(), ObjectEvents::kMostSeries);
  EXPECT_EQ(events.series().front().key, kube::KeyOf(Failure("pod 1"))) << "the oldest went";
}

// Keeps to one request about an Event at a time, however many Events are recorded at once.
TEST(ObjectEventsTest, ASeriesOfWhichARequestIsUnderWayIsNotDropped) {
  ObjectEvents events;
  const auto record = [&events](size_t i) {
    return !std::holds_alternative<std::monostate>(events.Record(Failure(fmt::format("pod {}", i)), kStart, kInterval));
  };
  for (size_t i = 0; i < ObjectEvents::kMostSeries; ++i) EXPECT_TRUE(record(i));
  EXPECT_FALSE(record(ObjectEvents::kMostSeries));
  events.OnWritten(Failure("pod 7"), Done(), kStart);
  EXPECT_TRUE(record(ObjectEvents::kMostSeries));
  EXPECT_EQ(events.series().size(), ObjectEvents::kMostSeries);
  EXPECT_EQ(events.series().front().key, kube::KeyOf(Failure("pod 0")));
  EXPECT_FALSE(record(0)) << "it is remembered";
}

// The interval counts even if it is longer than the API server keeps an Event: no Event is written more often than
// that.
TEST(ObjectEventsTest, ASeriesIsRememberedForAnHourOrAnInterval) {
  ObjectEvents events = After(Stage::kNone);
  events.Record(Failure("another"), kStart + absl::Minutes(59), kInterval);
  EXPECT_EQ(events.series().size(), 2U);
  events.Record(Failure("another"), kStart + absl::Hours(1), kInterval);
  EXPECT_EQ(events.series().size(), 1U);
  events = After(Stage::kNone);
  EXPECT_EQ(TextOf(events.Record(Failure(), kStart + absl::Hours(1), absl::Hours(2))), "");
}

}  // namespace
}  // namespace basalt::runtime
