// Watches: their begin, their events and their end.
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

class WatchConformance : public Conformance {
 protected:
  std::string From(std::string_view version, std::string_view more = "") {
    return fmt::format("{}?watch=true&resourceVersion={}{}", Secrets(), version, more);
  }
  std::string Now() { return Get(Secrets()).version(); }
  Answer Label(std::string_view name, std::string_view labels) {
    return Patch(Secrets(name), kMerge, fmt::format(R"({{"metadata":{{"labels":{}}}}})", labels));
  }
};

TEST_F(WatchConformance, FromAListsVersionItTellsWhatComesAfterInOrder) {
  MakeSecret("old");
  Watch watch(Server(), From(Now()));
  MakeSecret("a");
  Label("a", R"({"x":"1"})");
  MakeSecret("b");
  Delete(Secrets("a"));
  EXPECT_EQ(watch.Take(4), "ADDED a MODIFIED a ADDED b DELETED a");
}

TEST_F(WatchConformance, EventsFromBeforeItWasOpenedAreSentToo) {
  const std::string version = Now();
  MakeSecret("a");
  Label("a", R"({"x":"1"})");
  Delete(Secrets("a"));
  Watch watch(Server(), From(version));
  EXPECT_EQ(watch.Take(3), "ADDED a MODIFIED a DELETED a");
}

TEST_F(WatchConformance, EventsCarryTheWholeObjectWithItsVersion) {
  Watch watch(Server(), From(Now()));
  const Answer made = MakeSecret("a", R"({"x":"1"})");
  const Event added = watch.Of("a");
  EXPECT_EQ(added.At({"kind"}), "Secret");
  EXPECT_EQ(added.At({"apiVersion"}), "v1");
  EXPECT_EQ(added.At({"metadata", "uid"}), made.uid());
  EXPECT_EQ(added.version(), made.version());
  const Answer labelled = Label("a", R"({"x":"2"})");
  const Event modified = watch.Of("a");
  EXPECT_EQ(modified.version(), labelled.version());
  EXPECT_EQ(modified.At({"metadata", "labels", "x"}), "2");
}

TEST_F(WatchConformance, ADeletionShowsTheLastStateWithTheVersionOfTheDeletion) {
  const Answer made = MakeSecret("a", R"({"x":"1"})");
  Watch watch(Server(), From(Now()));
  Delete(Secrets("a"));
  const Event gone = watch.Of("a");
  EXPECT_EQ(gone.type, "DELETED");
  EXPECT_EQ(gone.At({"metadata", "uid"}), made.uid());
  EXPECT_EQ(gone.At({"metadata", "labels", "x"}), "1");
  EXPECT_GT(NumberOf(gone.version()), NumberOf(made.version()));
}

TEST_F(WatchConformance, AWriteThatChangesNothingIsNotTold) {
  const Answer made = MakeSecret("a", R"({"x":"1"})");
  Watch watch(Server(), From(made.version()));
  const Answer same = Label("a", R"({"x":"1"})");
  EXPECT_EQ(same.version(), made.version());
  MakeSecret("b");
  EXPECT_EQ(watch.Take(1), "ADDED b");
}

TEST_F(WatchConformance, WithoutAVersionItBeginsWithAllThatIsThere) {
  MakeSecret("a");
  MakeSecret("b");
  Watch watch(Server(), Secrets() + "?watch=true");
  EXPECT_EQ(watch.Take(2), "ADDED a ADDED b");
  MakeSecret("c");
  EXPECT_EQ(watch.Take(1), "ADDED c");
}

TEST_F(WatchConformance, FromVersionZeroItBeginsWithAllThatIsThere) {
  MakeSecret("a");
  ASSERT_TRUE(Eventually([&] { return Get(Secrets() + "?resourceVersion=0").Names() == "a"; }));
  Watch watch(Server(), From("0"));
  EXPECT_EQ(watch.Take(1), "ADDED a");
}

TEST_F(WatchConformance, AVersionInTheFutureWaits) {
  MakeSecret("a");
  Watch watch(Server(), From("99999999999"));
  EXPECT_EQ(watch.Status(), 200);
  MakeSecret("b");
  EXPECT_FALSE(watch.Next(absl::Milliseconds(300)).has_value());
}

