#include "gateway/route/routes.h"
#include "common/testing/proto_text.h"

#include <gtest/gtest.h>

#include "common/kube/names.h"
#include "gateway/route/object_ref.h"
#include "gateway/route/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.

std::string Text(const std::vector<Route>& routes) {
  std::string text;
  for (const Route& route : routes) {
    text += (text.empty() ? "" : " ") + std::string(1, "?JGQ"[route.service]) + ":" + route.key;
  }
  return text;
}

TEST(RoutesTest, EveryKindFollowsItsOwnersKey) {
  kube::v1::Object grouped = PlainPod("p", 1, "rs");
  grouped.mutable_pod()->set_group_name("span");
  kube::v1::Object labelled = JobPod("j", "p", 1);
  labelled.mutable_pod()->set_owner_kind("ReplicaSet");
  kube::v1::Object foreign = JobPod("j", "p", 1);
  foreign.mutable_pod()->set_owner_api_version("batch/v1");
  kube::v1::Object foreign_group = PodGroup("g", 1, "q", "j");
  foreign_group.mutable_pod_group()->mutable_meta()->mutable_owner_references(0)->set_controller(false);
  kube::v1::Object disowned = labelled;
  disowned.mutable_pod()->set_job_uid_label("uid of j");
  kube::v1::Object workload;
  workload.mutable_workload()->mutable_meta()->set_namespace_("ns");
  workload.mutable_workload()->mutable_meta()->set_uid("rs");
  const kube::v1::Object others = workload;
  workload.mutable_workload()->set_scheduler_name("volcano");
  kube::v1::Object for_kai = grouped;
  for_kai.mutable_pod()->set_scheduler_name("kai");
  for_kai.mutable_pod()->mutable_grouping();
  kube::v1::Object labelled_for_kai = labelled;
  labelled_for_kai.mutable_pod()->set_scheduler_name("kai");
  kube::v1::Object kai_group;
  kai_group.mutable_kai_pod_group()->mutable_meta()->set_namespace_("ns");
  kai_group.mutable_kai_pod_group()->mutable_meta()->set_name("pg");
  kube::v1::Object kai_group_of_queue = kai_group;
  kai_group_of_queue.mutable_kai_pod_group()->set_queue("q");
  kube::v1::Object kai_group_of_nothing = kai_group;
  kai_group_of_nothing.mutable_kai_pod_group()->set_queue("a/b");
  kube::v1::Object kai_queue;
  kai_queue.mutable_kai_queue()->mutable_meta()->set_name("q");
  const struct {
    const char* what;
    kube::v1::Object object;
    const char* want;
  } rows[] = {
      {"group of KAI's that names a queue", kai_group_of_queue, "G:ns Q:kai/q"},
      {"queue of KAI's", kai_queue, "Q:kai/q"},
      {"group of KAI's that names no queue that there can be", kai_group_of_nothing, "G:ns"},
      {"group of Volcano's that names a queue as KAI's are named here", PodGroup("g", 1, "kai/q"), "G:ns/g"},
      {"command for a queue as KAI's are named here",
       Command("c", 1, "Queue", "scheduling.volcano.sh/v1beta1", "kai/q"), ""},
      {"pod for a scheduler of KAI's", for_kai, "G:ns"},
      {"the same with the job label but another owner", labelled_for_kai, ""},
      {"group of KAI's", kai_group, "G:ns"},
      {"owner of pods for a scheduler of ours", workload, "G:ns/podgroup-rs"},
      {"owner of other pods", others, ""},
      {"job", Job("j", 1), "J:ns/j"},
      {"pod of a job", JobPod("j", "p", 1), "J:ns/j"},
      {"pod with the job label but another owner", labelled, "G:ns/podgroup-uid-j"},
      {"pod with all labels of a job but another owner", disowned, "J:ns/j G:ns/podgroup-uid-j"},
      {"pod of Kubernetes' own Job", foreign, "G:ns/podgroup-uid-j"},
      {"bare pod", PlainPod("p", 1), "G:ns/podgroup-uid-p"},
      {"pod with a controller", PlainPod("p", 1, "rs"), "G:ns/podgroup-rs"},
      {"pod that names its group", grouped, "G:ns/span"},
      {"group of a job", PodGroup("g", 1, "q", "j"), "J:ns/j G:ns/g Q:q"},
      {"group of nobody, no queue", PodGroup("g", 1, ""), "G:ns/g Q:default"},
      {"group whose job is not its controller", foreign_group, "G:ns/g Q:q"},
      {"command for a job", Command("c", 1, "Job", "batch.volcano.sh/v1alpha1", "j"), "J:ns/j"},
      {"command for a queue", Command("c", 1, "Queue", "scheduling.volcano.sh/v1beta1", "q"), "Q:q"},
      {"command for a queue of another version", Command("c", 1, "Queue", "scheduling.volcano.sh/v1", "q"), ""},
      {"command for anything else", Command("c", 1, "Job", "batch/v1", "j"), ""},
      {"queue", Queue("q", 1), ""},
  };
  const RouteOptions options{.kai_scheduler_names = {"kai"}};
  for (const auto& row : rows) EXPECT_EQ(Text(Routes(row.object, options)), row.want) << row.what;
  EXPECT_TRUE(IsBroadcast(Queue("q", 1)));
  EXPECT_FALSE(IsBroadcast(Job("j", 1)));
}

