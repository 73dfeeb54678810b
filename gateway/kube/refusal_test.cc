#include "gateway/kube/refusal.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::gateway {
namespace {

TEST(ReadRefusalTest, AnotherUidIsAConflict) {
  const auto reason = [](int status, const std::string& body) {
    return ReadRefusal({.status = status, .headers = {}, .body = body}).reason();
  };
  EXPECT_EQ(reason(422, R"({"reason":"Invalid","details":{"causes":[{"field":"metadata.uid"}]}})"), "Conflict");
  EXPECT_EQ(reason(422, R"({"reason":"Invalid","details":{"causes":[{"field":"spec.a"}]}})"), "Invalid");
  EXPECT_EQ(reason(422, R"({"reason":"Invalid","message":"testing value /metadata/uid failed: test failed"})"),
            "Conflict");
  EXPECT_EQ(reason(409, R"({"reason":"Conflict","message":"Precondition failed: UID in precondition"})"), "Conflict");
  EXPECT_EQ(reason(409, R"({"reason":"AlreadyExists"})"), "AlreadyExists");
}

TEST(ReadRefusalTest, AKindThatIsNotServedIsSaidInWords) {
  const auto message = [](int status, const std::string& body, std::string_view target) {
    return ReadRefusal({.status = status, .headers = {}, .body = body}, target).message();
  };
  const std::string page = "404 page not found\n";
  const std::string missing =
      "the API server does not serve jobs as batch.volcano.sh/v1alpha1: the definition jobs.batch.volcano.sh is "
      "missing, "
      "or has no such version; kubectl apply -f deploy/crds";
  EXPECT_EQ(message(404, page, "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs?dryRun=All"), missing);
  EXPECT_EQ(message(404, page, "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/a/status"), missing);
  EXPECT_EQ(message(404, page, "/apis/scheduling.volcano.sh/v1beta1/queues/q"),
            "the API server does not serve queues as scheduling.volcano.sh/v1beta1: the definition "
            "queues.scheduling.volcano.sh is missing, or has no such version; kubectl apply -f deploy/crds");
  EXPECT_EQ(message(404, R"({"kind":"Status","message":"jobs \"a\" not found"})",
                    "/apis/batch.volcano.sh/v1alpha1/namespaces/d/jobs/a"),
            "jobs \"a\" not found");
  EXPECT_EQ(message(404, page, "/api/v1/namespaces/d/pods/p"), "HTTP 404: 404 page not found ");
  EXPECT_EQ(message(404, page, "/apis/x"), "HTTP 404: 404 page not found ");
  EXPECT_EQ(message(503, page, "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"),
            "HTTP 503: 404 page not found ");
}

TEST(ReadRefusalTest, RetryAfterComesFromHeaderOrBody) {
  EXPECT_EQ(ReadRefusal({.status = 429, .headers = {{"retry-after", "3"}}, .body = ""}).retry_after_ms(), 3000);
  EXPECT_EQ(ReadRefusal({.status = 429, .headers = {{"Retry-After", "0"}}, .body = ""}).retry_after_ms(), 1);
  EXPECT_EQ(ReadRefusal({.status = 429, .headers = {{"Retry-After", "soon"}}, .body = ""}).retry_after_ms(), 0);
  EXPECT_EQ(
      ReadRefusal({.status = 503, .headers = {}, .body = R"({"details":{"retryAfterSeconds":2}})"}).retry_after_ms(),
      2000);
}

TEST(IsMissingRightTest, OnlyRbacsOwnRefusalIsAMissingRight) {
  const struct {
    int code;
    std::string_view message;
    bool missing;
  } cases[] = {
      {403,
       R"(pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in)"
       R"( the namespace "default")",
       true},
      {403, R"(pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4)", false},
      {403, R"(pods "p" is forbidden: unable to create new content in namespace n because it is being terminated)",
       false},
      {409, R"(User "x" cannot create resource "pods")", false},
  };
  for (const auto& c : cases) {
    v1::KubeError error;
    error.set_code(c.code);
    error.set_message(std::string(c.message));
    EXPECT_EQ(IsMissingRight(error), c.missing) << c.message;
  }
}

TEST(IsOfServerTest, OnlyWhatIsNoStatusWasRefusedForAllRequests) {
  const struct {
    std::string_view what;
    std::string_view body;
    bool of_server;
  } cases[] = {
      {"API Priority and Fairness", "Too many requests, please try again later.\n", true},
      {"a server that shuts down", "The apiserver is shutting down, please try again later.\n", true},
      {"a proxy's page", "<html><body><h1>503 Service Unavailable</h1></body></html>", true},
      {"a proxy's JSON", R"({"error":"too many requests"})", true},
      {"no body", "", true},
      {"an admission webhook",
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"admission webhook \"w\" denied)"
       R"( the request: later","reason":"TooManyRequests","details":{"retryAfterSeconds":86400},"code":429})",
       false},
      {"the storage of one kind",
       R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"storage is (re)initializing",)"
       R"("reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429})",
       false},
  };
  for (const auto& c : cases) EXPECT_EQ(IsOfServer(c.body), c.of_server) << c.what;
}

TEST(RefusalTest, ImpersonationIsRefusedInTheServersOwnWordsAlone) {
  const struct {
    int code;
    const char* message;
    bool is_refused;
  } cases[] = {
      {403, R"(users "ann" is forbidden: User "gateway" cannot impersonate resource "users" in API group "")", true},
      {403, R"(jobs is forbidden: User "gateway" cannot impersonate-on:user-info:create resource "jobs")", true},
      {403, R"(jobs is forbidden: User "a\" cannot impersonate" cannot create resource "jobs")", false},
      {403, R"(jobs "j" is forbidden: ValidatingAdmissionPolicy 'p' denied: User "x" cannot impersonate)", false},
      {403, R"(jobs is forbidden: User "ann" cannot create resource "jobs")", false},
      {409, R"(users "ann" is forbidden: User "gateway" cannot impersonate resource "users")", false},
  };
  for (const auto& test : cases) {
    v1::KubeError error;
    error.set_code(test.code);
    error.set_message(test.message);
    EXPECT_EQ(IsImpersonationRefused(error), test.is_refused) << test.message;
  }
}

}  // namespace
}  // namespace basalt::gateway