TEST_F(WatchConformance, AVersionThatIsNoNumberIsAServersErrorWithoutAReason) {
  for (const char* version : {"abc", "-1"}) {
    Watch watch(Server(), From(version));
    EXPECT_EQ(watch.Status(), 500);
    const Answer refusal = watch.Refusal();
    EXPECT_EQ(refusal.reason(), "");
    EXPECT_EQ(refusal.message(),
              fmt::format(R"(resourceVersion: Invalid value: "{0}": strconv.ParseUint: parsing "{0}": invalid syntax)",
                          version));
  }
}

TEST_F(WatchConformance, OnlyItsNamespaceIsTold) {
  const std::string other = MakeNamespace();
  Watch watch(Server(), From(Now()));
  Post(fmt::format("/api/v1/namespaces/{}/secrets", other), SecretBody("elsewhere"));
  MakeSecret("here");
  EXPECT_EQ(watch.Take(1), "ADDED here");
}

TEST_F(WatchConformance, OverAllNamespacesEveryOneIsTold) {
  const std::string other = MakeNamespace();
  Watch watch(Server(), "/api/v1/secrets?watch=true&resourceVersion=" + Now());
  Post(fmt::format("/api/v1/namespaces/{}/secrets", other), SecretBody("elsewhere"));
  MakeSecret("here");
  EXPECT_EQ(watch.Of("elsewhere").At({"metadata", "namespace"}), other);
  EXPECT_EQ(watch.Of("here").At({"metadata", "namespace"}), ns());
}

TEST_F(WatchConformance, ANamespaceThatIsNotThereCanBeWatched) {
  Watch watch(Server(), "/api/v1/namespaces/nosuch/secrets?watch=true");
  EXPECT_EQ(watch.Status(), 200);
  EXPECT_FALSE(watch.Next(absl::Milliseconds(200)).has_value());
}

TEST_F(WatchConformance, OurKindsAreWatchedAlike) {
  Watch watch(Server(), Jobs() + "?watch=true&resourceVersion=" + Get(Jobs()).version());
  MakeJob("a");
  Patch(Jobs("a"), kMerge, R"({"metadata":{"labels":{"x":"1"}}})");
  Delete(Jobs("a"));
  EXPECT_EQ(watch.Take(3), "ADDED a MODIFIED a DELETED a");
}

TEST_F(WatchConformance, AStatusWriteIsAModification) {
  MakePod("a");
  Watch watch(Server(), Pods() + "?watch=true&resourceVersion=" + Get(Pods()).version());
  Patch(Pods("a") + "/status", kMerge, R"({"status":{"phase":"Running"}})");
  const Event event = watch.Of("a");
  EXPECT_EQ(event.type, "MODIFIED");
  EXPECT_EQ(event.At({"status", "phase"}), "Running");
}

// ---- compacted versions ----

TEST_F(WatchConformance, AVersionThatIsForgottenEndsWithA410AsItsOnlyEvent) {
  const std::string old = Now();
  for (const char* name : {"a", "b"}) MakeEvent(name);
  MakeJob("a");
  ForgetHistory();
  for (const std::string& target : {fmt::format("{}?watch=true&resourceVersion={}", Core("events"), old),
                                    Jobs() + "?watch=true&resourceVersion=1"}) {
    Watch watch(Server(), target);
    EXPECT_EQ(watch.Status(), 200);
    const std::optional<Event> error = watch.Next();
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->type, "ERROR");
    EXPECT_EQ(error->At({"kind"}), "Status");
    EXPECT_EQ(error->At({"code"}), "410");
    EXPECT_EQ(error->At({"reason"}), "Expired");
    EXPECT_TRUE(watch.Ended());
  }
}

TEST_F(WatchConformance, AnOpenWatchOutlivesForgetting) {
  Watch watch(Server(), From(Now()));
  MakeSecret("a");
  ForgetHistory();
  MakeSecret("b");
  EXPECT_EQ(watch.Take(2), "ADDED a ADDED b");
}

// ---- selectors ----

