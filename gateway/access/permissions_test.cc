#include "gateway/access/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/kube/names.h"
#include "gateway/route/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.
using ::testing::HasSubstr;

constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;
constexpr v1::ServiceKind kGroup = v1::SERVICE_KIND_POD_GROUP;
constexpr v1::ServiceKind kQueue = v1::SERVICE_KIND_QUEUE;
constexpr WatchIndex kJobs = 0, kGroups = 1, kJobPods = 2, kPods = 3, kCommands = 4, kKartas = 5;

struct Deaf final : CacheListener {
  void OnState(ObjectId) override {}
  void OnDeparture(ObjectId, const Departure&) override {}
  void OnHeldBack(ObjectId) override {}
  void OnWatch(WatchIndex) override {}
};

v1::Owner OwnerOf(v1::ServiceKind service, const std::string& key) {
  v1::Owner owner;
  owner.mutable_member()->set_service(service);
  owner.set_key(key);
  owner.set_slot(SlotOf(key));
  return owner;
}

// Parses "plural", "plural.group" or "plural.group/status".
v1::Resource ResourceOf(const std::string& text) {
  v1::Resource resource;
  const std::string whole = text.substr(0, text.find('/'));
  const size_t dot = whole.find('.');
  resource.set_plural(whole.substr(0, dot));
  if (dot != std::string::npos) resource.set_group(whole.substr(dot + 1));
  resource.set_version("v1");
  for (const kube::Kind& kind : {kube::kJobs, kube::kCommands, kube::kPodGroups, kube::kQueues, kube::kKaiPodGroups}) {
    if (kind.Is(resource.group(), resource.plural())) resource.set_version(std::string(kind.version));
  }
  return resource;
}

// A cluster with two jobs, `j` and `j-2`, each with a pod, a pod group and a command, and with two plain pods of a
// ReplicaSet.
class PermissionsTest : public ::testing::Test {
 protected:
  struct Row {
    v1::ServiceKind service;
    std::string key;
    std::string verb;  // "get", "create", "patch UID", "delete UID" or "collection SELECTOR".
    std::string resource;
    std::string ns;
    std::string name;
    RefusalReason expected;
    bool is_unseen = false;
    std::string job_uid = "";
  };
  static constexpr bool kUnseen = true;

  explicit PermissionsTest(bool rich = false) : is_rich(rich) {
    for (WatchIndex i = 0; i < 6; ++i) cache.Replace(i, {}, 10);
    kube::v1::Object job = Job("j", 11);
    job.mutable_job()->mutable_spec()->add_volumes()->set_volume_claim_name("shared-data");
    cache.Apply(kJobs, job);
    cache.Apply(kJobs, Job("j-2", 12));
    cache.Apply(kJobPods, JobPod("j", "j-task-0", 13));
    cache.Apply(kJobPods, JobPod("j-2", "j-2-task-0", 14));
    kube::v1::Object stray = JobPod("j", "j-stray", 24);
    stray.mutable_pod()->set_owner_uid("uid-of-an-earlier-job");
    cache.Apply(kJobPods, stray);
    memory.ObjectSeen("uid-known", "uid-j");
    memory.ObjectSeen("uid-of-another", "uid-j-2");
    cache.Apply(kGroups, PodGroup("j-uid", 15, "q", "j"));
    cache.Apply(kGroups, PodGroup("j-2-uid", 16, "q", "j-2"));
    cache.Apply(kCommands, Command("order", 17, "Job", "batch.volcano.sh/v1alpha1", "j"));
    cache.Apply(kCommands, Command("other", 18, "Job", "batch.volcano.sh/v1alpha1", "j-2"));
    cache.Apply(kCommands, Command("close", 23, "Queue", "scheduling.volcano.sh/v1beta1", "red"));
    kube::v1::Object plain = PlainPod("web-0", 19, "rs-uid");
    kube::v1::OwnerReference& owner = *plain.mutable_pod()->mutable_grouping()->add_owner_references();
    owner.set_kind("ReplicaSet");
    owner.set_api_version("apps/v1");
    owner.set_name("web");
    owner.set_uid("rs-uid");
    cache.Apply(kPods, plain);
    cache.Apply(kPods, PlainPod(long_pod, 20, "rs-uid"));
    kube::v1::Object for_kai = PlainPod("train-0", 21, "set-uid");
    for_kai.mutable_pod()->set_scheduler_name("kai");
    for_kai.mutable_pod()->mutable_grouping();
    cache.Apply(kPods, for_kai);
    kube::v1::Object karta;
    karta.mutable_generic()->mutable_meta()->set_name("pyflow");
    karta.mutable_generic()->mutable_meta()->set_uid("uid-pyflow");
    karta.mutable_generic()->mutable_meta()->set_resource_version(22);
    cache.Apply(kKartas, karta);
    const ObjectId id = cache.Find(kPods, "uid-web-0");
    if (id != kNoObject) group_key = std::string(cache.RoutingKeyOf(id, kGroup));
  }

