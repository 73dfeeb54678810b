// Tests the pods that the controllers of ReplicaSets, Deployments, StatefulSets and Jobs make, change and delete.
// Nobody runs the pods; the cases write their status.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kReady[] = "{phase: Running, conditions: [{type: Ready, status: 'True'}]}";

class WorkloadConformance : public Conformance {
 protected:
  std::string Apps(std::string_view plural, std::string_view name = "") const { return Group("apps/v1", plural, name); }
  std::string BatchJobs(std::string_view name = "") const { return Group("batch/v1", "jobs", name); }

  // `spec` has the lines of the spec except selector and template.
  void Make(const std::string& kind, const std::string& plural, const std::string& spec, const std::string& meta = "") {
    const Answer made = Post(Apps(plural), J(fmt::format(R"(
apiVersion: apps/v1
kind: {}
metadata: {{name: w{}}}
spec:
  {}
  selector: {{matchLabels: {{app: w}}}}
  template:
    metadata: {{labels: {{app: w}}, annotations: {{note: a}}}}
    spec: {{containers: [{{name: c, image: i}}]}}
)",
                                                         kind, meta, spec)));
    ASSERT_EQ(made.status, 201) << made;
  }
  void MakeBatchJob(const std::string& spec) {
    const Answer made = Post(BatchJobs(), J(fmt::format(R"(
apiVersion: batch/v1
kind: Job
metadata: {{name: w}}
spec:
  {}
  template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}
)",
                                                        spec)));
    ASSERT_EQ(made.status, 201) << made;
  }
  void Change(const std::string& target, std::string_view patch) {
    const Answer changed = Patch(target, kMerge, J(patch));
    ASSERT_EQ(changed.status, 200) << changed;
  }
  // Returns the items of the collection that are not being deleted.
  std::vector<json::value> Living(const std::string& collection) {
    std::vector<json::value> living;
    for (const json::value& item : Get(collection).Items()) {
      if (At(item, {"metadata", "deletionTimestamp"}).empty()) living.push_back(item);
    }
    return living;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const json::value& pod : Living(Pods())) names.push_back(NameOf(pod));
    return names;
  }
  bool HasPods(size_t count) {
    return Eventually([&] { return Living(Pods()).size() == count; });
  }
  void SetStatus(const std::string& pod, std::string_view status) {
    const Answer set = Patch(Pods(pod) + "/status", kStrategic, J(fmt::format("status: {}", status)));
    ASSERT_EQ(set.status, 200) << set;
  }
  // Sets the status of all present pods that are Pending. Pods that have gone meanwhile do not matter.
  void SetAll(std::string_view status) {
    for (const json::value& pod : Living(Pods())) {
      if (At(pod, {"status", "phase"}) != "Pending") continue;
      (void)Patch(Pods(NameOf(pod)) + "/status", kStrategic, J(fmt::format("status: {}", status)));
    }
  }
  bool Says(const std::string& target, std::initializer_list<std::string_view> path, std::string_view text) {
    return Eventually([&] { return Get(target).At(path) == text; });
  }
};

TEST_F(WorkloadConformance, AReplicaSetHasAsManyPodsAsItWantsWithItsTemplateAndItself) {
  Make("ReplicaSet", "replicasets", "replicas: 2");
  ASSERT_TRUE(HasPods(2));
  const json::value pod = Living(Pods()).front();
  EXPECT_TRUE(Has(pod, R"(
metadata:
  generateName: w-
  labels: {app: w}
  annotations: {note: a}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: w, uid: "*", controller: true, blockOwnerDeletion: true}]
spec: {containers: [{name: c, image: i}]}
)")) << ToText(pod);
  EXPECT_TRUE(Says(Apps("replicasets", "w"), {"status", "replicas"}, "2"));
}

TEST_F(WorkloadConformance, PodsThatAreNotReadyLeaveAShrinkingReplicaSetFirst) {
  Make("ReplicaSet", "replicasets", "replicas: 3");
  ASSERT_TRUE(HasPods(3));
  const std::string kept = Names()[1];
  SetStatus(kept, kReady);
  ASSERT_TRUE(Says(Apps("replicasets", "w"), {"status", "readyReplicas"}, "1"));
  Change(Apps("replicasets", "w"), "spec: {replicas: 1}");
  ASSERT_TRUE(HasPods(1));
  EXPECT_THAT(Names(), ElementsAre(kept));
  Change(Apps("replicasets", "w"), "spec: {replicas: 0}");
  EXPECT_TRUE(HasPods(0));
}

