// Refusals of paths, methods, bodies, options and times, and the headers that every answer has.
#include "common/http/date.h"
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

class ErrorConformance : public Conformance {
 protected:
  // Expects an answer of a request that had no effect, as a Status object.
  static void ExpectStatus(const Answer& answer, int code, std::string_view reason, std::string_view message) {
    EXPECT_EQ(answer.status, code) << answer;
    EXPECT_EQ(answer.Header("Content-Type"), "application/json");
    EXPECT_EQ(answer.At({"kind"}), "Status");
    EXPECT_EQ(answer.At({"apiVersion"}), "v1");
    EXPECT_EQ(answer.At({"status"}), "Failure");
    EXPECT_EQ(answer.At({"code"}), fmt::to_string(code));
    EXPECT_EQ(answer.reason(), reason);
    EXPECT_EQ(answer.message(), message);
  }
  static void ExpectNoPage(const Answer& answer) {
    EXPECT_EQ(answer.status, 404) << answer;
    EXPECT_EQ(answer.Header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(answer.body, "404 page not found\n");
  }
};

// ---- missing objects and paths ----

TEST_F(ErrorConformance, AMissingObjectIsNotFoundWithItsNameAndResource) {
  const Answer secret = Get(Secrets("nosuch"));
  ExpectStatus(secret, 404, "NotFound", R"(secrets "nosuch" not found)");
  EXPECT_EQ(secret.At({"details", "name"}), "nosuch");
  EXPECT_EQ(secret.At({"details", "kind"}), "secrets");
  EXPECT_EQ(secret.At({"details", "group"}), "");
  const Answer job = Get(Jobs("nosuch"));
  ExpectStatus(job, 404, "NotFound", R"(jobs.batch.volcano.sh "nosuch" not found)");
  EXPECT_EQ(job.At({"details", "kind"}), "jobs");
  EXPECT_EQ(job.At({"details", "group"}), "batch.volcano.sh");
}

// The cases of writes have the other verbs.
TEST_F(ErrorConformance, ASubresourceOfAMissingObjectIsNotFound) {
  EXPECT_EQ(Get(Pods("nosuch") + "/status").status, 404);
  EXPECT_EQ(Get(Pods("nosuch") + "/log").status, 404);
}

struct MissingPath {
  const char* name;
  const char* method;
  const char* path;
};

class PathsOfCoreGroups : public ErrorConformance, public ::testing::WithParamInterface<MissingPath> {};

TEST_P(PathsOfCoreGroups, ThatAreNotThereAreAStatusWithoutDetails) {
  const Answer answer = Send(GetParam().method, GetParam().path);
  ExpectStatus(answer, 404, "NotFound", "the server could not find the requested resource");
  EXPECT_EQ(answer.At({"details"}), "{}");
}

INSTANTIATE_TEST_SUITE_P(
    ErrorConformance, PathsOfCoreGroups,
    ::testing::Values(MissingPath{"Resource", "GET", "/api/v1/nosuch"}, MissingPath{"Version", "GET", "/api/v2"},
                      MissingPath{"ResourceOfAVersion", "GET", "/api/v2/pods"},
                      MissingPath{"OldVersionOfAGroup", "GET", "/apis/apps/v1beta1/deployments"},
                      MissingPath{"ResourceOfAGroup", "GET", "/apis/apps/v1/nosuch"},
                      MissingPath{"ObjectWithoutNamespace", "GET", "/api/v1/secrets/a"},
                      MissingPath{"ClusterKindInANamespace", "GET", "/api/v1/namespaces/default/nodes"},
                      MissingPath{"SubResource", "GET", "/api/v1/namespaces/default/secrets/a/status"}),
    [](const auto& row) { return row.param.name; });

class OtherPaths : public ErrorConformance, public ::testing::WithParamInterface<MissingPath> {};

TEST_P(OtherPaths, ThatAreNotThereAreAPageOfText) { ExpectNoPage(Send(GetParam().method, GetParam().path)); }

INSTANTIATE_TEST_SUITE_P(
    ErrorConformance, OtherPaths,
    ::testing::Values(MissingPath{"Root", "GET", "/nosuch"}, MissingPath{"Group", "GET", "/apis/nosuch.io"},
                      MissingPath{"VersionOfAGroup", "GET", "/apis/nosuch.io/v1"},
                      MissingPath{"ResourceOfAGroup", "GET", "/apis/nosuch.io/v1/things"},
                      MissingPath{"ResourceOfOurs", "GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/x/nosuch"},
                      MissingPath{"OurVersionAlone", "GET", "/apis/batch.volcano.sh/v9"},
                      MissingPath{"VersionOfOurs", "GET", "/apis/batch.volcano.sh/v9/namespaces/x/jobs"},
                      MissingPath{"ObjectOfOursWithoutNamespace", "GET", "/apis/batch.volcano.sh/v1alpha1/jobs/j"},
                      MissingPath{"CreateOfOursWithoutNamespace", "POST", "/apis/batch.volcano.sh/v1alpha1/jobs"},
                      MissingPath{"DeletionOfOursWithoutNamespace", "DELETE", "/apis/batch.volcano.sh/v1alpha1/jobs"},
                      MissingPath{"OurClusterKindInANamespace", "GET",
                                  "/apis/scheduling.volcano.sh/v1beta1/namespaces/x/queues"}),
    [](const auto& row) { return row.param.name; });

// ---- methods ----

class Methods : public ErrorConformance, public ::testing::WithParamInterface<MissingPath> {};

TEST_P(Methods, ThatAPathDoesNotHaveAreNotAllowed) {
  MakeSecret("a");
  const std::string path = fmt::format(fmt::runtime(GetParam().path), ns());
  const Answer answer = Send(GetParam().method, path, "", {{"Content-Type", kMerge}});
  ExpectStatus(answer, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  EXPECT_EQ(answer.At({"details"}), "{}");
}

INSTANTIATE_TEST_SUITE_P(
    ErrorConformance, Methods,
    ::testing::Values(MissingPath{"PutOfACollection", "PUT", "/api/v1/namespaces/{}/secrets"},
                      MissingPath{"PatchOfACollection", "PATCH", "/api/v1/namespaces/{}/secrets"},
                      MissingPath{"PostToAnObject", "POST", "/api/v1/namespaces/{}/secrets/a"},
                      MissingPath{"PostWithoutNamespace", "POST", "/api/v1/secrets"},
                      MissingPath{"DeletionWithoutNamespace", "DELETE", "/api/v1/secrets"},
                      MissingPath{"DeletionOfAllNamespaces", "DELETE", "/api/v1/namespaces"},
                      MissingPath{"OptionsOfACollection", "OPTIONS", "/api/v1/namespaces/{}/secrets"},
                      MissingPath{"OptionsOfAnObject", "OPTIONS", "/api/v1/namespaces/{}/secrets/a"},
                      MissingPath{"UnknownMethod", "FOO", "/api/v1/namespaces/{}/secrets"},
                      MissingPath{"PostToTheVersion", "POST", "/version"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ErrorConformance, ResourcesHaveNoHead) {
  MakeSecret("a");
  EXPECT_EQ(Send("HEAD", Secrets()).status, 405);
  EXPECT_EQ(Send("HEAD", Secrets("a")).status, 405);
}

TEST_F(ErrorConformance, ASlashAtTheEndDoesNotMatter) {
  MakeSecret("a");
  EXPECT_EQ(Get(Secrets() + "/").Names(), "a");
  EXPECT_EQ(Get("/api/v1/").At({"kind"}), "APIResourceList");
}

// ---- bodies ----

TEST_F(ErrorConformance, ABodyThatIsNotJsonIsABadRequest) {
  for (const std::string& path : {Secrets(), Jobs()}) {
    for (const char* body : {"{bad", "[]", "\"text\""}) {
      const Answer answer = Post(path, body);
      EXPECT_EQ(answer.status, 400) << answer;
      EXPECT_EQ(answer.reason(), "BadRequest");
      EXPECT_NE(answer.message().find("couldn't get version/kind; json parse error"), std::string::npos) << answer;
    }
  }
}

TEST_F(ErrorConformance, AnEmptyBodyIsABadRequest) {
  EXPECT_EQ(Post(Secrets(), "", {{"Content-Type", "application/json"}}).status, 400);
  EXPECT_EQ(Post(Jobs(), "", {{"Content-Type", "application/json"}}).status, 400);
}

TEST_F(ErrorConformance, ABodyOfAnUnknownTypeIsUnsupported) {
  for (const auto& [path, body] : {std::pair{Secrets(), SecretBody("a")}, {Jobs(), JobBody("a")}}) {
    for (const char* type : {"text/plain", "application/xml"}) {
      ExpectStatus(Post(path, body, {{"Content-Type", type}}), 415, "UnsupportedMediaType",
                   "the body of the request was in an unknown format - accepted media types include: "
                   "application/json, application/yaml" +
                       ByServer<std::string>("", ", application/vnd.kubernetes.protobuf"));
    }
  }
}

TEST_F(ErrorConformance, APatchOfAnUnknownTypeIsUnsupported) {
  MakeSecret("a");
  MakeJob("j");
  for (const char* type : {"application/json", "text/plain"}) {
    const Answer core = Patch(Secrets("a"), type, "{}");
    EXPECT_EQ(core.status, 415) << core;
    EXPECT_EQ(core.reason(), "UnsupportedMediaType");
    EXPECT_EQ(core.message(), "415: Unsupported Media Type");
  }
  for (const char* type : {"application/json", kStrategic}) {
    ExpectStatus(Patch(Jobs("j"), type, "{}"), 415, "UnsupportedMediaType",
                 "the body of the request was in an unknown format - accepted media types include: "
                 "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
  }
}

TEST_F(ErrorConformance, ABodyAboveThreeMegabytesIsTooLarge) {
  const std::string data = fmt::format(R"({{"k":"{}"}})", std::string(3 << 20, 'x'));
  const Answer answer = Post(Configs(), ConfigBody("a", "{}", data));
  ExpectStatus(answer, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
}

// ---- options ----

TEST_F(ErrorConformance, AnUnknownDryRunIsInvalid) {
  const Answer answer = Post(Secrets() + "?dryRun=Bogus", SecretBody("a"));
  ExpectStatus(answer, 422, "Invalid",
               R"(CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Bogus"]: )"
               R"(supported values: "All")");
  EXPECT_EQ(answer.At({"details", "kind"}), "CreateOptions");
  EXPECT_EQ(answer.At({"details", "group"}), "meta.k8s.io");
  EXPECT_EQ(Get(Secrets()).Names(), "");
}

TEST_F(ErrorConformance, AnUnknownFieldValidationIsInvalid) {
  MakeSecret("a");
  const char* why = R"(fieldValidation: Unsupported value: "Bogus": supported values: "", "Ignore", "Strict", "Warn")";
  ExpectStatus(Post(Secrets() + "?fieldValidation=Bogus", SecretBody("b")), 422, "Invalid",
               fmt::format(R"(CreateOptions.meta.k8s.io "" is invalid: {})", why));
  ExpectStatus(Patch(Secrets("a") + "?fieldValidation=Bogus", kMerge, "{}"), 422, "Invalid",
               fmt::format(R"(PatchOptions.meta.k8s.io "" is invalid: {})", why));
}

TEST_F(ErrorConformance, AFieldManagerOfMoreThan128BytesIsInvalid) {
  const Answer answer = Post(fmt::format("{}?fieldManager={}", Secrets(), std::string(129, 'x')), SecretBody("a"));
  ExpectStatus(answer, 422, "Invalid",
               R"(CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes)");
  EXPECT_EQ(answer.Causes(),
            std::vector<std::string>{"FieldValueTooLong fieldManager: Too long: may not be more than 128 bytes"});
}

TEST_F(ErrorConformance, AnUnknownFieldOfOursIsRefusedByStrictValidation) {
  const std::string body =
      fmt::format(R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"a"}},)"
                  R"("spec":{{"bogus":1,"minAvailable":1,"tasks":[{{"name":"t","replicas":1,)"
                  R"("template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}]}}}})");
  ExpectStatus(Post(Jobs() + "?fieldValidation=Strict", body), 400, "BadRequest",
               R"(Job in version "v1alpha1" cannot be handled as a Job: strict decoding error: )"
               R"(unknown field "spec.bogus")");
  const Answer ignored = Post(Jobs() + "?fieldValidation=Ignore", body);
  EXPECT_EQ(ignored.status, 201) << ignored;
  EXPECT_EQ(ignored.Header("Warning"), "");
  EXPECT_EQ(ignored.At({"spec", "bogus"}), "");
}

