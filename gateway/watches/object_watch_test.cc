// Tests one object's list and watch, against a scripted API server.
#include "gateway/watches/object_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "gateway/kube/testing.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

class ObjectWatchTest : public ::testing::Test {
 protected:
  ObjectWatchTest() {
    v1::Resource resource;
    resource.set_version("v1");
    resource.set_plural("persistentvolumeclaims");
    watch = std::make_unique<ReflectedObject>(
        ReflectedObject::Shared{loop, client, random, clock, *metrics, absl::Seconds(30)}, resource, "n", "claim",
        [this](absl::StatusOr<std::shared_ptr<const kube::v1::Object>> what) { Note(what); });
    time.RunDueTasks();
  }
  void Note(const absl::StatusOr<std::shared_ptr<const kube::v1::Object>>& what) {
    if (!what.ok()) {
      seen.push_back(absl::IsNotFound(what.status()) ? "not served" : "refused");
    } else if (*what == nullptr) {
      seen.push_back("none");
    } else {
      EXPECT_EQ((*what)->generic().json(), "");
      seen.push_back(fmt::format("{}@{}", RefOf(**what).name, RefOf(**what).resource_version));
    }
  }
  std::string Take() {
    time.RunDueTasks();
    return fmt::format("{}", fmt::join(std::exchange(seen, {}), " "));
  }
  void List(int version, const std::vector<std::string>& items = {}) {
    client.last().Answer(200, Page(version, items));
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  ScriptedClient client;
  SeededRandom random{1};
  ApiClock clock{loop};
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  std::vector<std::string> seen;
  std::unique_ptr<ReflectedObject> watch;
};

TEST_F(ObjectWatchTest, AsksForThatObjectAlone) {
  EXPECT_THAT(client.last().request().target, HasSubstr("/api/v1/namespaces/n/persistentvolumeclaims?"));
  EXPECT_EQ(client.last().Query("fieldSelector"), "metadata.name=claim");
  EXPECT_EQ(client.last().Query("watch"), "");
  List(10);
  EXPECT_EQ(client.last().Query("watch"), "true");
  EXPECT_EQ(client.last().Query("fieldSelector"), "metadata.name=claim");
  EXPECT_EQ(client.last().Query("resourceVersion"), "10");
}

TEST_F(ObjectWatchTest, TellsOfItsAbsenceItsComingItsChangesAndItsEnd) {
  List(10);
  EXPECT_EQ(Take(), "none");
  client.last().Head(200);
  client.last().Chunk(Line("ADDED", "claim", 12));
  EXPECT_EQ(Take(), "claim@12");
  client.last().Chunk(Line("MODIFIED", "claim", 14) + Bookmark(20) + Line("DELETED", "claim", 22));
  EXPECT_EQ(Take(), "claim@14 none");
}

TEST_F(ObjectWatchTest, AListAnewTellsWhatCameOrWentBetween) {
  List(10);
  client.last().Answer(410, Refusal(410, "Expired"));
  List(20, {Item("other", 15), Item("claim", 16)});
  EXPECT_EQ(Take(), "none claim@16") << "also where a server knows no such selector";
  client.last().Head(200);
  client.last().Chunk(Line("MODIFIED", "other", 21));
  EXPECT_EQ(Take(), "");
}

TEST_F(ObjectWatchTest, ARefusalIsToldOnceAndTheWatchGoesOnWhenItMay) {
  client.last().Answer(403, Refusal(403, "Forbidden"));
  EXPECT_EQ(Take(), "refused");
  EXPECT_THAT(metrics->Text(),
              HasSubstr(R"(basalt_gateway_watch_errors_total{reason="forbidden",watch="persistentvolumeclaims"} 1)"));
  time.Advance(absl::Minutes(1));
  client.last().Answer(403, Refusal(403, "Forbidden"));
  EXPECT_EQ(Take(), "");
  time.Advance(absl::Minutes(1));
  List(30, {Item("claim", 25)});
  EXPECT_EQ(Take(), "claim@25");
}

TEST_F(ObjectWatchTest, AKindThatIsNotServedIsToldApartFromAnObjectThatIsNotThere) {
  client.last().Answer(404, "404 page not found");
  EXPECT_EQ(Take(), "not served");
  EXPECT_THAT(metrics->Text(),
              HasSubstr(R"(gateway_watch_errors_total{reason="absent",watch="persistentvolumeclaims"} 1)"));
}

TEST_F(ObjectWatchTest, EndsWithItsOwner) {
  List(10);
  client.last().Head(200);
  EXPECT_EQ(client.open(), 1u);
  watch.reset();
  EXPECT_EQ(client.open(), 0u);
  const size_t started = client.started();
  time.Advance(absl::Hours(1));
  EXPECT_EQ(client.started(), started);
}

}  // namespace
}  // namespace basalt::gateway
