// Lists: their items, the meaning of their resourceVersion, and pages.
#include <algorithm>
#include <set>

#include "common/http/target.h"
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

class ListConformance : public Conformance {
 protected:
  void MakeSecrets(std::string_view names) {
    for (const char name : names) MakeSecret(std::string(1, name));
  }
  Answer Page(int limit, std::string_view token = "") {
    std::string target = fmt::format("{}?limit={}", Secrets(), limit);
    if (!token.empty()) target += "&continue=" + http::Escape(token);
    return Get(target);
  }
};

TEST_F(ListConformance, ItemsComeInTheOrderOfTheirNames) {
  for (const char* name : {"b", "c", "a", "a-b", "a.b"}) MakeSecret(name);
  EXPECT_EQ(Get(Secrets()).Names(), "a a-b a.b b c");
}

TEST_F(ListConformance, AcrossNamespacesItemsComeInTheOrderOfNamespaceAndName) {
  const std::string other = MakeNamespace();
  MakeSecrets("ba");
  Post(fmt::format("/api/v1/namespaces/{}/secrets", other), SecretBody("a"));
  std::vector<std::string> seen;
  for (const json::value& item : Get("/api/v1/secrets").Items()) {
    const std::string where = At(item, {"metadata", "namespace"});
    if (where == ns() || where == other) seen.push_back(where + "/" + NameOf(item));
  }
  std::vector<std::string> expected = {ns() + "/a", ns() + "/b", other + "/a"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(seen, expected);
}

TEST_F(ListConformance, AListOfACoreKindNamesTheKindOnceAndNotInItsItems) {
  MakeSecret("a");
  const Answer list = Get(Secrets());
  EXPECT_EQ(list.At({"kind"}), "SecretList");
  EXPECT_EQ(list.At({"apiVersion"}), "v1");
  ASSERT_EQ(list.Items().size(), 1U);
  EXPECT_EQ(Find(list.Items()[0], "kind"), nullptr);
  EXPECT_EQ(Find(list.Items()[0], "apiVersion"), nullptr);
}

TEST_F(ListConformance, AListOfOurKindsNamesTheKindInEachItem) {
  MakeJob("a");
  const Answer list = Get(Jobs());
  EXPECT_EQ(list.At({"kind"}), "JobList");
  EXPECT_EQ(list.At({"apiVersion"}), "batch.volcano.sh/v1alpha1");
  ASSERT_EQ(list.Items().size(), 1U);
  EXPECT_EQ(At(list.Items()[0], {"kind"}), "Job");
  EXPECT_EQ(At(list.Items()[0], {"apiVersion"}), "batch.volcano.sh/v1alpha1");
}

TEST_F(ListConformance, AnEmptyListHasItemsAndAVersion) {
  for (const std::string& path : {Secrets(), Jobs()}) {
    const Answer list = Get(path);
    ASSERT_EQ(list.status, 200) << list;
    ASSERT_NE(Find(list.json, "items"), nullptr) << list;
    EXPECT_TRUE(Find(list.json, "items")->is_array()) << list;
    EXPECT_GT(NumberOf(list.version()), 0) << list;
  }
}

TEST_F(ListConformance, AListOfANamespaceThatIsNotThereIsEmpty) {
  const Answer list = Get("/api/v1/namespaces/nosuch/secrets");
  EXPECT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.Names(), "");
}

TEST_F(ListConformance, TheListsMarkIsAtOrAboveEveryItemAndGrows) {
  MakeSecrets("abc");
  const Answer first = Get(Secrets());
  for (const json::value& item : first.Items()) EXPECT_LE(NumberOf(VersionOf(item)), NumberOf(first.version()));
  const Answer made = MakeSecret("d");
  const Answer second = Get(Secrets());
  EXPECT_GT(NumberOf(made.version()), NumberOf(first.version()));
  EXPECT_GE(NumberOf(second.version()), NumberOf(made.version()));
}

