#include "gateway/kube/write/kube_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"

namespace basalt::gateway {
namespace {

v1::WriteRequest Request(const std::string& text) {
  v1::WriteRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

// Returns method, target, content type and body of the request.
std::string Prepared(const std::string& text) {
  const absl::StatusOr<KubeRequest> prepared = PrepareWrite(Request(text), "basalt", "gateway/1");
  if (!prepared.ok()) return std::string(prepared.status().message());
  EXPECT_NE(http::FindHeader(prepared->headers, "Accept"), "");
  std::string out = prepared->method + " " + prepared->target;
  const std::string_view type = http::FindHeader(prepared->headers, "Content-Type");
  if (!type.empty()) out += " " + std::string(type);
  if (!prepared->body.empty()) out += " " + prepared->body;
  return out;
}

const std::string kPod = R"(resource { version: "v1" plural: "pods" } namespace: "n" name: "p" )";
const std::string kJob =
    R"(resource { group: "batch.volcano.sh" version: "v1alpha1" plural: "jobs" } namespace: "n" name: "j" )";

// Writes of one object go out one after the other.
TEST(PrepareWriteTest, CollectionsThatChooseByOtherLabelsDoNotWaitForEachOther) {
  const auto key_of = [](const std::string& labels) {
    const auto prepared =
        PrepareWrite(Request(R"(resource { version: "v1" plural: "pods" } namespace: "n" delete_collection {)"
                             " label_selector: \"" +
                             labels + "\" }"),
                     "basalt", "gateway/1");
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    return prepared.ok() ? prepared->object_key : std::string();
  };
  EXPECT_EQ(key_of("a=1"), key_of("a=1"));
  EXPECT_NE(key_of("a=1"), key_of("a=2"));
}

TEST(PrepareWriteTest, EveryOperationBecomesItsRequest) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {kPod + R"(create { body: '{"metadata":{"name":"p"}}' })",
       R"(POST /api/v1/namespaces/n/pods?fieldManager=basalt application/json {"metadata":{"name":"p"}})"},
      {R"(resource { version: "v1" plural: "namespaces" } name: "x" create { body: '{"metadata":{"name":"x"}}' })",
       R"(POST /api/v1/namespaces?fieldManager=basalt application/json {"metadata":{"name":"x"}})"},
      {kPod + R"(subresource: "binding" create { body: '{"metadata":{"name":"p"}}' })",
       R"(POST /api/v1/namespaces/n/pods/p/binding?fieldManager=basalt application/json {"metadata":{"name":"p"}})"},
      {kJob + R"(subresource: "status" patch { type: TYPE_MERGE body: '{"status":{"a":null}}' uid: "u"
              resource_version: 7 })",
       "PATCH /apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/j/status?fieldManager=basalt "
       "application/merge-patch+json "
       R"({"status":{"a":null},"metadata":{"uid":"u","resourceVersion":"7"}})"},
      {kJob + R"(patch { type: TYPE_MERGE body: '{"metadata":{"labels":{"a":"b"}}}' uid: "u" })",
       "PATCH /apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/j?fieldManager=basalt application/merge-patch+json "
       R"({"metadata":{"labels":{"a":"b"},"uid":"u"}})"},
      {kPod + R"(patch { type: TYPE_MERGE body: '{}' resource_version: 9 field_manager: "m" })",
       "PATCH /api/v1/namespaces/n/pods/p?fieldManager=m application/merge-patch+json "
       R"({"metadata":{"resourceVersion":"9"}})"},
      {kPod + R"(patch { type: TYPE_MERGE body: '{"a":1}' })",
       R"(PATCH /api/v1/namespaces/n/pods/p?fieldManager=basalt application/merge-patch+json {"a":1})"},
      {kPod + R"(patch { type: TYPE_JSON body: '[{"op":"remove","path":"/a"}]' uid: "u" resource_version: 7 })",
       "PATCH /api/v1/namespaces/n/pods/p?fieldManager=basalt application/json-patch+json "
       R"([{"op":"test","path":"/metadata/uid","value":"u"},)"
       R"({"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/a"}])"},
      {kPod + R"(patch { type: TYPE_APPLY body: '{"kind":"Pod"}' field_manager: "q" force: true })",
       "PATCH /api/v1/namespaces/n/pods/p?fieldManager=q&force=true application/apply-patch+yaml {\"kind\":\"Pod\"}"},
      {kPod + R"(delete { uid: "u" })",
       "DELETE /api/v1/namespaces/n/pods/p application/json "
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}})"},
      {kPod + R"(delete { uid: "u" resource_version: 5 propagation_policy: "Background" grace_period_seconds: 0 })",
       "DELETE /api/v1/namespaces/n/pods/p application/json "
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u","resourceVersion":"5"},)"
       R"("propagationPolicy":"Background","gracePeriodSeconds":0})"},
      {R"(resource { version: "v1" plural: "pods" } namespace: "n"
          delete_collection { label_selector: "a=b,c" field_selector: "status.phase!=Failed" })",
       "DELETE /api/v1/namespaces/n/pods?labelSelector=a%3Db%2Cc&fieldSelector=status.phase%21%3DFailed "
       "application/json "
       R"({"kind":"DeleteOptions","apiVersion":"v1"})"},
      {R"(resource { version: "v1" plural: "pods" } namespace: "n" dry_run: true
          delete_collection { label_selector: "a" })",
       "DELETE /api/v1/namespaces/n/pods?labelSelector=a application/json "
       R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]})"},
      {kPod + R"(dry_run: true create { body: '{"metadata":{"name":"p"}}' })",
       "POST /api/v1/namespaces/n/pods?fieldManager=basalt&dryRun=All application/json "
       R"({"metadata":{"name":"p"}})"},
      {kPod + R"(dry_run: true delete { uid: "u" })",
       "DELETE /api/v1/namespaces/n/pods/p application/json "
       R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"],"preconditions":{"uid":"u"}})"},
  };
  for (const auto& [request, expected] : cases) EXPECT_EQ(Prepared(request), expected) << request;
}

