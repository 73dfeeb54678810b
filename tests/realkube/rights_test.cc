// Tests least rights. The suite uses all its functions under deploy/rbac/gateway.yaml and the roles of plugins, which
// are bound in one namespace, and beside the guard. The server never refuses a request because of a missing right or
// the guard, and the suite uses every verb that its roles grant. docs/rights.md lists the rights with these steps.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <compare>
#include <set>

#include "common/base/yaml.h"
#include "common/http/testing/loopback_listener.h"
#include "common/testing/status_matchers.h"
#include "tests/realkube/running.h"

namespace basalt::realkube {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kAccount[] = "system:serviceaccount:basalt-system:basalt-gateway";
constexpr char kRole[] = BASALT_SOURCE_DIR "/deploy/rbac/gateway.yaml";
constexpr const char* kRoles[] = {kRole, BASALT_SOURCE_DIR "/deploy/rbac/plugins/ssh.yaml",
                                  BASALT_SOURCE_DIR "/deploy/rbac/plugins/svc.yaml"};
constexpr absl::Duration kLimit = absl::Minutes(1);

struct Right {
  std::string group;
  std::string resource;  // The resource, with its sub-resource.
  std::string verb;
  std::string ns = "";  // Empty for all namespaces.
  auto operator<=>(const Right&) const = default;
};

std::string TextOf(const Right& right) {
  return fmt::format("{} {} of '{}' in {}", right.verb, right.resource, right.group,
                     right.ns.empty() ? "all namespaces" : right.ns);
}

std::vector<json::value> RoleDocuments() {
  std::vector<json::value> all;
  for (const char* file : kRoles) {
    const absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(e2e::ReadFile(file));
    EXPECT_THAT(documents, IsOk()) << file;
    if (documents.ok()) all.insert(all.end(), documents->begin(), documents->end());
  }
  return all;
}

// Returns the rights that the roles grant. The rights of plugins count for all namespaces, because a role does not name
// its bindings.
std::set<Right> GrantedRights() {
  std::set<Right> rights;
  const auto each = [](const json::value& rule, std::string_view field, const auto& use) {
    for (const json::value& entry : Find(rule, field)->get_array()) use(std::string(entry.get_string()));
  };
  for (const json::value& document : RoleDocuments()) {
    const std::string_view kind = FindString(document, "kind");
    if (kind != "ClusterRole" && kind != "Role") continue;
    const json::value* const scope = FindPath(document, {"metadata", "namespace"});
    EXPECT_EQ(scope != nullptr, kind == "Role");
    const std::string ns(scope == nullptr ? "" : scope->get_string());
    for (const json::value& rule : Find(document, "rules")->get_array()) {
      each(rule, "apiGroups", [&](const std::string& group) {
        each(rule, "resources", [&](const std::string& resource) {
          each(rule, "verbs", [&](const std::string& verb) { rights.insert({group, resource, verb, ns}); });
        });
      });
    }
  }
  return rights;
}

TEST(RoleTest, NamesEveryGroupResourceAndVerbAndListsNoSecrets) {
  const std::set<Right> rights = GrantedRights();
  EXPECT_GT(rights.size(), 20u);
  for (const auto& [group, resource, verb, ns] : rights) {
    EXPECT_EQ((group + resource + verb).find('*'), std::string::npos) << group << resource << verb;
    EXPECT_TRUE(ns.empty() || ns == "basalt-system") << ns;
    if (resource == "secrets" || resource == "configmaps" || resource == "services") {
      EXPECT_TRUE(verb != "list" && verb != "watch") << resource;
    }
  }
  EXPECT_EQ(e2e::ReadFile(kRole).find("name: cluster-admin"), std::string::npos);
}

TEST(RoleTest, TheServicesHaveNoWayToSayWhoTheyAreToKubernetes) {
  testing::TempDir dir;
  for (const char* program : {"jobsvc", "pgsvc", "queuesvc"}) {
    e2e::Child child({fmt::format("{}/{}", e2e::BinDir(), program), "--help"}, dir / "out", dir / "err");
    ASSERT_TRUE(child.Wait(kLimit).has_value()) << program;
    const std::string help = e2e::ReadFile(dir / "out") + e2e::ReadFile(dir / "err");
    EXPECT_THAT(help, HasSubstr("--gateway")) << program;
    for (const char* word : {"kube_", "kubeconfig", "token", "certificate", "context"}) {
      EXPECT_EQ(help.find(fmt::format("--{}", word)), std::string::npos) << program << ": " << help;
    }
  }
}

std::string Job(const std::string& name, const std::string& spec, const std::string& ns = "default",
                const std::string& duration = "1s") {
  return fmt::format(R"(apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: {}, namespace: {}}}
spec:
  minAvailable: 1
  {}
  tasks:
  - name: t
    replicas: 1
    template:
      metadata: {{annotations: {{kubesim.basalt.dev/duration: {}}}}}
      spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}
)",
                     name, ns, spec, duration);
}