TEST_F(WatchConformance, EnteringASelectorIsAnAdditionAndLeavingItADeletion) {
  Watch watch(Server(), From(Now(), "&labelSelector=w%3D1"));
  MakeSecret("a", R"({"w":"2"})");
  Label("a", R"({"w":"1"})");
  Label("a", R"({"w":"1","more":"x"})");
  const Answer left = Label("a", R"({"w":"2"})");
  Delete(Secrets("a"));
  MakeSecret("b", R"({"w":"1"})");
  EXPECT_EQ(watch.Take(2), "ADDED a MODIFIED a");
  const Event gone = watch.Of("a");
  EXPECT_EQ(gone.type, "DELETED");
  EXPECT_EQ(gone.At({"metadata", "labels", "w"}), "1") << "it is shown as it last matched";
  EXPECT_EQ(gone.version(), left.version());
  EXPECT_EQ(watch.Take(1), "ADDED b");
}

TEST_F(WatchConformance, ADeletionIsToldToASelectorThatTheLastStateMatched) {
  MakeSecret("a", R"({"w":"1"})");
  MakeSecret("b", R"({"w":"2"})");
  Watch watch(Server(), From(Now(), "&labelSelector=w%3D1"));
  Delete(Secrets("b"));
  Delete(Secrets("a"));
  EXPECT_EQ(watch.Take(1), "DELETED a");
}

TEST_F(WatchConformance, APodsPhaseMovesItThroughAFieldSelector) {
  MakePod("a");
  Watch watch(Server(),
              Pods() + "?watch=true&fieldSelector=status.phase%3DRunning&resourceVersion=" + Get(Pods()).version());
  Patch(Pods("a") + "/status", kMerge, R"({"status":{"phase":"Running"}})");
  EXPECT_EQ(watch.Of("a").type, "ADDED");
  Patch(Pods("a") + "/status", kMerge, R"({"status":{"phase":"Succeeded"}})");
  const Event gone = watch.Of("a");
  EXPECT_EQ(gone.type, "DELETED");
  EXPECT_EQ(gone.At({"status", "phase"}), "Running");
}

TEST_F(WatchConformance, OneNameIsWatchedByAFieldSelector) {
  Watch watch(Server(), From(Now(), "&fieldSelector=metadata.name%3Db"));
  MakeSecret("a");
  MakeSecret("b");
  Delete(Secrets("b"));
  EXPECT_EQ(watch.Take(2), "ADDED b DELETED b");
}

TEST_F(WatchConformance, ASelectorFiltersWhatIsThereAtTheStart) {
  MakeSecret("a", R"({"w":"1"})");
  MakeSecret("b");
  Watch watch(Server(), Secrets() + "?watch=true&labelSelector=w");
  EXPECT_EQ(watch.Take(1), "ADDED a");
  MakeSecret("c", R"({"w":"1"})");
  EXPECT_EQ(watch.Take(1), "ADDED c");
}

// ---- paths of watches ----

struct WatchPath {
  const char* name;
  const char* path;  // {} is the namespace.
  const char* events;
};

class WatchPaths : public Conformance, public ::testing::WithParamInterface<WatchPath> {};

TEST_P(WatchPaths, AreWatches) {
  MakeSecret("a");
  MakeSecret("b");
  Watch watch(Server(), fmt::format(fmt::runtime(GetParam().path), ns()));
  ASSERT_EQ(watch.Status(), 200);
  const std::string expected = GetParam().events;
  EXPECT_EQ(watch.Take(expected == "ADDED a" ? 1 : 2), expected);
}

INSTANTIATE_TEST_SUITE_P(
    WatchConformance, WatchPaths,
    ::testing::Values(
        WatchPath{"True", "/api/v1/namespaces/{}/secrets?watch=true", "ADDED a ADDED b"},
        WatchPath{"One", "/api/v1/namespaces/{}/secrets?watch=1", "ADDED a ADDED b"},
        WatchPath{"AnyTextButFalse", "/api/v1/namespaces/{}/secrets?watch=bogus", "ADDED a ADDED b"},
        WatchPath{"OldPath", "/api/v1/watch/namespaces/{}/secrets", "ADDED a ADDED b"},
        WatchPath{"OldPathOfOne", "/api/v1/watch/namespaces/{}/secrets/a", "ADDED a"},
        WatchPath{"OldPathOfAll", "/api/v1/watch/secrets?fieldSelector=metadata.namespace%3D{}", "ADDED a ADDED b"},
        WatchPath{"LimitIsNotHeeded", "/api/v1/namespaces/{}/secrets?watch=1&limit=1", "ADDED a ADDED b"}),
    [](const auto& row) { return row.param.name; });

