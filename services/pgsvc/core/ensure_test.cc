#include "services/pgsvc/core/ensure.h"

#include <gtest/gtest.h>

#include "common/kube/names.h"

namespace basalt::pgsvc {
namespace {

kube::v1::PodGroup Observed(std::string_view owner_uid, std::string_view version) {
  kube::v1::PodGroup group;
  group.mutable_meta()->set_uid("pg-1");
  kube::v1::OwnerReference& owner = *group.mutable_meta()->add_owner_references();
  owner.set_controller(true);
  owner.set_uid(std::string(owner_uid));
  if (!version.empty()) {
    kube::v1::KeyValue& annotation = *group.mutable_meta()->add_annotations();
    annotation.set_key(std::string(kube::kBasaltVersionKey));
    annotation.set_value(std::string(version));
  }
  group.mutable_spec()->set_min_member(3);
  group.mutable_spec()->set_queue("default");
  return group;
}

podgroup::v1::EnsurePodGroupRequest Request(int32_t version) {
  podgroup::v1::EnsurePodGroupRequest request;
  request.set_job_uid("job-1");
  request.set_version(version);
  request.mutable_spec()->set_min_member(3);
  request.mutable_spec()->set_queue("default");
  return request;
}

TEST(EnsureTest, AMissingGroupIsCreated) { EXPECT_EQ(NextEnsureStep(Request(0), nullptr), EnsureStep::kCreate); }

TEST(EnsureTest, AGroupOfThisVersionOrWithoutOurAnnotationIsTheAnswer) {
  for (const std::string_view version : {"2", "", "not a number"}) {
    const kube::v1::PodGroup group = Observed("job-1", version);
    EXPECT_EQ(NextEnsureStep(Request(2), &group), EnsureStep::kAnswer) << version;
  }
}

TEST(EnsureTest, OtherFieldsArePatched) {
  const kube::v1::PodGroup group = Observed("job-1", "0");
  podgroup::v1::EnsurePodGroupRequest request = Request(0);
  request.mutable_spec()->set_min_member(2);
  EXPECT_EQ(NextEnsureStep(request, &group), EnsureStep::kPatch);
}

TEST(EnsureTest, AnOlderVersionAndTheGroupOfTheKillAreReplaced) {
  const kube::v1::PodGroup old = Observed("job-1", "1");
  EXPECT_EQ(NextEnsureStep(Request(2), &old), EnsureStep::kReplace);
  const kube::v1::PodGroup unmarked = Observed("job-1", "");
  podgroup::v1::EnsurePodGroupRequest request = Request(2);
  request.set_kill_uid("pg-1");
  EXPECT_EQ(NextEnsureStep(request, &unmarked), EnsureStep::kReplace);
}

TEST(EnsureTest, AGroupThatIsGoingIsWaitedForAndAForeignOneIsNeverTouched) {
  kube::v1::PodGroup going = Observed("job-1", "0");
  going.mutable_meta()->set_deletion_ms(1);
  EXPECT_EQ(NextEnsureStep(Request(0), &going), EnsureStep::kWait);
  const kube::v1::PodGroup foreign = Observed("job-0", "0");
  EXPECT_EQ(NextEnsureStep(Request(5), &foreign), EnsureStep::kForeign);
}

TEST(DeleteTest, OnlyTheGroupOfThatUidAndOwnerIsDeletedAndOneThatIsNotKnownIsReadFirst) {
  const struct {
    const char* what;
    const char* uid;    // UID of the observed group; empty if there is none.
    const char* owner;  // The owner of that group.
    bool is_going;
    DeleteStep unread;
    DeleteStep read;
  } rows[] = {
      {"the job's", "pg-1", "job-1", false, DeleteStep::kDelete, DeleteStep::kDelete},
      {"the job's, being deleted", "pg-1", "job-1", true, DeleteStep::kGoing, DeleteStep::kGoing},
      {"none", "", "", false, DeleteStep::kRead, DeleteStep::kGone},
      {"another of the job's", "pg-2", "job-1", false, DeleteStep::kRead, DeleteStep::kGone},
      {"another of another's", "pg-2", "job-0", false, DeleteStep::kRead, DeleteStep::kGone},
      {"another's now", "pg-1", "job-0", false, DeleteStep::kForeign, DeleteStep::kForeign},
      {"another's now, being deleted", "pg-1", "job-0", true, DeleteStep::kForeign, DeleteStep::kForeign},
      {"nobody's now", "pg-1", "", false, DeleteStep::kForeign, DeleteStep::kForeign},
  };
  podgroup::v1::DeletePodGroupRequest request;
  request.set_uid("pg-1");
  request.set_job_uid("job-1");
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    kube::v1::PodGroup group = Observed(row.owner, "");
    group.mutable_meta()->set_uid(row.uid);
    group.mutable_meta()->set_deletion_ms(row.is_going ? 1 : 0);
    const kube::v1::PodGroup* const observed = *row.uid == '\0' ? nullptr : &group;
    EXPECT_EQ(NextDeleteStep(request, observed, /*was_read=*/false), row.unread);
    EXPECT_EQ(NextDeleteStep(request, observed, /*was_read=*/true), row.read);
  }
}

}  // namespace
}  // namespace basalt::pgsvc