constexpr char kEverything[] = R"(plugins: {ssh: [], env: [], svc: [], ray: ["--head=t", "--headContainer=c"]}
  volumes:
  - {mountPath: /a, volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  - {mountPath: /b, volumeClaimName: data})";

// Objects of other owners that have the names of the job's objects.
constexpr char kObstacles[] = R"(apiVersion: v1
kind: Secret
metadata: {name: full-ssh}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: full-svc}
---
apiVersion: v1
kind: Service
metadata: {name: full}
spec: {clusterIP: None}
---
apiVersion: v1
kind: Service
metadata: {name: full-head-svc}
spec: {clusterIP: None}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: full}
spec: {podSelector: {}}
---
apiVersion: v1
kind: Pod
metadata: {name: held-t-0}
spec: {schedulerName: nobody, containers: [{name: c, image: i}]}
)";

// Assigns pods with a label to our scheduler.
constexpr char kPolicy[] = R"(apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ours}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    objectSelector: {matchLabels: {scheduler: ours}}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{schedulerName: "volcano"}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ours}
spec: {policyName: ours}
)";

constexpr char kWorkloads[] = R"(apiVersion: v1
kind: Pod
metadata: {name: bare}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d, scheduler: ours}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  serviceName: s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s, scheduler: ours}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds}
spec:
  selector: {matchLabels: {app: ds}}
  template: {metadata: {labels: {app: ds, scheduler: ours}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: plain}
spec:
  template: {metadata: {labels: {scheduler: ours}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {weight: 1}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
)";

class LeastRightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Cluster>> cluster = Cluster::Start();
    ASSERT_THAT(cluster, IsOk());
    cluster_ = *std::move(cluster);
    Kubectl({"create", "-f", BASALT_SOURCE_DIR "/deploy/rbac/guard"});
    dev::ProcessSuiteOptions options;
    options.bin_dir = e2e::BinDir();
    options.dir = dir_ / "suite";
    options.kube = dev::ExternalKube{.server = cluster_->kube_server(),
                                     .admin_kubeconfig = cluster_->kubeconfig(),
                                     .gateway_kubeconfig = cluster_->kubeconfig("gateway"),
                                     .actors_kubeconfig = cluster_->kubeconfig("actors"),
                                     .actors_flags = {}};
    options.service_flags = {{"jobsvc", {"--event_interval=1s"}}};
    absl::StatusOr<std::unique_ptr<dev::ProcessSuite>> suite = dev::ProcessSuite::Start(std::move(options));
    ASSERT_THAT(suite, IsOk());
    suite_ = *std::move(suite);
  }

  void TearDown() override {
    if (!HasFailure() || cluster_ == nullptr) return;
    const std::string logs[] = {dir_ / "suite/gateway-0.log", dir_ / "suite/pgsvc-0.log",
                                cluster_->dir() + "/log/kube-controller-manager.log"};
    for (const std::string& file : logs) {
      std::string log = e2e::ReadFile(file);
      if (log.size() > 4000) log.erase(0, log.size() - 4000);
      fmt::print(stderr, "---- the end of {}\n{}\n", file, log);
    }
    const char* kinds = "pods,podgroups,deployments,replicasets,statefulsets,daemonsets,jobs.batch";
    fmt::print(stderr, "---- what is there\n{}\n", cluster_->Kubectl({"get", kinds, "-A"}).value_or(""));
  }

  std::string Kubectl(const std::vector<std::string>& words) {
    const absl::StatusOr<std::string> text = cluster_->Kubectl(words);
    EXPECT_THAT(text, IsOk());
    return text.value_or("");
  }
  void Create(const std::string& text) {
    e2e::WriteFile(dir_ / "create.yaml", text);
    Kubectl({"create", "-f", dir_ / "create.yaml"});
  }
  void Submit(const std::string& text) {
    e2e::WriteFile(dir_ / "job.yaml", text);
    Ctl({"job", "submit", "-f", dir_ / "job.yaml"});
  }
  void Ctl(const std::vector<std::string>& words) {
    std::vector<std::string> command = {e2e::BinDir() + "/basaltctl"};
    for (std::string& flag : suite_->ctl_flags()) command.push_back(std::move(flag));
    command.insert(command.end(), words.begin(), words.end());
    e2e::Child child(command, dir_ / "out", dir_ / "err");
    EXPECT_EQ(child.Wait(kLimit).value_or(-1), 0) << e2e::ReadFile(dir_ / "err");
  }
  // Waits until kubectl's output contains `word`.
  void Await(const std::vector<std::string>& words, const std::string& word) {
    std::string text;
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
      text = cluster_->Kubectl(words).value_or("");
      return text.find(word) != std::string::npos;
    })) << fmt::format("{}: no '{}' in {}", fmt::join(words, " "), word, text);
  }
  void AwaitPhase(const std::string& job, const std::string& phase) {
    Await({"get", "jobs.batch.volcano.sh", job, "-o", "jsonpath={.status.state.phase}"}, phase);
  }
  void AwaitEvent(const std::string& object, const std::string& words) {
    Await({"get", "events", "--field-selector", "involvedObject.name=" + object, "-o", "jsonpath={..message}"}, words);
  }
  void AwaitUse(const Right& right) {
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return UsedRights().contains(right); })) << TextOf(right);
  }
  std::set<Right> UsedRights() const {
    std::set<Right> used;
    for (const AuditLine& line : cluster_->Audit()) {
      if (line.user != kAccount || line.code == 403) continue;
      Right right{line.group, line.subresource.empty() ? line.resource : line.resource + "/" + line.subresource,
                  line.verb, line.ns};
      // A right that the narrower role grants does not count as a use of the wider role.
      if (!granted_.contains(right)) right.ns.clear();
      used.insert(std::move(right));
    }
    return used;
  }

  // ---- the functions of the suite ----
  void RunJobsWithAllThatBelongsToThem();
  void ScaleAndAbort();
  void RunPlainWorkloads();
  void MakeAndDeleteAQueue();
  void LoseAnswers();
  void ListInPages();
  void LeadOnFromWhatWasSaved();

  const std::set<Right> granted_ = GrantedRights();
  testing::TempDir dir_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<dev::ProcessSuite> suite_;
};