TEST_F(ListConformance, TheMarkCoversADeletion) {
  MakeSecrets("ab");
  Watch watch(Server(), Secrets() + "?watch=true&resourceVersion=" + Get(Secrets()).version());
  ASSERT_EQ(watch.Status(), 200);
  Delete(Secrets("a"));
  const Event gone = watch.Of("a");
  ASSERT_EQ(gone.type, "DELETED");
  const Answer list = Get(Secrets());
  EXPECT_EQ(list.Names(), "b");
  EXPECT_GE(NumberOf(list.version()), NumberOf(gone.version()));
}

TEST_F(ListConformance, AListWithoutAVersionShowsEveryWriteBeforeIt) {
  for (int i = 0; i < 20; ++i) {
    MakeSecret(fmt::format("s-{:02}", i));
    ASSERT_EQ(Get(Secrets()).Items().size(), static_cast<size_t>(i) + 1);
  }
}

TEST_F(ListConformance, AListFromVersionZeroMayLagButComesToShowAll) {
  MakeSecrets("abc");
  EXPECT_TRUE(Eventually([&] { return Get(Secrets() + "?resourceVersion=0").Names() == "a b c"; }));
}

TEST_F(ListConformance, NotOlderThanShowsTheVersionAskedForOrALaterOne) {
  MakeSecrets("ab");
  const Answer c = MakeSecret("c");
  const Answer list = Get(Secrets() + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + c.version());
  ASSERT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.Names(), "a b c");
  EXPECT_GE(NumberOf(list.version()), NumberOf(c.version()));
}

TEST_F(ListConformance, AVersionAloneMeansNotOlderThan) {
  MakeSecret("a");
  const Answer b = MakeSecret("b");
  MakeSecret("c");
  const Answer list = Get(Secrets() + "?resourceVersion=" + b.version());
  EXPECT_EQ(list.Names().substr(0, 3), "a b");
  EXPECT_GE(NumberOf(list.version()), NumberOf(b.version()));
}

TEST_F(ListConformance, ExactShowsThatStateAndItsVersion) {
  const Answer a = MakeSecret("a");
  MakeSecret("b");
  const Answer list = Get(Secrets() + "?resourceVersionMatch=Exact&resourceVersion=" + a.version());
  ASSERT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.Names(), "a");
  EXPECT_EQ(list.version(), a.version());
}

TEST_F(ListConformance, AVersionWithALimitMeansExact) {
  MakeSecret("a");
  const Answer b = MakeSecret("b");
  MakeSecret("c");
  const Answer list = Get(Secrets() + "?limit=5&resourceVersion=" + b.version());
  EXPECT_EQ(list.Names(), "a b");
  EXPECT_EQ(list.version(), b.version());
}

TEST_F(ListConformance, AVersionInTheFutureIsATimeoutToTryAgainAfterASecond) {
  const Answer list = Get(Secrets() + "?resourceVersion=99999999999");
  EXPECT_EQ(list.status, 504) << list;
  EXPECT_EQ(list.reason(), "Timeout");
  EXPECT_EQ(list.Header("Retry-After"), "1");
  EXPECT_EQ(list.At({"details", "retryAfterSeconds"}), "1");
  EXPECT_TRUE(list.message().starts_with("Timeout: Too large resource version: 99999999999, current: ")) << list;
  EXPECT_EQ(list.Causes(), std::vector<std::string>{"ResourceVersionTooLarge : Too large resource version"});
}

// ---- pages ----

TEST_F(ListConformance, PagesFollowEachOtherAndTellWhatRemains) {
  MakeSecrets("abcde");
  const Answer first = Page(2);
  EXPECT_EQ(first.Names(), "a b");
  EXPECT_EQ(first.At({"metadata", "remainingItemCount"}), "3");
  const Answer second = Page(2, first.continue_token());
  EXPECT_EQ(second.Names(), "c d");
  EXPECT_EQ(second.At({"metadata", "remainingItemCount"}), "1");
  const Answer third = Page(2, second.continue_token());
  EXPECT_EQ(third.Names(), "e");
  EXPECT_EQ(third.continue_token(), "");
  EXPECT_EQ(third.At({"metadata", "remainingItemCount"}), "");
}