TEST_F(WorkloadConformance, AReplicaSetReplacesAPodThatHasFailedOrWasDeleted) {
  Make("ReplicaSet", "replicasets", "replicas: 2");
  ASSERT_TRUE(HasPods(2));
  const std::vector<std::string> names = Names();
  Delete(Pods(names[0]));
  SetStatus(names[1], "{phase: Failed}");
  EXPECT_TRUE(Eventually([&] {
    const std::vector<std::string> now = Names();
    return now.size() == 3 && std::count(now.begin(), now.end(), names[0]) == 0 &&
           std::count(now.begin(), now.end(), names[1]) == 1;
  })) << "the pod that has failed stays beside two new ones";
}

TEST_F(WorkloadConformance, ADeploymentMakesAReplicaSetOfItsTemplate) {
  Make("Deployment", "deployments", "replicas: 2", ", annotations: {tier: gold}");
  ASSERT_TRUE(HasPods(2));
  const std::vector<json::value> sets = Living(Apps("replicasets"));
  ASSERT_THAT(sets, SizeIs(1));
  const std::string hash = At(sets[0], {"metadata", "labels", "pod-template-hash"});
  EXPECT_EQ(NameOf(sets[0]), "w-" + hash);
  EXPECT_TRUE(Has(sets[0], fmt::format(R"(
metadata:
  labels: {{app: w, pod-template-hash: "{0}"}}
  annotations: {{tier: gold}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: w, uid: "*", controller: true, blockOwnerDeletion: true}}]
spec:
  replicas: 2
  selector: {{matchLabels: {{app: w, pod-template-hash: "{0}"}}}}
  template: {{metadata: {{labels: {{app: w, pod-template-hash: "{0}"}}, annotations: {{note: a}}}}}}
)",
                                       hash)))
      << ToText(sets[0]);
  Change(Apps("deployments", "w"), "metadata: {annotations: {tier: silver}}");
  EXPECT_TRUE(Says(Apps("replicasets", "w-" + hash), {"metadata", "annotations", "tier"}, "silver"));
  for (const char* replicas : {"5", "0", "1"}) {
    Change(Apps("deployments", "w"), fmt::format("spec: {{replicas: {}}}", replicas));
    EXPECT_TRUE(Says(Apps("replicasets", "w-" + hash), {"spec", "replicas"}, replicas));
  }
}

TEST_F(WorkloadConformance, ADeploymentRollsToItsTemplateAndBackToItsFirstReplicaSet) {
  Make("Deployment", "deployments", "replicas: 2");
  ASSERT_TRUE(HasPods(2));
  const std::string first = NameOf(Living(Apps("replicasets")).front());
  const auto rolls = [&](std::string_view note) {
    return Eventually([&] {
      SetAll(kReady);
      const std::vector<json::value> pods = Living(Pods());
      return pods.size() == 2 && std::all_of(pods.begin(), pods.end(), [&](const json::value& pod) {
               return At(pod, {"metadata", "annotations", "note"}) == note;
             });
    });
  };
  Change(Apps("deployments", "w"), "spec: {template: {metadata: {annotations: {note: b, more: c}}}}");
  ASSERT_TRUE(rolls("b"));
  ASSERT_TRUE(Says(Apps("replicasets", first), {"spec", "replicas"}, "0"));
  EXPECT_TRUE(Says(Apps("deployments", "w"), {"status", "updatedReplicas"}, "2"));
  EXPECT_TRUE(Says(Apps("deployments", "w"), {"status", "availableReplicas"}, "2"));
  Change(Apps("deployments", "w"), "spec: {template: {metadata: {annotations: {note: a, more: null}}}}");
  ASSERT_TRUE(rolls("a"));
  EXPECT_TRUE(Says(Apps("replicasets", first), {"spec", "replicas"}, "2"));
  EXPECT_THAT(Living(Apps("replicasets")), SizeIs(2));
}

TEST_F(WorkloadConformance, APodThatIsTakenFromItsControllerIsReplacedAndLeftAlone) {
  Make("ReplicaSet", "replicasets", "replicas: 1");
  ASSERT_TRUE(HasPods(1));
  const std::string name = Names().front();
  Change(Pods(name), "metadata: {ownerReferences: null, labels: {app: other}}");
  ASSERT_TRUE(HasPods(2));
  Change(Apps("replicasets", "w"), "spec: {replicas: 0}");
  ASSERT_TRUE(HasPods(1));
  EXPECT_THAT(Names(), ElementsAre(name));
}