void LeastRightsTest::RunJobsWithAllThatBelongsToThem() {
  Create(kObstacles);
  Submit(Job("full", kEverything, "default", "10m"));
  Submit(Job("held", ""));
  Submit(Job("short", "ttlSecondsAfterFinished: 1"));
  Submit(Job("removed", ""));
  AwaitEvent("full", "plugin ssh: Secret full-ssh exists and belongs to somebody else");
  AwaitEvent("full", "plugin svc: NetworkPolicy full exists");
  AwaitEvent("full", "plugin ray: Service full-head-svc exists and belongs to somebody else");
  AwaitEvent("full", "claim data does not exist");
  AwaitEvent("held", "the name is held by an object that nobody owns");
  // An edit makes jobsvc report the missing claim again: it raises the count of the Event, unless it has just written
  // the Event.
  const auto set_minimum = [&](int minimum) {
    Kubectl({"patch", "jobs.batch.volcano.sh", "full", "--type", "merge", "-p",
             fmt::format(R"({{"spec":{{"minAvailable":{}}}}})", minimum)});
  };
  EXPECT_TRUE(e2e::Eventually(kLimit, [&, edits = 0]() mutable {
    set_minimum(edits++ % 2);
    return UsedRights().contains({"", "events", "patch"});
  }));
  set_minimum(0);
  Kubectl({"delete", "secret/full-ssh", "configmap/full-svc", "service/full", "service/full-head-svc",
           "networkpolicy/full"});
  Create(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
      "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n");
  // Pods are created after all other objects of the job. A job without a minimum is Running before its pods exist.
  Await({"get", "pod", "full-t-0", "-o", "jsonpath={.status.phase}"}, "Running");
  AwaitPhase("removed", "Completed");
  Ctl({"job", "delete", "removed"});
}

void LeastRightsTest::ScaleAndAbort() {
  Ctl({"job", "scale", "full", "t=3", "--min-available", "2"});
  AwaitUse({"batch.volcano.sh", "jobs", "patch"});
  AwaitUse({"", "configmaps", "patch"});
  AwaitUse({"", "secrets", "patch"});
  AwaitUse({"scheduling.volcano.sh", "podgroups", "patch"});
  // jobsvc deletes one pod by a delete, and all pods by one deletecollection.
  Ctl({"job", "scale", "full", "t=2"});
  AwaitUse({"", "pods", "delete"});
  Ctl({"job", "suspend", "full"});
  AwaitPhase("full", "Aborted");
  AwaitUse({"", "pods", "deletecollection"});
  for (const char* resource : {"secrets", "configmaps", "services"}) AwaitUse({"", resource, "delete"});
}