TEST_F(ListConformance, PagesBelongToOneState) {
  MakeSecrets("abcd");
  const Answer first = Page(2);
  Delete(Secrets("c"));
  MakeSecret("bb");
  Patch(Secrets("d"), kMerge, R"({"metadata":{"labels":{"new":"yes"}}})");
  const Answer second = Page(2, first.continue_token());
  EXPECT_EQ(second.Names(), "c d");
  EXPECT_EQ(second.version(), first.version());
  EXPECT_EQ(At(second.Items()[1], {"metadata", "labels", "new"}), "");
}

TEST_F(ListConformance, ALimitThatIsMetExactlyNeedsNoSecondPage) {
  MakeSecrets("ab");
  const Answer list = Page(2);
  EXPECT_EQ(list.Names(), "a b");
  EXPECT_EQ(list.continue_token(), "");
}

TEST_F(ListConformance, TheLimitMayChangeFromPageToPage) {
  MakeSecrets("abcd");
  const Answer first = Page(1);
  EXPECT_EQ(first.Names(), "a");
  const Answer rest = Get(Secrets() + "?continue=" + http::Escape(first.continue_token()));
  EXPECT_EQ(rest.Names(), "b c d");
}

TEST_F(ListConformance, APageOfASelectorCountsWhatItShowsAndDoesNotTellTheRest) {
  for (const char* name : {"a", "b", "c", "d"}) MakeSecret(name, name[0] % 2 == 0 ? R"({"even":"yes"})" : "{}");
  const Answer first = Get(Secrets() + "?limit=1&labelSelector=even");
  EXPECT_EQ(first.Names(), "b");
  EXPECT_EQ(first.At({"metadata", "remainingItemCount"}), "");
  const Answer second = Get(Secrets() + "?limit=1&labelSelector=even&continue=" + http::Escape(first.continue_token()));
  EXPECT_EQ(second.Names(), "d");
  EXPECT_EQ(second.continue_token(), "");
}

TEST_F(ListConformance, PagesOfOurKindsWorkAlike) {
  for (const char* name : {"a", "b", "c"}) MakeJob(name);
  const Answer first = Get(Jobs() + "?limit=2");
  EXPECT_EQ(first.Names(), "a b");
  EXPECT_EQ(first.At({"metadata", "remainingItemCount"}), "1");
  const Answer second = Get(Jobs() + "?limit=2&continue=" + http::Escape(first.continue_token()));
  EXPECT_EQ(second.Names(), "c");
  // The member is empty, where lists of core kinds have no such member.
  ASSERT_NE(FindPath(second.json, {"metadata", "continue"}), nullptr);
  EXPECT_EQ(second.continue_token(), "");
}

TEST_F(ListConformance, PagesCrossNamespaces) {
  const std::string other = MakeNamespace();
  for (const std::string& where : {ns(), other}) {
    for (const char* name : {"x", "y"}) {
      Post(fmt::format("/api/v1/namespaces/{}/secrets", where), SecretBody(name, R"({"pages":"yes"})"));
    }
  }
  std::multiset<std::string> seen;
  std::string token;
  for (int page = 0; page < 10; ++page) {
    const Answer list = Get("/api/v1/secrets?labelSelector=pages&limit=1&continue=" + http::Escape(token));
    ASSERT_EQ(list.status, 200) << list;
    for (const json::value& item : list.Items()) {
      const std::string where = At(item, {"metadata", "namespace"});
      if (where == ns() || where == other) seen.insert(where + "/" + NameOf(item));
    }
    token = list.continue_token();
    if (token.empty()) break;
  }
  EXPECT_EQ(seen, (std::multiset<std::string>{ns() + "/x", ns() + "/y", other + "/x", other + "/y"}));
}