TEST(PrepareWriteTest, NamesItsOwner) {
  const struct {
    std::string owner, wanted;
  } rows[] = {
      {R"(owner { member { replica: "jobsvc-0" incarnation: "f3a" } slot: 17 slot_epoch: 4 })",
       "gateway/1 (jobsvc-0/f3a slot 17 epoch 4)"},
      {"", "gateway/1 (/ slot 0 epoch 0)"},
      {R"(owner { member { replica: "a\r\nX-Evil: b" incarnation: "\303\244(" } })",
       "gateway/1 (a__X-Evil__b/___ slot 0 epoch 0)"},
      {"owner { member { replica: \"" + std::string(300, 'r') + "\" } }",
       "gateway/1 (" + std::string(253, 'r') + "/ slot 0 epoch 0)"},
  };
  for (const auto& row : rows) {
    const absl::StatusOr<KubeRequest> prepared =
        PrepareWrite(Request(kPod + R"(delete { uid: "u" } )" + row.owner), "basalt", "gateway/1");
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_EQ(http::FindHeader(prepared->headers, "User-Agent"), row.wanted);
  }
}

TEST(PrepareWriteTest, AMistakeIsRefusedByItsField) {
  const std::vector<std::pair<std::string, std::string_view>> cases = {
      {kPod, "operation is not set"},
      {R"(name: "p" delete { uid: "u" })", "resource:"},
      {R"(resource { version: "v1" plural: "pods" } delete { uid: "u" })", "name is needed"},
      {R"(resource { version: "v1" plural: "pods" } name: "a/b" delete { uid: "u" })", "name: 'a/b'"},
      {R"(resource { version: "v1" plural: "pods" } namespace: ".." name: "p" delete { uid: "u" })", "namespace: '..'"},
      {kPod + "delete {}", "delete.uid"},
      {kPod + R"(create { body: '{"metadata":{"generateName":"p-"}}' })", "generateName is refused"},
      {kPod + R"(create { body: '{"metadata":{"name":"p","generateName":""}}' })", "generateName is refused"},
      {kPod + R"(create { body: '{"metadata":{"name":"other"}}' })", "metadata.name is 'other'"},
      {kPod + R"(create { body: '{}' })", "metadata.name is ''"},
      {kPod + R"(create { body: '[]' })", "create.body: expected a JSON object"},
      {kPod + R"(create { body: '{' })", "create.body: not valid JSON"},
      {kPod + R"(patch { body: '{}' })", "patch.type"},
      {kPod + R"(patch { type: TYPE_STRATEGIC body: '{}' })", "patch.type"},
      {kPod + R"(patch { type: TYPE_MERGE body: '5' uid: "u" })", "patch.body: expected a JSON object"},
      {kPod + R"(patch { type: TYPE_MERGE body: '{"metadata":5}' uid: "u" })", "metadata is not an object"},
      {kPod + R"(patch { type: TYPE_JSON body: '{}' })", "patch.body: expected a JSON list"},
      {kPod + R"(patch { type: TYPE_MERGE body: '{}' force: true })", "patch.force"},
      {kPod + R"(delete_collection { label_selector: "a" })", "name and subresource must be empty"},
      {R"(resource { version: "v1" plural: "pods" } namespace: "n" delete_collection {})", "label_selector is needed"},
  };
  for (const auto& [text, words] : cases) {
    const absl::StatusOr<KubeRequest> prepared = PrepareWrite(Request(text), "basalt", "gateway/1");
    EXPECT_EQ(prepared.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(prepared.status().message().find(absl::string_view(words.data(), words.size())), absl::string_view::npos)
        << text << ": " << prepared.status();
  }
}

TEST(PrepareWriteTest, NoSecretIsAskedForButThoseOfThePluginSsh) {
  const std::string secret = R"(resource { version: "v1" plural: "secrets" } namespace: "n" name: )";
  for (const std::string operation : {R"(delete { uid: "u" })", R"(patch { type: TYPE_MERGE body: '{}' })"}) {
    const auto refused = PrepareWrite(Request(secret + R"("token" )" + operation), "basalt", "gateway/1");
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied) << refused.status();
    EXPECT_TRUE(PrepareWrite(Request(secret + R"("j-ssh" )" + operation), "basalt", "gateway/1").ok());
  }
  v1::GetRequest get;
  get.mutable_resource()->set_version("v1");
  get.mutable_resource()->set_plural("secrets");
  get.set_namespace_("n");
  get.set_name("token");
  EXPECT_EQ(PrepareGet(get, "gateway/1").status().code(), absl::StatusCode::kPermissionDenied);
  get.set_name("j-ssh");
  EXPECT_TRUE(PrepareGet(get, "gateway/1").ok());
}

TEST(ReadWrittenTest, TellsADeletionThatLingersFromOneThatIsDone) {
  const std::string deleting = R"("name":"p","uid":"u","deletionTimestamp":"2026-01-02T15:04:05Z")";
  const std::vector<std::pair<std::string, bool>> cases = {
      {R"({"kind":"Status","apiVersion":"v1","status":"Success"})", true},
      {R"({"metadata":{"name":"p","uid":"u"}})", true},
      {R"({"metadata":{)" + deleting + R"(,"deletionGracePeriodSeconds":30}})", false},
      {R"({"metadata":{)" + deleting + R"(,"deletionGracePeriodSeconds":0}})", true},
      {R"({"metadata":{)" + deleting + R"(,"deletionGracePeriodSeconds":0,"finalizers":["f"]}})", false},
      {R"({"metadata":{)" + deleting + R"(,"finalizers":["foregroundDeletion"]}})", false},
  };
  Decoder decoder(ObjectKind::kPod);
  for (const auto& [body, gone] : cases) {
    const absl::StatusOr<v1::WriteResponse> response =
        ReadWritten(Request(kPod + R"(delete { uid: "u" })"), {.status = 200, .headers = {}, .body = body}, decoder);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->gone(), gone) << body;
  }
}

TEST(ReadWrittenTest, ADryRunHasMadeNothingThatACacheMayKeep) {
  Decoder decoder(ObjectKind::kJob);
  const absl::StatusOr<v1::WriteResponse> response =
      ReadWritten(Request(kJob + R"(dry_run: true create { })"),
                  {.status = 201, .headers = {}, .body = R"({"metadata":{"name":"j","uid":"u"}})"}, decoder);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->outcome_case(), v1::WriteResponse::OUTCOME_NOT_SET);
}

}  // namespace
}  // namespace basalt::gateway