  void Expect(const Row& row) {
    const std::string key = row.key == "GROUP" ? group_key : row.key;
    const std::string what = row.verb + " " + row.resource + " " + row.ns + "/" + row.name + " for " + key;
    const size_t space = row.verb.find(' ');
    const std::string verb = row.verb.substr(0, space);
    const std::string argument = space == std::string::npos ? "" : row.verb.substr(space + 1);
    Permission permission;
    if (verb == "get") {
      v1::GetRequest request;
      *request.mutable_owner() = OwnerOf(row.service, key);
      *request.mutable_resource() = ResourceOf(row.resource);
      request.set_namespace_(row.ns);
      request.set_name(row.name);
      permission = CheckGet(request, known());
    } else {
      v1::WriteRequest request;
      *request.mutable_owner() = OwnerOf(row.service, key);
      *request.mutable_resource() = ResourceOf(row.resource);
      if (const size_t slash = row.resource.find('/'); slash != std::string::npos) {
        request.set_subresource(row.resource.substr(slash + 1));
      }
      request.set_namespace_(row.ns);
      request.set_name(row.name);
      if (verb == "create") request.mutable_create();
      if (verb == "patch") request.mutable_patch()->set_uid(argument);
      if (verb == "delete") request.mutable_delete_()->set_uid(argument);
      if (verb == "collection") request.mutable_delete_collection()->set_label_selector(argument);
      permission = CheckWrite(request, known());
    }
    EXPECT_EQ(permission.refusal, row.expected) << what << ": " << permission.status;
    const absl::StatusCode code = row.expected == RefusalReason::kNone      ? absl::StatusCode::kOk
                                  : row.expected == RefusalReason::kUnknown ? absl::StatusCode::kUnavailable
                                  : row.expected == RefusalReason::kMoved   ? absl::StatusCode::kAborted
                                                                            : absl::StatusCode::kPermissionDenied;
    EXPECT_EQ(permission.status.code(), code) << what;
    EXPECT_EQ(permission.is_unseen, row.is_unseen) << what;
    EXPECT_EQ(permission.job_uid, row.job_uid) << what;
  }
  Known known() const { return {cache, memory, namespaces, now, stream_began}; }

