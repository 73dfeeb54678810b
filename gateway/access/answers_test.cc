#include "gateway/access/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "common/kube/requests.h"
#include "gateway/route/testing.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Owner OwnerOf(v1::ServiceKind service, const std::string& key) {
  v1::Owner owner;
  owner.mutable_member()->set_service(service);
  owner.set_key(key);
  return owner;
}

void AddReference(const std::string& kind, const std::string& name, kube::v1::ObjectMeta& meta) {
  kube::v1::OwnerReference& reference = *meta.add_owner_references();
  reference.set_api_version(kind == "Job" ? "batch.volcano.sh/v1alpha1" : "v1");
  reference.set_kind(kind);
  reference.set_name(name);
  reference.set_uid("uid-j");
}

kube::v1::Object SecretOrOther() {
  kube::v1::Object object;
  kube::v1::GenericObject& generic = *object.mutable_generic();
  generic.set_json(R"({"data":{"key":"c2VjcmV0"},"count":3})");
  testing::FillMeta(*generic.mutable_meta(), "j-ssh", 5, "");
  generic.mutable_meta()->set_deletion_ms(7);
  for (const char* key : {"kubectl.kubernetes.io/last-applied-configuration", "volcano.sh/preemptable"}) {
    kube::v1::KeyValue& annotation = *generic.mutable_meta()->add_annotations();
    annotation.set_key(key);
    annotation.set_value(key[0] == 'k' ? "c2VjcmV0" : "true");
  }
  generic.mutable_meta()->add_labels()->set_value("c2VjcmV0");
  AddReference("Pod", "c2VjcmV0", *generic.mutable_meta());
  AddReference("Job", "c2VjcmV0", *generic.mutable_meta());
  AddReference("Job", "j", *generic.mutable_meta());
  return object;
}

TEST(ReduceObjectTest, AJobIsToldOfItsObjectsOnlyWhoTheyAreAndThatTheyAreItsOwn) {
  for (const kube::Kind& kind : {kube::kSecrets, kube::kConfigMaps, kube::kServices, kube::kPersistentVolumeClaims}) {
    kube::v1::Object object = SecretOrOther();
    ReduceObject(OwnerOf(v1::SERVICE_KIND_JOB, "ns/j"), kube::ResourceOf(kind), object);
    const kube::v1::ObjectMeta& meta = object.generic().meta();
    EXPECT_EQ(object.generic().json(), "") << kind.name;
    EXPECT_THAT(object.ShortDebugString(), Not(HasSubstr("c2VjcmV0"))) << kind.name;
    EXPECT_EQ(meta.namespace_() + "/" + meta.name() + " " + meta.uid(), "ns/j-ssh uid-j-ssh");
    EXPECT_EQ(meta.resource_version(), 5);
    EXPECT_EQ(meta.annotations_size() + meta.labels_size() + meta.deletion_ms(), 0) << kind.name;
    ASSERT_EQ(meta.owner_references_size(), 1) << kind.name;
    EXPECT_EQ(meta.owner_references(0).name(), "j");
  }
}

TEST(ReduceObjectTest, AnEventIsCountedAndAWorkloadHasAnnotationsOfVolcano) {
  kube::v1::Object event = SecretOrOther();
  ReduceObject(OwnerOf(v1::SERVICE_KIND_QUEUE, "q"), kube::ResourceOf(kube::kEvents), event);
  EXPECT_EQ(event.generic().json(), R"({"count":3})");
  kube::v1::Object workload = SecretOrOther();
  ReduceObject(OwnerOf(v1::SERVICE_KIND_POD_GROUP, "ns/g"), kube::ResourceOf(kube::kReplicaSets), workload);
  EXPECT_EQ(workload.generic().json(), "");
  ASSERT_EQ(workload.generic().meta().annotations_size(), 1);
  EXPECT_EQ(workload.generic().meta().annotations(0).key(), "volcano.sh/preemptable");
}

TEST(ReduceErrorTest, ARefusalAboutASecretKeepsItsCodeAndReason) {
  v1::KubeError error;
  error.set_code(422);
  error.set_reason("Invalid");
  error.set_message("metadata.finalizers: Invalid value: \"c2VjcmV0\"");
  error.add_fields("metadata.finalizers");
  v1::KubeError of_pod = error;
  ReduceError(kube::ResourceOf(kube::kSecrets), error);
  EXPECT_EQ(error.message(), "the API server refuses it as Invalid (422)");
  EXPECT_EQ(error.fields_size(), 0);
  ReduceError(kube::ResourceOf(kube::kPods), of_pod);
  EXPECT_THAT(of_pod.message(), HasSubstr("finalizers"));
  const absl::Status unknown = MakeStatus(absl::StatusCode::kUnknown, "the answer cannot be read: c2VjcmV0");
  const absl::Status reduced = ReduceStatus(kube::ResourceOf(kube::kSecrets), unknown);
  EXPECT_EQ(reduced.code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(reduced.message()), Not(HasSubstr("c2VjcmV0")));
  EXPECT_EQ(ReduceStatus(kube::ResourceOf(kube::kPods), unknown), unknown);
}

}  // namespace
}  // namespace basalt::gateway
