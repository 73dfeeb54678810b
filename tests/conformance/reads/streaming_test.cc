// Streaming lists: a watch begins with the present state and marks its end with a bookmark.
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

class StreamingConformance : public Conformance {
 protected:
  std::string From(std::string_view version, std::string_view more = "") {
    return fmt::format("{}?watch=true&resourceVersion={}{}", Secrets(), version, more);
  }
};

constexpr char kStream[] = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

TEST_F(StreamingConformance, AStreamingListIsTheStateAndABookmarkThatSaysSo) {
  MakeSecret("a");
  const Answer b = MakeSecret("b");
  Watch watch(Server(), Secrets() + "?watch=true" + kStream);
  EXPECT_EQ(watch.Take(2), "ADDED a ADDED b");
  const std::optional<Event> mark = watch.Next();
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->type, "BOOKMARK");
  EXPECT_EQ(mark->At({"kind"}), "Secret");
  EXPECT_EQ(mark->At({"metadata", "annotations", "k8s.io/initial-events-end"}), "true");
  EXPECT_GE(NumberOf(mark->version()), NumberOf(b.version()));
  MakeSecret("c");
  EXPECT_EQ(watch.Take(1), "ADDED c");
}

TEST_F(StreamingConformance, AStreamingListOfNothingIsItsMark) {
  for (const std::string& path : {Secrets(), Jobs()}) {
    Watch watch(Server(), path + "?watch=true" + kStream);
    const std::optional<Event> mark = watch.Next();
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(mark->type, "BOOKMARK");
    EXPECT_EQ(mark->At({"metadata", "annotations", "k8s.io/initial-events-end"}), "true");
    EXPECT_GT(NumberOf(mark->version()), 0);
  }
}

TEST_F(StreamingConformance, AStreamingListShowsAtLeastTheVersionAskedFor) {
  const Answer a = MakeSecret("a");
  Watch watch(Server(), From(a.version(), kStream));
  EXPECT_EQ(watch.Take(1), "ADDED a");
  const std::optional<Event> mark = watch.Next();
  ASSERT_TRUE(mark.has_value());
  EXPECT_GE(NumberOf(mark->version()), NumberOf(a.version()));
}

TEST_F(StreamingConformance, AStreamingListHeedsItsSelector) {
  MakeSecret("a", R"({"w":"1"})");
  MakeSecret("b");
  Watch watch(Server(), Secrets() + "?watch=true&labelSelector=w" + kStream);
  EXPECT_EQ(watch.Take(1), "ADDED a");
  EXPECT_EQ(watch.Next().value_or(Event{}).type, "BOOKMARK");
}

TEST_F(StreamingConformance, AStreamingListWithoutBookmarksHasNoMark) {
  MakeSecret("a");
  Watch watch(Server(), Secrets() + "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(watch.Next().value_or(Event{}).type, "ADDED");
  EXPECT_FALSE(watch.Next(absl::Milliseconds(300)).has_value());
}

TEST_F(StreamingConformance, WithoutInitialEventsItBeginsNow) {
  MakeSecret("a");
  Watch watch(Server(), Secrets() + "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  ASSERT_EQ(watch.Status(), 200);
  MakeSecret("b");
  EXPECT_EQ(watch.Take(1), "ADDED b");
}

TEST_F(StreamingConformance, AWatchFromNowhereWithBookmarksIsMarkedLikeAStreamingList) {
  MakeSecret("a");
  ASSERT_TRUE(Eventually([&] { return Get(Secrets() + "?resourceVersion=0").Names() == "a"; }));
  for (const char* version : {"", "&resourceVersion=0"}) {
    Watch watch(Server(), Secrets() + "?watch=true&allowWatchBookmarks=true" + version);
    EXPECT_EQ(watch.Next().value_or(Event{}).type, "ADDED");
    EXPECT_EQ(watch.Next().value_or(Event{}).At({"metadata", "annotations", "k8s.io/initial-events-end"}), "true");
  }
}

TEST_F(StreamingConformance, AStreamingListOfAFutureVersionEndsWithAnErrorToTryAgain) {
  Watch watch(Server(), From("99999999999", kStream));
  EXPECT_EQ(watch.Status(), 200);
  const std::optional<Event> error = watch.Next();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->type, "ERROR");
  EXPECT_EQ(error->At({"code"}), "504");
  EXPECT_EQ(error->At({"reason"}), "Timeout");
  EXPECT_EQ(error->At({"details", "retryAfterSeconds"}), "1");
  EXPECT_TRUE(watch.Ended());
}

struct RefusedWatch {
  const char* name;
  const char* query;
  std::vector<std::string> causes;
};

class RefusedWatches : public Conformance, public ::testing::WithParamInterface<RefusedWatch> {};

TEST_P(RefusedWatches, AreInvalidOptions) {
  for (const std::string& path : {Secrets(), Jobs()}) {
    Watch watch(Server(), fmt::format("{}?watch=true&{}", path, GetParam().query));
    ASSERT_EQ(watch.Status(), 422);
    const Answer refusal = watch.Refusal();
    EXPECT_EQ(refusal.reason(), "Invalid");
    EXPECT_EQ(refusal.At({"details", "kind"}), "ListOptions");
    EXPECT_EQ(refusal.At({"details", "group"}), "meta.k8s.io");
    EXPECT_EQ(refusal.Causes(), GetParam().causes);
  }
}

constexpr char kNeedsMatch[] =
    "FieldValueForbidden resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
    "NotOlderThan";

INSTANTIATE_TEST_SUITE_P(
    StreamingConformance, RefusedWatches,
    ::testing::Values(
        RefusedWatch{
            "MatchWithoutInitialEvents",
            "resourceVersionMatch=NotOlderThan&resourceVersion=1",
            {"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch "
             "unless sendInitialEvents is provided"}},
        RefusedWatch{"InitialEventsWithoutMatch", "sendInitialEvents=true", {kNeedsMatch}},
        RefusedWatch{"NoInitialEventsWithoutMatch", "sendInitialEvents=false", {kNeedsMatch}},
        RefusedWatch{"InitialEventsExact",
                     "sendInitialEvents=true&resourceVersionMatch=Exact",
                     {kNeedsMatch, R"(FieldValueNotSupported resourceVersionMatch: Unsupported value: "Exact": )"
                                   R"(supported values: "NotOlderThan")"}},
        RefusedWatch{"AContinueToken",
                     "continue=abc",
                     {"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when "
                      "continue is provided"}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace basalt::conformance