TEST_F(WatchConformance, TheParameterIsNotHeededOnOneObject) {
  MakeSecret("a");
  MakeJob("j");
  EXPECT_EQ(Get(Secrets("a") + "?watch=true").At({"kind"}), "Secret");
  EXPECT_EQ(Get(Jobs("j") + "?watch=true").At({"kind"}), "Job");
}

// ---- bookmarks and ends ----

TEST_F(WatchConformance, ABookmarkHasKindAndVersionAndComesBeforeTheEnd) {
  MakeSecret("a");
  const std::string version = Now();
  Watch watch(Server(), From(version, "&allowWatchBookmarks=true&timeoutSeconds=4"));
  const std::optional<Event> mark = watch.Until([](const Event& e) { return e.type == "BOOKMARK"; });
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->At({"kind"}), "Secret");
  EXPECT_EQ(mark->At({"apiVersion"}), "v1");
  EXPECT_GE(NumberOf(mark->version()), NumberOf(version));
  EXPECT_EQ(mark->name(), "");
  EXPECT_TRUE(watch.Ended());
}

TEST_F(WatchConformance, WhoContinuesFromABookmarkMissesNothing) {
  Watch first(Server(), From(Now(), "&allowWatchBookmarks=true&timeoutSeconds=4"));
  MakeSecret("a");
  const std::optional<Event> mark = first.Until([](const Event& e) { return e.type == "BOOKMARK"; });
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->At({"metadata", "annotations"}), "");
  MakeSecret("b");
  Watch second(Server(), From(mark->version()));
  EXPECT_EQ(second.Take(1), "ADDED b");
}

TEST_F(WatchConformance, WithoutLeaveThereAreNoBookmarks) {
  Watch watch(Server(), From(Now(), "&timeoutSeconds=3"));
  EXPECT_FALSE(watch.Next().has_value());
  EXPECT_TRUE(watch.Ended());
}

TEST_F(WatchConformance, TimeoutSecondsEndsItAsHttpSaysItShould) {
  Watch watch(Server(), From(Now(), "&timeoutSeconds=1"));
  EXPECT_EQ(watch.Status(), 200);
  EXPECT_TRUE(watch.Ended(absl::Seconds(10)));
}

TEST_F(WatchConformance, ATimeoutOfLessThanNothingEndsItAtOnce) {
  Watch watch(Server(), From(Now(), "&timeoutSeconds=-1"));
  EXPECT_EQ(watch.Status(), 200);
  EXPECT_TRUE(watch.Ended());
}

TEST_F(WatchConformance, ATimeoutThatIsNoNumberIsABadRequest) {
  Watch watch(Server(), From(Now(), "&timeoutSeconds=abc"));
  EXPECT_EQ(watch.Status(), 400);
  EXPECT_EQ(watch.Refusal().message(), R"(strconv.ParseInt: parsing "abc": invalid syntax)");
}

TEST_F(WatchConformance, TheTimeoutOfOtherRequestsIsNotHeeded) {
  Watch watch(Server(), From(Now(), "&timeout=100ms"));
  ASSERT_EQ(watch.Status(), 200);
  EXPECT_FALSE(watch.Ended(absl::Milliseconds(400)));
  MakeSecret("a");
  EXPECT_EQ(watch.Take(1), "ADDED a");
}

TEST_F(WatchConformance, ItIsJsonInChunksAndNotCached) {
  Watch watch(Server(), From(Now()));
  EXPECT_EQ(watch.Header("Content-Type"), "application/json");
  EXPECT_EQ(watch.Header("Cache-Control"), "no-cache, private");
}

TEST_F(WatchConformance, StreamJsonIsAnAcceptedFormToo) {
  MakeSecret("a");
  Watch watch(Server(), Secrets() + "?watch=true", {{"Accept", "application/json;stream=watch"}});
  EXPECT_EQ(watch.Take(1), "ADDED a");
}

}  // namespace
}  // namespace basalt::conformance