TEST(RoutesTest, TheRichProfileGroupsWhatIsNoJobsInItsNamespace) {
  kube::v1::Object plain = PlainPod("p", 1, "rs");
  plain.mutable_pod()->mutable_grouping();
  kube::v1::Object linked = plain;
  linked.mutable_pod()->set_group_name("span");
  kube::v1::Object of_kai = plain;
  of_kai.mutable_pod()->set_scheduler_name("kai");
  kube::v1::Object workload;
  FillMeta(*workload.mutable_workload()->mutable_meta(), "web", 1, "");
  workload.mutable_workload()->set_scheduler_name("volcano");
  const struct {
    const char* what;
    kube::v1::Object object;
    const char* want;
  } rows[] = {
      {"pod", plain, "G:ns/"},
      {"pod that names its group", linked, "G:ns/"},
      {"pod with the label of a job", PlainPod("p", 1, "rs"), ""},
      {"pod of KAI's", of_kai, "G:ns"},
      {"job's pod", JobPod("j", "p", 1), "J:ns/j"},
      {"group of a job", PodGroup("g", 1, "q", "j"), "J:ns/j G:ns/g Q:q"},
      {"any other group", PodGroup("g", 1, "q"), "G:ns/ Q:q"},
      {"workload", workload, ""},
  };
  const RouteOptions options{.kai_scheduler_names = {"kai"}, .is_rich = true};
  for (const auto& row : rows) EXPECT_EQ(Text(Routes(row.object, options)), row.want) << row.what;
}

TEST(RoutesTest, QueueServiceGetsOnlyIdentityQueueAndPhaseOfAGroup) {
  kube::v1::Object group = PodGroup("g", 7, "q", "j");
  group.mutable_pod_group()->mutable_spec()->set_min_member(4);
  kube::v1::Object same = group;
  ReduceFor(v1::SERVICE_KIND_POD_GROUP, same);
  EXPECT_EQ(same.DebugString(), group.DebugString());
  ReduceFor(v1::SERVICE_KIND_QUEUE, group);
  EXPECT_EQ(basalt::testing::LineOf(group),
            "pod_group { meta { namespace: \"ns\" name: \"g\" uid: \"uid-g\" resource_version: 7 } "
            "spec { queue: \"q\" } phase: \"Pending\" }");
}

TEST(RoutesTest, AServiceWaitsOnlyForTheWatchesItUses) {
  EXPECT_TRUE(Uses(v1::SERVICE_KIND_JOB, kube::kWatchJobs));
  EXPECT_TRUE(Uses(v1::SERVICE_KIND_JOB, "pods/scheduler=volcano"));
  EXPECT_FALSE(Uses(v1::SERVICE_KIND_POD_GROUP, kube::kWatchJobs));
  EXPECT_TRUE(Uses(v1::SERVICE_KIND_POD_GROUP, kube::kWatchJobPods));
  EXPECT_FALSE(Uses(v1::SERVICE_KIND_QUEUE, kube::kWatchJobPods));
  EXPECT_TRUE(Uses(v1::SERVICE_KIND_QUEUE, kube::kWatchCommands));
  EXPECT_TRUE(Uses(v1::SERVICE_KIND_POD_GROUP, "workloads/replicasets"));
  EXPECT_FALSE(Uses(v1::SERVICE_KIND_JOB, "workloads/replicasets"));
  EXPECT_FALSE(Uses(v1::SERVICE_KIND_QUEUE, "workloads/replicasets"));
}

}  // namespace
}  // namespace basalt::gateway