  const bool is_rich;
  AccessMemory memory;
  kube::NamespaceRules namespaces;
  const absl::Time now = absl::FromUnixSeconds(1'750'000'000);
  absl::Time stream_began = now - absl::Minutes(1);
  const std::string long_pod = std::string(250, 'w');
  Deaf deaf;
  Cache cache{{std::string(kube::kWatchJobs), std::string(kube::kWatchPodGroups), "pods/job", "pods/scheduler=volcano",
               std::string(kube::kWatchCommands), std::string(kube::kWatchKartas)},
              deaf,
              {.kai_scheduler_names = {"kai"}, .is_rich = is_rich}};
  std::string group_key;  // The pod group of the plain pods.
};

class RichPermissionsTest : public PermissionsTest {
 protected:
  RichPermissionsTest() : PermissionsTest(/*rich=*/true) {
    cache.Apply(kGroups, PodGroup("pg-web", 30, "q"));
    kube::v1::Object pod = PlainPod("rich-0", 31, "rs-uid");
    pod.mutable_pod()->mutable_grouping();
    cache.Apply(kPods, pod);
  }
};

// The replica may not have heard of the move yet, so the request is no attempt at another's object.
TEST_F(PermissionsTest, AnObjectThatWasOfTheKeyIsRefusedAsMoved) {
  Row patch{kGroup, "ns/g", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kObject};
  Row event{kGroup, "ns/g", "create", "events", "ns", "web-0.17a", RefusalReason::kObject};
  Expect(patch);
  Expect(event);
  memory.ObjectMoved("uid-web-0", "ns/g", now - absl::Seconds(29));
  patch.expected = event.expected = RefusalReason::kMoved;
  Expect(patch);
  Expect(event);
  Expect({kGroup, "ns/h", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kObject});
  Expect({kGroup, "ns/g", "patch uid-train-0", "pods", "ns", "train-0", RefusalReason::kObject});
}

TEST_F(PermissionsTest, AnObjectThatMayHaveMovedBeforeTheStreamIsMoved) {
  stream_began = now - absl::Seconds(29);
  Expect({kGroup, "ns/g", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kMoved});
  Expect({kGroup, "ns/g", "create", "events", "ns", "web-0.17a", RefusalReason::kMoved});
  Expect({kGroup, "elsewhere/g", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kObject});
  Expect({kGroup, "ns/g", "patch unseen", "pods", "ns", "web-9", RefusalReason::kUnknown});
  Expect({kJob, "ns/j", "patch uid-train-0", "pods", "ns", "train-0", RefusalReason::kObject});
  stream_began = now - absl::Seconds(30);
  Expect({kGroup, "ns/g", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kObject});
}

TEST_F(RichPermissionsTest, GroupsOfANamespaceAreItsKeysUnlessTheyAreAJobs) {
  const std::string groups = "podgroups.scheduling.volcano.sh";
  const Row rows[] = {
      {kGroup, "ns/", "create", groups, "ns", "pg-new", RefusalReason::kNone},
      {kGroup, "ns/", "patch uid-pg-web", groups, "ns", "pg-web", RefusalReason::kNone},
      {kGroup, "ns/", "delete uid-pg-web", groups, "ns", "pg-web", RefusalReason::kNone},
      {kGroup, "ns/", "get", groups, "ns", "pg-web", RefusalReason::kNone},
      // The object that holds the name may be read.
      {kGroup, "ns/", "get", groups, "ns", "j-uid", RefusalReason::kNone},
      {kGroup, "ns/", "patch uid-rich-0", "pods", "ns", "rich-0", RefusalReason::kNone},
      {kGroup, "ns/", "create", "events", "ns", "rich-0.17a", RefusalReason::kNone},
      {kGroup, "ns/j-uid", "patch uid-j-uid", groups, "ns", "j-uid", RefusalReason::kNone},
      {kGroup, "ns/", "patch uid-j-uid", groups, "ns", "j-uid", RefusalReason::kObject},
      {kGroup, "ns/", "delete uid-j-uid", groups, "ns", "j-uid", RefusalReason::kObject},
      {kGroup, "ns/", "delete unseen", groups, "ns", "pg-other", RefusalReason::kUnknown},
      {kGroup, "ns/", "create", groups, "elsewhere", "pg-new", RefusalReason::kObject},
      {kGroup, "ns/", "create", "podgroups.scheduling.run.ai", "ns", "pg-new", RefusalReason::kObject},
      {kGroup, "ns", "create", groups, "ns", "pg-new", RefusalReason::kObject},
      {kGroup, "ns/", "patch uid-train-0", "pods", "ns", "train-0", RefusalReason::kObject},
  };
  for (const Row& row : rows) Expect(row);
}

TEST_F(PermissionsTest, EachServiceMayDoWhatItNeedsToObjectsOfItsKeyAndNothingElse) {
  ASSERT_FALSE(group_key.empty());
  const Row rows[] = {
      // These are requests of jobsvc.
      {kJob, "ns/j", "get", "jobs.batch.volcano.sh", "ns", "j", RefusalReason::kNone},
      {kJob, "ns/new", "create", "jobs.batch.volcano.sh", "ns", "new", RefusalReason::kNone},
      {kJob, "ns/j", "patch uid-j", "jobs.batch.volcano.sh/status", "ns", "j", RefusalReason::kNone},
      {kJob, "ns/j", "patch uid-j", "jobs.batch.volcano.sh", "ns", "j", RefusalReason::kNone},
      {kJob, "ns/j", "delete uid-j", "jobs.batch.volcano.sh", "ns", "j", RefusalReason::kNone},
      {kJob, "ns/j", "create", "pods", "ns", "j-task-1", RefusalReason::kNone, false, "uid-j"},
      {kJob, "ns/j", "get", "pods", "ns", "j-task-0", RefusalReason::kNone},
      {kJob, "ns/j", "delete uid-j-task-0", "pods", "ns", "j-task-0", RefusalReason::kNone},
      {kJob, "ns/j", "patch uid-j-task-0", "pods", "ns", "j-task-0", RefusalReason::kNone},
      // The pod was created a moment ago.
      {kJob, "ns/j", "delete unseen", "pods", "ns", "j-task-1", RefusalReason::kNone, kUnseen},
      {kJob, "ns/j", "collection volcano.sh/job-name=j,basalt.dev/job-uid=uid-j,basalt.dev/job-version in (1)", "pods",
       "ns", "", RefusalReason::kNone},
      {kJob, "ns/j", "create", "commands.bus.volcano.sh", "ns", "order-2", RefusalReason::kNone, false, "uid-j"},
      {kJob, "ns/j", "delete uid-order", "commands.bus.volcano.sh", "ns", "order", RefusalReason::kNone},
      {kJob, "ns/j", "create", "events", "ns", "j.17a", RefusalReason::kNone},
      {kJob, "ns/j", "patch", "events", "ns", "j.17a", RefusalReason::kNone},
      {kJob, "ns/j", "get", "persistentvolumeclaims", "ns", "shared-data", RefusalReason::kNone},
      {kJob, "ns/j", "get", "persistentvolumeclaims", "ns", "j-pvc-abc", RefusalReason::kNone},
      {kJob, "ns/j", "create", "services", "ns", "j", RefusalReason::kNone, false, "uid-j"},
      {kJob, "ns/j", "patch", "configmaps", "ns", "j-svc", RefusalReason::kNone, kUnseen},
      {kJob, "ns/j", "patch uid-known", "secrets", "ns", "j-ssh", RefusalReason::kNone},
      {kJob, "ns/j", "delete uid-of-another", "secrets", "ns", "j-ssh", RefusalReason::kNone, kUnseen},
      {kJob, "ns/j", "create", "services", "ns", "j-head-svc", RefusalReason::kNone, false, "uid-j"},
      {kJob, "ns/j", "get", "secrets", "ns", "j-ssh", RefusalReason::kNone},
      {kJob, "ns/j", "delete u", "networkpolicies.networking.k8s.io", "ns", "j", RefusalReason::kNone, kUnseen},
      // An object that holds a name of the job may be read.
      {kJob, "ns/j", "get", "pods", "ns", "j-2-task-0", RefusalReason::kNone},
      // These are writes of pgsvc for pods of KAI's schedulers: the routing key is the namespace.
      {kGroup, "ns", "create", "podgroups.scheduling.run.ai", "ns", "pg-a", RefusalReason::kNone},
      {kGroup, "ns", "patch u", "podgroups.scheduling.run.ai", "ns", "pg-a", RefusalReason::kNone},
      {kGroup, "ns", "get", "podgroups.scheduling.run.ai", "ns", "pg-a", RefusalReason::kNone},
      {kGroup, "ns", "patch uid-train-0", "pods", "ns", "train-0", RefusalReason::kNone},
      {kGroup, "ns", "create", "events", "ns", "train-0.17a", RefusalReason::kNone},
      {kGroup, "ns", "create", "events", "default", "pyflow.17a", RefusalReason::kNone},
      {kGroup, "ns", "patch uid-event", "events", "default", "pyflow.17a", RefusalReason::kNone},
      {kGroup, "ns", "create", "events", "default", "other.17a", RefusalReason::kObject},
      {kGroup, "ns", "create", "events", "ns", "pyflow.17a", RefusalReason::kUnknown},
      {kGroup, "GROUP", "create", "events", "default", "pyflow.17a", RefusalReason::kObject},
      {kGroup, "ns", "delete u", "podgroups.scheduling.run.ai", "ns", "pg-a", RefusalReason::kNone},
      {kGroup, "ns", "create", "podgroups.scheduling.run.ai", "elsewhere", "pg-a", RefusalReason::kObject},
      {kGroup, "ns/pg-a", "create", "podgroups.scheduling.run.ai", "ns", "pg-a", RefusalReason::kObject},
      {kGroup, "ns", "create", "podgroups.scheduling.volcano.sh", "ns", "pg-a", RefusalReason::kObject},
      {kGroup, "ns/", "create", "podgroups.scheduling.volcano.sh", "ns", "pg-a", RefusalReason::kObject},
      {kGroup, "ns", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kObject},
      {kGroup, "elsewhere", "patch uid-train-0", "pods", "ns", "train-0", RefusalReason::kObject},
      {kJob, "ns", "create", "podgroups.scheduling.run.ai", "ns", "pg-a", RefusalReason::kKind},
      // These are objects of the other job.
      {kJob, "ns/j", "patch uid-j-2", "jobs.batch.volcano.sh", "ns", "j-2", RefusalReason::kObject},
      {kJob, "ns/j", "delete uid-j-2-task-0", "pods", "ns", "j-2-task-0", RefusalReason::kObject},
      {kJob, "ns/j", "delete uid-other", "commands.bus.volcano.sh", "ns", "other", RefusalReason::kObject},
      {kJob, "ns/j", "collection volcano.sh/job-name=j-2", "pods", "ns", "", RefusalReason::kObject},
      {kJob, "ns/j", "collection x=volcano.sh/job-name=j", "pods", "ns", "", RefusalReason::kObject},
      {kJob, "ns/j", "collection volcano.sh/job-name=j", "pods", "ns", "", RefusalReason::kObject},
      {kJob, "ns/j", "collection volcano.sh/job-name=j,basalt.dev/job-uid=uid-j-2", "pods", "ns", "",
       RefusalReason::kObject},
      // The pod belongs to the job by its label only.
      {kJob, "ns/j", "delete uid-j-stray", "pods", "ns", "j-stray", RefusalReason::kObject},
      {kJob, "ns/j", "patch uid-j-stray", "pods", "ns", "j-stray", RefusalReason::kObject},
      {kJob, "ns/j", "get", "pods", "ns", "j-stray", RefusalReason::kNone},
      {kJob, "ns/j", "create", "events", "ns", "j-2.17a", RefusalReason::kObject},
      {kJob, "ns/j", "get", "secrets", "ns", "j-2-ssh", RefusalReason::kObject},
      {kJob, "ns/j", "patch", "configmaps", "ns", "j-2-svc", RefusalReason::kObject},
      {kJob, "ns/j", "patch", "configmaps", "ns", "j-head-svc", RefusalReason::kObject},
      {kJob, "ns/j", "create", "services", "ns", "j-svc", RefusalReason::kObject},
      {kJob, "ns/j", "create", "services", "ns", "j-2", RefusalReason::kObject},
      {kJob, "ns/j", "get", "persistentvolumeclaims", "ns", "payroll", RefusalReason::kObject},
      // These objects are in other namespaces.
      {kJob, "ns/j", "get", "secrets", "kube-system", "j-ssh", RefusalReason::kObject},
      {kJob, "ns/j", "create", "pods", "elsewhere", "j-task-1", RefusalReason::kObject},
      {kJob, "ns/j", "get", "jobs.batch.volcano.sh", "elsewhere", "j", RefusalReason::kObject},
      {kJob, "ns/j", "create", "pods", "", "j-task-1", RefusalReason::kObject},
      // Nothing shows that these objects belong to the job.
      {kJob, "ns/j", "get", "secrets", "ns", "token", RefusalReason::kObject},
      {kJob, "ns/j", "create", "pods", "ns", "evil", RefusalReason::kObject},
      {kJob, "ns/j", "create", "pods", "ns", "j-", RefusalReason::kObject},
      {kJob, "ns/j", "delete unseen", "commands.bus.volcano.sh", "ns", "unseen", RefusalReason::kUnknown},
      {kJob, "ns/gone", "get", "persistentvolumeclaims", "ns", "shared-data", RefusalReason::kUnknown},
      // No service needs these kinds and verbs.
      {kJob, "ns/j", "get", "nodes", "", "n", RefusalReason::kKind},
      {kJob, "ns/j", "create", "rolebindings.rbac.authorization.k8s.io", "ns", "j", RefusalReason::kKind},
      {kJob, "ns/j", "patch u", "pods/status", "ns", "j-task-0", RefusalReason::kKind},
      {kJob, "ns/j", "create", "pods/eviction", "ns", "j-task-0", RefusalReason::kKind},
      {kJob, "ns/j", "get", "secrets.example.com", "ns", "j-ssh", RefusalReason::kKind},
      {kJob, "ns/j", "collection a=b", "secrets", "ns", "", RefusalReason::kKind},
      {kJob, "ns/j", "", "pods", "ns", "j-task-0", RefusalReason::kKind},
      {kJob, "ns/j", "delete uid-j-uid", "podgroups.scheduling.volcano.sh", "ns", "j-uid", RefusalReason::kKind},
      // These are requests of pgsvc, permitted and refused.
      {kGroup, "ns/g", "create", "podgroups.scheduling.volcano.sh", "ns", "g", RefusalReason::kNone},
      {kGroup, "ns/g", "patch u", "podgroups.scheduling.volcano.sh", "ns", "h", RefusalReason::kObject},
      {kGroup, "ns/j-uid", "delete uid-j-uid", "podgroups.scheduling.volcano.sh", "ns", "j-uid", RefusalReason::kNone},
      {kGroup, "ns/g", "delete uid-j-uid", "podgroups.scheduling.volcano.sh", "ns", "j-uid", RefusalReason::kObject},
      {kGroup, "GROUP", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kNone},
      {kGroup, "GROUP", "create", "events", "ns", "web-0.17a", RefusalReason::kNone},
      {kGroup, "GROUP", "get", "events", "ns", "web-0.17a", RefusalReason::kNone},
      {kGroup, "GROUP", "patch uid-event", "events", "ns", "web-0.17a", RefusalReason::kNone},
      // The name of the pod is cut off in the name of its Event.
      {kGroup, "GROUP", "create", "events", "ns", long_pod.substr(0, 236) + ".17a", RefusalReason::kNone},
      {kGroup, "GROUP", "patch uid-event", "events", "ns", long_pod.substr(0, 236) + ".17a", RefusalReason::kNone},
      {kGroup, "GROUP", "get", "replicasets.apps", "ns", "web", RefusalReason::kNone},
      {kGroup, "GROUP", "get", "replicasets.apps", "ns", "other", RefusalReason::kUnknown},
      {kGroup, "ns/g", "patch uid-web-0", "pods", "ns", "web-0", RefusalReason::kObject},
      {kGroup, "ns/g", "patch gone", "pods", "ns", "gone", RefusalReason::kUnknown},
      {kGroup, "ns/g", "create", "events", "ns", "web-0.17a", RefusalReason::kObject},
      {kGroup, "ns/g", "create", "events", "ns", long_pod.substr(0, 236) + ".17a", RefusalReason::kUnknown},
      {kGroup, "GROUP", "create", "events", "ns", long_pod.substr(0, 100) + ".17a", RefusalReason::kUnknown},
      {kGroup, "GROUP", "delete uid-event", "events", "ns", "web-0.17a", RefusalReason::kKind},
      {kGroup, "ns/g", "get", "secrets", "ns", "g", RefusalReason::kKind},
      {kGroup, "ns/g", "create", "pods", "ns", "g-0", RefusalReason::kKind},
      // These are requests of queuesvc, permitted and refused.
      {kQueue, "red", "patch u", "queues.scheduling.volcano.sh/status", "", "red", RefusalReason::kNone},
      {kQueue, "red", "create", "queues.scheduling.volcano.sh", "", "red", RefusalReason::kNone},
      {kQueue, "red", "patch u", "queues.scheduling.volcano.sh/status", "", "blue", RefusalReason::kObject},
      {kQueue, "red", "get", "queues.scheduling.volcano.sh", "", "red", RefusalReason::kNone},
      {kQueue, "red", "get", "queues.scheduling.volcano.sh", "", "blue", RefusalReason::kObject},
      {kQueue, "red", "delete u", "queues.scheduling.volcano.sh", "", "red", RefusalReason::kNone},
      {kQueue, "red", "delete u", "queues.scheduling.volcano.sh", "", "blue", RefusalReason::kObject},
      {kQueue, "red", "get", "secrets", "ns", "red", RefusalReason::kKind},
      {kQueue, "red", "delete uid-close", "commands.bus.volcano.sh", "ns", "close", RefusalReason::kNone},
      {kQueue, "blue", "delete uid-close", "commands.bus.volcano.sh", "ns", "close", RefusalReason::kObject},
      {kQueue, "red", "delete uid-order", "commands.bus.volcano.sh", "ns", "order", RefusalReason::kObject},
      {kQueue, "red", "create", "commands.bus.volcano.sh", "default", "close-2", RefusalReason::kNone},
      {kQueue, "red", "create", "events", "default", "red.17a", RefusalReason::kNone},
      {kQueue, "red", "get", "events", "default", "red.17a", RefusalReason::kNone},
      {kQueue, "red", "patch uid-event", "events", "default", "red.17a", RefusalReason::kNone},
      {kQueue, "red", "create", "events", "default", "reddish.17a", RefusalReason::kObject},
      {kQueue, "red", "create", "events", "ns", "red.17a", RefusalReason::kObject},
      {kQueue, long_pod, "create", "events", "default", long_pod.substr(0, 236) + ".17a", RefusalReason::kNone},
  };
  for (const Row& row : rows) Expect(row);
}

TEST_F(PermissionsTest, NothingIsDoneForAJobThatIsNotKnown) {
  const auto expect = [this](RefusalReason expected, bool is_unseen) {
    const Row rows[] = {
        {kJob, "ns/nojob", "patch u", "pods", "ns", "nojob-t-0", expected, is_unseen},
        {kJob, "ns/nojob", "delete u", "pods", "ns", "nojob-t-0", expected, is_unseen},
        {kJob, "ns/nojob", "delete u", "services", "ns", "nojob", expected, is_unseen},
        {kJob, "ns/nojob", "delete u", "networkpolicies.networking.k8s.io", "ns", "nojob", expected, is_unseen},
        {kJob, "ns/nojob", "patch u", "secrets", "ns", "nojob-ssh", expected, is_unseen},
        {kJob, "ns/nojob", "get", "configmaps", "ns", "nojob-svc", expected},
        {kJob, "ns/nojob", "get", "pods", "ns", "nojob-t-0", expected},
        {kJob, "ns/nojob", "create", "events", "ns", "nojob.17a", expected},
        // Nothing is created for a job that is gone.
        {kJob, "ns/nojob", "create", "pods", "ns", "nojob-t-0", RefusalReason::kUnknown},
        {kJob, "ns/nojob", "create", "secrets", "ns", "nojob-ssh", RefusalReason::kUnknown},
        {kJob, "ns/nojob", "create", "persistentvolumeclaims", "ns", "nojob-pvc-a", RefusalReason::kUnknown},
        {kJob, "ns/nojob", "create", "commands.bus.volcano.sh", "ns", "order", RefusalReason::kUnknown},
        {kJob, "ns/nojob", "create", "jobs.batch.volcano.sh", "ns", "nojob", RefusalReason::kNone},
        {kJob, "ns/nojob", "get", "jobs.batch.volcano.sh", "ns", "nojob", RefusalReason::kNone},
    };
    for (const Row& row : rows) Expect(row);
  };
  expect(RefusalReason::kUnknown, /*is_unseen=*/false);
  memory.JobGone("ns/nojob", "uid-nojob", now - absl::Minutes(4));
  expect(RefusalReason::kNone, /*is_unseen=*/true);
}

TEST_F(PermissionsTest, NothingIsDoneInANamespaceThatIsNotServed) {
  namespaces = kube::NamespaceRules({"team"}, "basalt-system");
  const Row rows[] = {
      {kJob, "kube-system/j", "create", "jobs.batch.volcano.sh", "kube-system", "j", RefusalReason::kNamespace},
      {kJob, "basalt-system/j", "create", "jobs.batch.volcano.sh", "basalt-system", "j", RefusalReason::kNamespace},
      {kJob, "prod/j", "get", "secrets", "prod", "j-ssh", RefusalReason::kNamespace},
      {kJob, "team/j", "create", "jobs.batch.volcano.sh", "team", "j", RefusalReason::kNone},
      {kGroup, "kube-system/g", "create", "podgroups.scheduling.volcano.sh", "kube-system", "g",
       RefusalReason::kNamespace},
      {kGroup, "prod", "create", "podgroups.scheduling.run.ai", "prod", "g", RefusalReason::kNamespace},
      {kGroup, "prod/", "create", "podgroups.scheduling.volcano.sh", "prod", "g", RefusalReason::kNamespace},
      {kGroup, "team", "create", "podgroups.scheduling.run.ai", "team", "g", RefusalReason::kNone},
      {kGroup, "team", "create", "events", "default", "pyflow.17a", RefusalReason::kNone},
      {kQueue, "red", "create", "events", "default", "red.17a", RefusalReason::kNone},
      {kQueue, "red", "delete uid-close", "commands.bus.volcano.sh", "ns", "close", RefusalReason::kNone},
  };
  for (const Row& row : rows) Expect(row);
}

TEST_F(PermissionsTest, AnObjectThatWasReadIsComparedByItsOwner) {
  memory.JobGone("ns/j", "uid-gone", now - absl::Minutes(1));
  const struct {
    std::string api_version, kind, uid, job;
  } rows[] = {
      {"batch.volcano.sh/v1alpha1", "Job", "uid-j", "uid-j"},
      {"batch.volcano.sh/v1alpha1", "Job", "uid-gone", "uid-gone"},
      {"batch.volcano.sh/v1alpha1", "Job", "uid-j-2", ""},
      {"batch/v1", "Job", "uid-j", ""},
      {"v1", "Pod", "uid-j", ""},
      {"", "", "", ""},
  };
  for (const auto& row : rows) {
    kube::v1::Object found;
    kube::v1::OwnerReference& reference = *found.mutable_generic()->mutable_meta()->add_owner_references();
    reference.set_api_version(row.api_version);
    reference.set_kind(row.kind);
    reference.set_uid(row.uid);
    EXPECT_EQ(OwningJob(OwnerOf(kJob, "ns/j"), found, known()), row.job) << row.kind << row.uid;
  }
  EXPECT_EQ(OwningJob(OwnerOf(kJob, "ns/j"), JobPod("j", "j-x", 1), known()), "uid-j");
  EXPECT_EQ(OwningJob(OwnerOf(kJob, "ns/j"), PlainPod("j-x", 1, "rs"), known()), "");
}

TEST_F(PermissionsTest, AnotherVersionOfAKindIsRefusedNamingBoth) {
  for (const char* version : {"", "..", "v2", "v1beta1"}) {
    v1::GetRequest request;
    *request.mutable_owner() = OwnerOf(kJob, "ns/j");
    *request.mutable_resource() = ResourceOf("secrets");
    request.mutable_resource()->set_version(version);
    request.set_namespace_("ns");
    request.set_name("j-ssh");
    const Permission permission = CheckGet(request, known());
    EXPECT_EQ(permission.refusal, RefusalReason::kKind) << version;
    EXPECT_THAT(std::string(permission.status.message()), HasSubstr("and has to be 'v1'")) << version;
  }
}

TEST_F(PermissionsTest, AKeyOfAnotherSlotIsRefusedNamingBothSlots) {
  v1::GetRequest request;
  *request.mutable_owner() = OwnerOf(kJob, "ns/j");
  request.mutable_owner()->set_slot(SlotOf("ns/j") + 1);
  *request.mutable_resource() = ResourceOf("secrets");
  request.set_namespace_("ns");
  request.set_name("j-ssh");
  const Permission permission = CheckGet(request, known());
  EXPECT_EQ(permission.refusal, RefusalReason::kKey);
  EXPECT_THAT(std::string(permission.status.message()), HasSubstr("key 'ns/j' is of slot"));
}

TEST_F(PermissionsTest, JobsAskForClaimsByInterestAndGroupsForOwnersOfPods) {
  EXPECT_TRUE(CheckInterest(kJob, "persistentvolumeclaims").status.ok());
  for (const char* watch : {"secrets", "configmaps", "pods", "namespaces", "persistentvolumeclaims.example.com", ""}) {
    EXPECT_EQ(CheckInterest(kJob, watch).refusal, RefusalReason::kKind) << watch;
  }
  EXPECT_TRUE(CheckInterest(kGroup, "objects/apps/v1/ReplicaSet").status.ok());
  EXPECT_EQ(CheckInterest(kJob, "objects/apps/v1/ReplicaSet").refusal, RefusalReason::kKind);
  EXPECT_TRUE(CheckInterest(kGroup, "objects/v1/Secret").status.ok()) << "it is answered that nobody may read them";
  EXPECT_EQ(CheckInterest(kGroup, "persistentvolumeclaims").refusal, RefusalReason::kKind);
  EXPECT_EQ(CheckInterest(kQueue, "persistentvolumeclaims").refusal, RefusalReason::kKind);
}

}  // namespace
}  // namespace basalt::gateway