TEST_F(ErrorConformance, AnUnknownFieldOfACoreKindIsRefusedByStrictValidation) {
  const Answer answer = Post(Pods() + "?fieldValidation=Strict", PodBody("a", "{}", R"(,"bogus":1)"));
  EXPECT_EQ(answer.status, ByServer(201, 400)) << answer;
  if (IsReal()) {
    EXPECT_EQ(answer.message(),
              R"(Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.bogus")");
  }
}

TEST_F(ErrorConformance, AnUnknownFieldIsDroppedWithAWarningUnlessAskedOtherwise) {
  std::string body = JobBody("a");
  body.insert(body.find("\"minAvailable\""), R"("bogus":1,)");
  const Answer answer = Post(Jobs(), body);
  EXPECT_EQ(answer.status, 201) << answer;
  EXPECT_EQ(answer.At({"spec", "bogus"}), "");
  EXPECT_EQ(answer.Header("Warning"), ByServer<std::string>("", R"(299 - "unknown field \"spec.bogus\"")"));
}

// ---- time ----

TEST_F(ErrorConformance, ATimeoutThatIsNoDurationIsABadRequest) {
  const char* why = R"(invalid timeout specified in the request URL - time: invalid duration "abc")";
  ExpectStatus(Get(Secrets() + "?timeout=abc"), 400, "BadRequest", why);
  ExpectStatus(Get(Secrets("a") + "?timeout=abc"), 400, "BadRequest", why);
  ExpectStatus(Post(Secrets() + "?timeout=abc", SecretBody("a")), 400, "BadRequest", why);
  EXPECT_EQ(Get(Secrets()).Names(), "");
}

TEST_F(ErrorConformance, ATimeoutThatHasPassedIsA504AndNothingIsPromised) {
  MakeSecret("b");
  EXPECT_EQ(Delete(Secrets("b") + "?timeout=1ns").status, 504);
  for (const Answer& answer : {Get(Secrets() + "?timeout=1ns"), Post(Secrets() + "?timeout=1ns", SecretBody("a"))}) {
    EXPECT_EQ(answer.status, 504) << answer;
    EXPECT_EQ(answer.reason(), "Timeout");
    EXPECT_EQ(answer.message(), "Timeout: request did not complete within the allotted timeout");
    EXPECT_EQ(answer.Header("Retry-After"), "");
  }
}

TEST_F(ErrorConformance, ATimeoutThatIsLongEnoughDoesNotMatter) {
  EXPECT_EQ(Post(Secrets() + "?timeout=30s", SecretBody("a")).status, 201);
  EXPECT_EQ(Get(Secrets() + "?timeout=1m30s").Names(), "a");
}

// ---- heads ----

TEST_F(ErrorConformance, EveryAnswerHasADate) {
  for (const char* path : {"/api/v1/namespaces/default", "/api/v1/nosuch", "/healthz", "/version"}) {
    const Answer answer = Get(path);
    EXPECT_TRUE(http::ParseDate(answer.Header("Date")).has_value()) << path << ": " << answer.Header("Date");
  }
}

TEST_F(ErrorConformance, NothingIsToBeCached) {
  for (const std::string& path : {Secrets(), Secrets("nosuch"), std::string("/version")}) {
    EXPECT_EQ(Get(path).Header("Cache-Control"), "no-cache, private") << path;
  }
}

TEST_F(ErrorConformance, ALargeAnswerIsCompressedForWhoAcceptsIt) {
  MakeConfig("a", "{}", fmt::format(R"({{"k":"{}"}})", std::string(300'000, 'x')));
  const Answer plain = Get(Configs("a"));
  EXPECT_EQ(plain.Header("Content-Encoding"), "");
  EXPECT_GT(plain.body.size(), 300'000U);
  const Answer packed = Get(Configs("a"), {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(packed.status, 200);
  EXPECT_EQ(packed.Header("Content-Encoding"), ByServer<std::string>("", "gzip"));
}

TEST_F(ErrorConformance, ASmallAnswerIsNotCompressed) {
  MakeSecret("a");
  const Answer answer = Get(Secrets("a"), {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(answer.Header("Content-Encoding"), "");
  EXPECT_NE(answer.uid(), "");
}

}  // namespace
}  // namespace basalt::conformance