// Watches deliver the owners of pods of our schedulers. If an admission policy assigns a pod to us, the owner of the
// pod is read.
void LeastRightsTest::RunPlainWorkloads() {
  Create(kPolicy);
  e2e::WriteFile(dir_ / "probe.yaml",
                 "apiVersion: v1\nkind: Pod\nmetadata: {name: probe, labels: {scheduler: ours}}\n"
                 "spec: {containers: [{name: c, image: i}]}\n");
  Await({"create", "--dry-run=server", "-f", dir_ / "probe.yaml", "-o", "jsonpath={.spec.schedulerName}"}, "volcano");
  Create(kWorkloads);
  for (const char* resource : {"replicasets", "statefulsets", "daemonsets"}) AwaitUse({"apps", resource, "get"});
  AwaitUse({"batch", "jobs", "get"});
  AwaitUse({"", "pods", "patch"});
  AwaitUse({"scheduling.volcano.sh", "queues", "patch"});
}

void LeastRightsTest::MakeAndDeleteAQueue() {
  Ctl({"queue", "create", "temporary"});
  Await({"get", "queue", "temporary", "-o", "jsonpath={.status.state}"}, "Open");
  Ctl({"queue", "delete", "temporary"});
  AwaitUse({"scheduling.volcano.sh", "queues", "delete"});
}

// An admission webhook never answers. The server gives up our writes, and we must read the objects to find out the
// outcomes.
void LeastRightsTest::LoseAnswers() {
  const http::testing::LoopbackListener peer;  // The kernel accepts the connections, and no program answers.
  Create(fmt::format(R"(apiVersion: v1
kind: Namespace
metadata: {{name: slow, labels: {{slow: "yes"}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: slow}}
webhooks:
- name: slow.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  timeoutSeconds: 30
  namespaceSelector: {{matchLabels: {{slow: "yes"}}}}
  clientConfig: {{url: "https://127.0.0.1:{}/"}}
  rules:
  - {{apiGroups: [batch.volcano.sh], apiVersions: ["*"], operations: [UPDATE], resources: [jobs/status]}}
  - {{apiGroups: [scheduling.volcano.sh], apiVersions: ["*"], operations: [CREATE], resources: [podgroups]}}
)",
                     peer.port()));
  Create(Job("slow", "", "slow"));
  Create(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: bare, namespace: slow}\n"
      "spec: {schedulerName: volcano, containers: [{name: c, image: i}]}\n");
  AwaitUse({"batch.volcano.sh", "jobs", "get"});
  AwaitUse({"scheduling.volcano.sh", "podgroups", "get"});
  Kubectl({"delete", "validatingwebhookconfiguration", "slow"});
}

// Imitates a server without streaming lists.
void LeastRightsTest::ListInPages() {
  RunningGateway gateway(cluster_->kubeconfig("gateway"), {"--streaming_lists=false", "--replica=gateway-1"});
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return gateway.Readyz().find(R"("ready":true,)") == 1; }))
      << gateway.Readyz();
}

// A replica leaves. No member takes over its slots, and the gateway saves the assignment once more.
void LeastRightsTest::LeadOnFromWhatWasSaved() {
  ASSERT_THAT(suite_->Leave("queuesvc"), IsOk());
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return suite_->Ended("queuesvc").has_value(); }));
  AwaitUse({"", "configmaps", "update", "basalt-system"});
  AwaitUse({"coordination.k8s.io", "leases", "update", "basalt-system"});
}

TEST_F(LeastRightsTest, TheRoleIsEnoughAndAllOfItIsUsed) {
  RunJobsWithAllThatBelongsToThem();
  ScaleAndAbort();
  RunPlainWorkloads();
  MakeAndDeleteAQueue();
  LoseAnswers();
  ListInPages();
  LeadOnFromWhatWasSaved();
  EXPECT_THAT(suite_->Casualties(), IsEmpty());
  // The audit log has a watch only after the watch has ended.
  suite_.reset();
  std::set<Right> unused;
  e2e::Eventually(absl::Seconds(20), [&] {
    unused.clear();
    const std::set<Right> used = UsedRights();
    for (const Right& right : granted_) {
      if (!used.contains(right)) unused.insert(right);
    }
    // A queue is read if a write meets a version that the watch has not delivered yet. No step of this test can cause
    // this.
    unused.erase({"scheduling.volcano.sh", "queues", "get"});
    return unused.empty();
  });
  for (const Right& right : unused) ADD_FAILURE() << "granted and never used: " << TextOf(right);
  for (const AuditLine& line : cluster_->Audit()) {
    if (line.user != kAccount || line.code != 403) continue;
    ADD_FAILURE() << "forbidden: " << line.verb << " " << line.uri;
  }
}

}  // namespace
}  // namespace basalt::realkube
