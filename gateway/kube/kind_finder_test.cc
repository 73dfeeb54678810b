// Tests which kinds the API server serves, with a scripted server.
#include "gateway/kube/kind_finder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "gateway/kube/testing.h"

namespace basalt::gateway {
namespace {

using Strings = std::vector<std::string>;

std::string Group(const Strings& versions) {
  std::string list;
  for (const std::string& version : versions) {
    list += fmt::format(R"({}{{"groupVersion":"example.com/{}","version":"{}"}})", list.empty() ? "" : ",", version,
                        version);
  }
  return fmt::format(R"({{"kind":"APIGroup","name":"example.com","versions":[{}]}})", list);
}

std::string Kinds(const Strings& plurals) {
  std::string list;
  for (const std::string& plural : plurals) {
    list += fmt::format(R"({}{{"name":"{}"}},{{"name":"{}/status"}})", list.empty() ? "" : ",", plural, plural);
  }
  return fmt::format(R"({{"kind":"APIResourceList","resources":[{}]}})", list);
}

class KindFinderTest : public ::testing::Test {
 protected:
  void Find(const std::string& group, const std::string& plural, bool absent = false) {
    finder = std::make_unique<KindFinder>(KindFinder::Shared{loop, client, random, absl::Seconds(30)},
                                          WantedKind{.group = group, .plural = plural}, absent,
                                          [this](const ServedKind& served) { found.push_back(served.version); });
  }
  // Answers the request under way, which must be for that document.
  void Answer(const std::string& target, int status, std::string_view body, http::Headers headers = {}) {
    ASSERT_EQ(client.open(), 1u) << target;
    ASSERT_EQ(client.last().request().target, target);
    client.last().Answer(status, body, std::move(headers));
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  ScriptedClient client;
  SeededRandom random{1};
  Strings found;
  std::unique_ptr<KindFinder> finder;
};

TEST_F(KindFinderTest, TheFirstVersionThatHasTheKindIsTheOne) {
  Find("example.com", "things");
  Answer("/apis/example.com", 200, Group({"v3", "v2", "v1", "v1beta1"}));
  Answer("/apis/example.com/v3", 404, "404 page not found");
  Answer("/apis/example.com/v2", 200, Kinds({"others"}));
  Answer("/apis/example.com/v1", 200, Kinds({"others", "things"}));
  EXPECT_EQ(found, Strings{"v1"});
  time.Advance(absl::Hours(1));
  EXPECT_EQ(client.started(), 4u) << "that is the end of it";
}

TEST_F(KindFinderTest, OneLookAsksAboutSoManyVersionsAndNoMore) {
  Strings versions;
  for (int i = 0; i < 1000; ++i) versions.push_back(fmt::format("v{}", i));
  Find("example.com", "things");
  Answer("/apis/example.com", 200, Group(versions));
  while (client.open() == 1) client.last().Answer(200, Kinds({"others"}));
  EXPECT_EQ(found, Strings{""});
  EXPECT_EQ(client.started(), 33u);
}

TEST_F(KindFinderTest, TheCoreGroupHasOneVersion) {
  Find("", "persistentvolumeclaims");
  Answer("/api/v1", 200, Kinds({"pods", "persistentvolumeclaims"}));
  EXPECT_EQ(found, Strings{"v1"});
}

TEST_F(KindFinderTest, AMissingKindIsReportedOnceAndLookedForNowAndThen) {
  Find("example.com", "things");
  const absl::Time end = time.Now() + absl::Hours(1);
  while (time.Now() < end) {
    Answer("/apis/example.com", 404, "404 page not found");
    ASSERT_TRUE(time.AdvanceUntil([&] { return client.open() == 1; }, absl::Seconds(46)));
  }
  EXPECT_EQ(found, Strings{""});
  EXPECT_LE(client.started(), 241u);
  EXPECT_GE(client.started(), 80u);
  // The group appears before the kind does.
  Answer("/apis/example.com", 200, Group({"v1"}));
  Answer("/apis/example.com/v1", 200, Kinds({"others"}));
  ASSERT_TRUE(time.AdvanceUntil([&] { return client.open() == 1; }, absl::Seconds(46)));
  Answer("/apis/example.com", 200, Group({"v1"}));
  Answer("/apis/example.com/v1", 200, Kinds({"others", "things"}));
  EXPECT_EQ(found, (Strings{"", "v1"}));
}

TEST_F(KindFinderTest, AKindKnownToBeAbsentIsLookedForLater) {
  Find("example.com", "things", /*absent=*/true);
  time.Advance(absl::Seconds(14));
  EXPECT_EQ(client.started(), 0u);
  time.Advance(absl::Seconds(32));
  Answer("/apis/example.com", 404, "404 page not found");
  EXPECT_EQ(found, Strings{});
}

TEST_F(KindFinderTest, AFailureSaysNothingAndIsTriedAgain) {
  const struct {
    int status;
    std::string body;
  } rows[] = {{500, "no"}, {503, "no"}, {403, Refusal(403, "Forbidden")}, {200, "<html>"}, {200, "{}"}};
  Find("example.com", "things");
  for (const auto& row : rows) {
    Answer("/apis/example.com", row.status, row.body);
    time.Advance(absl::Seconds(30));
    Answer("/apis/example.com", 200, Group({"v1"}));
    Answer("/apis/example.com/v1", row.status, row.body);
    time.Advance(absl::Seconds(30));
  }
  client.last().End(absl::UnavailableError("away"));
  time.Advance(absl::Seconds(30));
  EXPECT_EQ(found, Strings{}) << "neither there nor not there";
  Answer("/apis/example.com", 404, "404 page not found");
  EXPECT_EQ(found, Strings{""});
}

TEST_F(KindFinderTest, AServerThatSaysWhenToComeAgainIsHeard) {
  Find("example.com", "things");
  Answer("/apis/example.com", 429, "Too many requests", {{"Retry-After", "20"}});
  time.Advance(absl::Seconds(19));
  EXPECT_EQ(client.open(), 0u);
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(client.open(), 1u);
}

TEST_F(KindFinderTest, EndsWithItsOwner) {
  Find("example.com", "things");
  finder.reset();
  EXPECT_EQ(client.open(), 0u);
  Find("example.com", "things");
  Answer("/apis/example.com", 404, "404 page not found");
  finder.reset();
  const size_t started = client.started();
  time.Advance(absl::Hours(1));
  EXPECT_EQ(client.started(), started);
}

}  // namespace
}  // namespace basalt::gateway