TEST_F(WorkloadConformance, AnOrderedStatefulSetMakesAPodOnceTheOneBeforeItIsReady) {
  Make("StatefulSet", "statefulsets", "replicas: 2\n  serviceName: db");
  ASSERT_TRUE(HasPods(1));
  const json::value pod = Living(Pods()).front();
  EXPECT_TRUE(Has(pod, R"(
metadata:
  name: w-0
  labels: {app: w, statefulset.kubernetes.io/pod-name: w-0, apps.kubernetes.io/pod-index: "0", controller-revision-hash: "*"}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: w, uid: "*", controller: true, blockOwnerDeletion: true}]
spec: {hostname: w-0, subdomain: db}
)")) << ToText(pod);
  SetStatus("w-0", kReady);
  ASSERT_TRUE(HasPods(2));
  EXPECT_THAT(Names(), ElementsAre("w-0", "w-1"));
  SetStatus("w-1", kReady);
  ASSERT_TRUE(Says(Apps("statefulsets", "w"), {"status", "readyReplicas"}, "2"));
  Change(Apps("statefulsets", "w"), "spec: {replicas: 1}");
  ASSERT_TRUE(HasPods(1));
  EXPECT_THAT(Names(), ElementsAre("w-0"));
}

TEST_F(WorkloadConformance, AParallelStatefulSetMakesAllAndRollsFromTheLastDown) {
  Make("StatefulSet", "statefulsets", "replicas: 3\n  serviceName: db\n  podManagementPolicy: Parallel");
  ASSERT_TRUE(HasPods(3));
  SetAll(kReady);
  ASSERT_TRUE(Says(Apps("statefulsets", "w"), {"status", "readyReplicas"}, "3"));
  const auto image = [&](const char* pod) {
    const Answer got = Get(Pods(pod));
    const json::value* const containers = FindPath(got.json, {"spec", "containers"});
    return containers == nullptr ? std::string() : At(containers->at(0), {"image"});
  };
  Change(Apps("statefulsets", "w"), "spec: {template: {spec: {containers: [{name: c, image: j}]}}}");
  ASSERT_TRUE(Eventually([&] { return image("w-2") == "j"; }));
  EXPECT_EQ(image("w-1"), "i") << "it waits until the one above it is ready";
  EXPECT_TRUE(Eventually([&] {
    SetAll(kReady);
    return image("w-0") == "j" && image("w-1") == "j";
  }));
}

TEST_F(WorkloadConformance, AJobRunsSoManyAtOnceUntilSoManyHaveSucceeded) {
  MakeBatchJob("parallelism: 2\n  completions: 3");
  ASSERT_TRUE(HasPods(2));
  const json::value pod = Living(Pods()).front();
  EXPECT_TRUE(Has(pod, R"(
metadata:
  generateName: w-
  labels: {job-name: w, batch.kubernetes.io/job-name: w, controller-uid: "*", batch.kubernetes.io/controller-uid: "*"}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: w, uid: "*", controller: true, blockOwnerDeletion: true}]
)")) << ToText(pod);
  EXPECT_TRUE(Says(BatchJobs("w"), {"status", "active"}, "2"));
  SetAll("{phase: Succeeded}");
  ASSERT_TRUE(HasPods(3));
  EXPECT_TRUE(Says(BatchJobs("w"), {"status", "succeeded"}, "2"));
  SetAll("{phase: Succeeded}");
  EXPECT_TRUE(Eventually([&] { return !Get(BatchJobs("w")).At({"status", "completionTime"}).empty(); }));
  EXPECT_THAT(Get(BatchJobs("w")).At({"status", "conditions"}), ::testing::HasSubstr(R"("Complete")"));
}

TEST_F(WorkloadConformance, AJobFailsOnceMorePodsHaveFailedThanMay) {
  MakeBatchJob("backoffLimit: 0");
  ASSERT_TRUE(HasPods(1));
  SetAll("{phase: Failed}");
  EXPECT_TRUE(Eventually([&] {
    const std::string conditions = Get(BatchJobs("w")).At({"status", "conditions"});
    return conditions.find(R"("Failed")") != std::string::npos &&
           conditions.find("BackoffLimitExceeded") != std::string::npos;
  }));
}

TEST_F(WorkloadConformance, AJobThatIsSuspendedHasNoPodsUntilItIsResumed) {
  MakeBatchJob("suspend: true");
  ASSERT_TRUE(Says(BatchJobs("w"), {"status", "ready"}, "0")) << "it was looked at";
  EXPECT_THAT(Names(), SizeIs(0));
  Change(BatchJobs("w"), "spec: {suspend: false}");
  ASSERT_TRUE(HasPods(1));
  Change(BatchJobs("w"), "spec: {suspend: true}");
  EXPECT_TRUE(HasPods(0));
}

TEST_F(WorkloadConformance, AWorkloadTakesItsObjectsAlong) {
  Make("Deployment", "deployments", "replicas: 2");
  ASSERT_TRUE(HasPods(2));
  Delete(Apps("deployments", "w"));
  EXPECT_TRUE(HasPods(0));
  EXPECT_TRUE(Eventually([&] { return Living(Apps("replicasets")).empty(); }));
}

}  // namespace
}  // namespace basalt::conformance