TEST_F(ListConformance, APageMayStartFromVersionZeroAndIsThenWholeOrContinued) {
  MakeSecrets("abc");
  ASSERT_TRUE(Eventually([&] { return Get(Secrets() + "?resourceVersion=0").Names() == "a b c"; }));
  // The watch cache ignores a limit.
  EXPECT_EQ(Get(Secrets() + "?resourceVersion=0&limit=1").Names(), "a b c");
}

// ---- compacted versions, with Events, of which a real server keeps no cache ----

TEST_F(ListConformance, APageOfAForgottenStateIs410WithATokenForTheRest) {
  for (const char* name : {"a", "b", "c"}) MakeEvent(name);
  const Answer first = Get(Core("events") + "?limit=1");
  MakeEvent("bb");
  ForgetHistory();
  const Answer gone = Get(Core("events") + "?limit=1&continue=" + http::Escape(first.continue_token()));
  EXPECT_EQ(gone.status, 410) << gone;
  EXPECT_EQ(gone.reason(), "Expired");
  EXPECT_TRUE(gone.message().starts_with("The provided continue parameter is too old to display a consistent list"))
      << gone;
  // The rest comes from the present state, and so contains the object that was made meanwhile.
  const Answer rest = Get(Core("events") + "?continue=" + http::Escape(gone.continue_token()));
  EXPECT_EQ(rest.status, 200) << rest;
  EXPECT_EQ(rest.Names(), "b bb c");
}

TEST_F(ListConformance, AnExactVersionThatIsForgottenIs410) {
  const Answer a = MakeEvent("a");
  MakeEvent("b");
  ForgetHistory();
  const Answer gone = Get(Core("events") + "?resourceVersionMatch=Exact&resourceVersion=" + a.version());
  EXPECT_EQ(gone.status, 410) << gone;
  EXPECT_EQ(gone.reason(), "Expired");
  EXPECT_EQ(gone.message(), "The resourceVersion for the provided list is too old.");
  EXPECT_EQ(gone.continue_token(), "");
}

TEST_F(ListConformance, NotOlderThanAForgottenVersionIsTheStateThatIs) {
  const Answer a = MakeSecret("a");
  MakeSecret("b");
  ForgetHistory();
  EXPECT_TRUE(Eventually([&] { return Get(Secrets() + "?resourceVersion=" + a.version()).Names() == "a b"; }));
}

// ---- refusals ----

struct RefusedList {
  const char* name;
  const char* query;
  int status;
  const char* reason;
  const char* message;
};

class RefusedLists : public Conformance, public ::testing::WithParamInterface<RefusedList> {};

