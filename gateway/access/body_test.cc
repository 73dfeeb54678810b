#include "gateway/access/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;
constexpr v1::ServiceKind kGroup = v1::SERVICE_KIND_POD_GROUP;
constexpr v1::ServiceKind kQueue = v1::SERVICE_KIND_QUEUE;
constexpr v1::ServiceKind kNobody = v1::SERVICE_KIND_UNSPECIFIED;

std::string Owned(const std::string& job, const std::string& controller = "true",
                  const std::string& api_version = "batch.volcano.sh/v1alpha1", const std::string& kind = "Job") {
  return R"("ownerReferences":[{"apiVersion":")" + api_version + R"(","kind":")" + kind + R"(","name":")" + job +
         R"(","controller":)" + controller + "}]";
}

TEST(CheckCreatedBodyTest, ACreatedObjectNamesTheKeyThatItBelongsTo) {
  const std::string label = R"("labels":{"volcano.sh/job-name":"j"})";
  const struct {
    v1::ServiceKind service;
    std::string plural;
    std::string name;
    std::string body;
    std::string refused;  // Empty if the object may be created.
    std::string job_uid = "";
  } rows[] = {
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + "," + Owned("j") + "}}", ""},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + Owned("j") + "}}", "lacks that job's label"},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + "}}", "does not have that job as its controller"},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + "," + Owned("k") + "}}", "as its controller"},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + "," + Owned("j", "false") + "}}", "as its controller"},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + "," + Owned("j", "1") + "}}", "as its controller"},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + "," + Owned("j", "true", "batch/v1") + "}}",
       "as its controller"},
      {kJob, "pods", "j-t-0", "{\"metadata\":{" + label + R"(,"ownerReferences":{"name":"j"}}})", "as its controller"},
      {kJob, "secrets", "j-ssh", "{\"metadata\":{" + Owned("j") + "}}", ""},
      {kJob, "secrets", "j-ssh", "{}", "secrets 'j-ssh' for 'ns/j' does not have that job as its controller"},
      {kJob, "services", "j", "{\"metadata\":{" + Owned("k") + "}}", "as its controller"},
      {kJob, "persistentvolumeclaims", "any", "{\"metadata\":{}}", "as its controller"},
      {kJob, "secrets", "j-ssh", "{\"metadata\":{" + Owned("j") + "}}", "as its controller", "uid-j"},
      {kJob, "secrets", "j-ssh", "{\"metadata\":{" + Owned("j", R"(true,"uid":"uid-j")") + "}}", "", "uid-j"},
      {kJob, "secrets", "j-ssh", "{\"metadata\":{" + Owned("j", R"(true,"uid":"other")") + "}}", "as its controller",
       "uid-j"},
      {kJob, "jobs", "j", "{}", ""},
      {kJob, "commands", "c", R"({"target":{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j"}})", ""},
      {kJob, "commands", "c", R"({"target":{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"k"}})",
       "does not have that job as its target"},
      {kJob, "commands", "c", R"({"target":{"apiVersion":"bus/v1","kind":"Queue","name":"j"}})", "as its target"},
      {kJob, "commands", "c", "{}", "as its target"},
      {kJob, "events", "j.1", R"({"involvedObject":{"kind":"Job","namespace":"ns","name":"j"}})", ""},
      {kJob, "events", "j.1", R"({"involvedObject":{"kind":"Job","namespace":"ns","name":"k"}})", "not about that job"},
      {kJob, "events", "j.1", R"({"involvedObject":{"kind":"Pod","namespace":"ns","name":"j"}})", "not about that job"},
      {kJob, "events", "j.1", R"({"involvedObject":{"kind":"Job","namespace":"kube-system","name":"j"}})",
       "not about that job"},
      {kGroup, "events", "p.1", R"({"involvedObject":{"kind":"Pod","namespace":"ns","name":"p"}})", ""},
      {kGroup, "events", "k.1", R"({"involvedObject":{"kind":"Karta","name":"k"}})", ""},
      {kGroup, "events", "k.1", R"({"involvedObject":{"kind":"Karta","name":"other"}})", "nor about a Karta"},
      {kGroup, "events", "p.1", R"({"involvedObject":{"kind":"Node","namespace":"ns","name":"p"}})",
       "not about its pod"},
      {kGroup, "podgroups", "j", "{}", ""},  // The name suffices.
      {kQueue, "queues", "j", "{}", ""},
      {kQueue, "commands", "c",
       R"({"target":{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","name":"ns/j"}})", ""},
      {kQueue, "commands", "c",
       R"({"target":{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","name":"other"}})",
       "does not have that queue as its target"},
      {kQueue, "commands", "c", R"({"target":{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"ns/j"}})",
       "that queue as its target"},
      {kQueue, "events", "q.1", R"({"involvedObject":{"kind":"Queue","name":"q"}})", ""},
      {kQueue, "events", "q.1", R"({"involvedObject":{"kind":"Queue","name":"other"}})", "not about that queue"},
      {kQueue, "events", "q.1", R"({"involvedObject":{"kind":"Queue","namespace":"ns","name":"q"}})",
       "not about that queue"},
      {kQueue, "events", "q.1", R"({"involvedObject":{"kind":"Node","name":"q"}})", "not about that queue"},
      {kNobody, "configmaps", "basalt", "{}", ""},  // The gateway itself has no owner.
  };
  for (const auto& row : rows) {
    v1::WriteRequest request;
    request.mutable_owner()->mutable_member()->set_service(row.service);
    if (row.service != kNobody) request.mutable_owner()->set_key("ns/j");
    request.mutable_resource()->set_plural(row.plural);
    request.set_namespace_("ns");
    request.set_name(row.name);
    const absl::StatusOr<json::value> body = ParseJson(row.body);
    ASSERT_TRUE(body.ok()) << row.body;
    const absl::Status status = CheckCreatedBody(request, *body, row.job_uid);
    EXPECT_EQ(status.ok(), row.refused.empty()) << row.plural << " " << row.body << ": " << status;
    if (row.refused.empty()) continue;
    const bool is_of_another_job = status.message().find("another job of that name now") != std::string::npos;
    EXPECT_EQ(status.code(), is_of_another_job ? absl::StatusCode::kUnavailable : absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(is_of_another_job, !row.job_uid.empty());
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.refused)) << row.plural << " " << row.body;
  }
}

}  // namespace
}  // namespace basalt::gateway