TEST_P(RefusedLists, AreToldAsAStatus) {
  for (const std::string& path : {Secrets(), Jobs()}) {
    const Answer list = Get(fmt::format("{}?{}", path, GetParam().query));
    EXPECT_EQ(list.status, GetParam().status) << list;
    EXPECT_EQ(list.At({"kind"}), "Status");
    EXPECT_EQ(list.At({"apiVersion"}), "v1");
    EXPECT_EQ(list.At({"status"}), "Failure");
    EXPECT_EQ(list.At({"code"}), fmt::to_string(GetParam().status));
    EXPECT_EQ(list.reason(), GetParam().reason);
    EXPECT_EQ(list.message(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    ListConformance, RefusedLists,
    ::testing::Values(
        RefusedList{"VersionIsText", "resourceVersion=abc", 400, "BadRequest",
                    R"(invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: )"
                    R"(parsing "abc": invalid syntax)"},
        RefusedList{"VersionIsNegative", "resourceVersion=-1", 400, "BadRequest",
                    R"(invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: )"
                    R"(parsing "-1": invalid syntax)"},
        RefusedList{"MatchWithoutVersion", "resourceVersionMatch=Exact", 422, "Invalid",
                    R"(ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: )"
                    "resourceVersionMatch is forbidden unless resourceVersion is provided"},
        RefusedList{"MatchUnknown", "resourceVersionMatch=Bogus&resourceVersion=1", 422, "Invalid",
                    R"(ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Bogus": )"
                    R"(supported values: "Exact", "NotOlderThan", "")"},
        RefusedList{"ExactZero", "resourceVersionMatch=Exact&resourceVersion=0", 422, "Invalid",
                    R"(ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: )"
                    R"(resourceVersionMatch "exact" is forbidden for resourceVersion "0")"},
        RefusedList{"MatchWithContinue", "continue=x&resourceVersionMatch=Exact&resourceVersion=5", 422, "Invalid",
                    R"(ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: )"
                    "resourceVersionMatch is forbidden when continue is provided"},
        RefusedList{"StreamingIsForWatches", "sendInitialEvents=true", 422, "Invalid",
                    R"(ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: )"
                    "sendInitialEvents is forbidden for list"},
        RefusedList{"LimitIsText", "limit=abc", 400, "BadRequest",
                    R"(strconv.ParseInt: parsing "abc": invalid syntax)"},
        RefusedList{"LimitIsTooLarge", "limit=99999999999999999999", 400, "BadRequest",
                    R"(strconv.ParseInt: parsing "99999999999999999999": value out of range)"},
        RefusedList{"TimeoutSecondsIsText", "timeoutSeconds=abc", 400, "BadRequest",
                    R"(strconv.ParseInt: parsing "abc": invalid syntax)"},
        RefusedList{"ContinueIsNotBase64", "continue=%25%25%25", 400, "BadRequest",
                    "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"},
        RefusedList{"ContinueOfAnotherServer", "continue=eyJ2IjoiYm9ndXMiLCJydiI6MSwic3RhcnQiOiJiIn0", 400,
                    "BadRequest",
                    "invalid continue token: continue key is not valid: server does not recognize this encoded "
                    "version bogus"},
        RefusedList{"ContinueWithoutStart", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0", 400, "BadRequest",
                    "invalid continue token: continue key is not valid: encoded start key empty (version "
                    "meta.k8s.io/v1)"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ListConformance, ATokenOfGarbageIsABadRequest) {
  const Answer list = Get(Secrets() + "?continue=nonsense");
  EXPECT_EQ(list.status, 400) << list;
  EXPECT_EQ(list.reason(), "BadRequest");
  EXPECT_TRUE(list.message().starts_with("invalid continue token: continue key is not valid: ")) << list;
}

TEST_F(ListConformance, AVersionBesideATokenIsABadRequest) {
  MakeSecrets("ab");
  const std::string token = http::Escape(Page(1).continue_token());
  const Answer list = Get(Secrets() + "?resourceVersion=5&continue=" + token);
  EXPECT_EQ(list.status, 400) << list;
  EXPECT_EQ(list.message(), "specifying resource version is not allowed when using continue");
  EXPECT_EQ(Get(Secrets() + "?resourceVersion=0&continue=" + token).Names(), "b");
}

// ---- parameters that do not matter ----

class HarmlessParameters : public Conformance, public ::testing::WithParamInterface<const char*> {};

TEST_P(HarmlessParameters, LeaveTheListAsItIs) {
  for (const char* name : {"a", "b"}) MakeSecret(name);
  const Answer list = Get(fmt::format("{}?{}", Secrets(), GetParam()));
  EXPECT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.Names(), "a b");
}

INSTANTIATE_TEST_SUITE_P(ListConformance, HarmlessParameters,
                         ::testing::Values("unknown=1", "pretty=true", "allowWatchBookmarks=true", "limit=0",
                                           "limit=-1", "watch=false", "watch=0", "timeout=10s", "timeout=0s",
                                           "timeoutSeconds=10", "labelSelector=", "fieldSelector=", "continue="));

}  // namespace
}  // namespace basalt::conformance
