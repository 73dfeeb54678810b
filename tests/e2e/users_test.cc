// Users of a real Kubernetes call the suite with their own kubeconfigs: one by a token of a service account, one by a
// certificate of the cluster's client authority. They have rights in one of two namespaces.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/http/testing/certificates.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kAnn[] = "system:serviceaccount:team-a:ann";

constexpr char kRights[] = R"(
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: ann, namespace: team-a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: jobs, namespace: team-a}
rules:
- {apiGroups: [batch.volcano.sh], resources: [jobs], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [bus.volcano.sh], resources: [commands], verbs: [create]}
- {apiGroups: [scheduling.volcano.sh], resources: [podgroups], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: jobs, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: jobs}
subjects:
- {kind: ServiceAccount, name: ann, namespace: team-a}
- {kind: Group, name: team-a, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: see-queues}
rules:
- {apiGroups: [scheduling.volcano.sh], resources: [queues], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: see-queues}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: see-queues}
subjects:
- {kind: ServiceAccount, name: ann, namespace: team-a}
- {kind: Group, name: team-a, apiGroup: rbac.authorization.k8s.io}
)";

class UsersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(OnReal()) << "kubesim knows no users: BASALT_KUBE=real is needed";
    WorldOptions options;
    options.replicas = 2;
    options.suite_flags = {"--kubernetes_users"};
    // The gateway must have this role before its first review.
    ASSERT_NE(RealCluster(), nullptr);
    Apply(BASALT_SOURCE_DIR "/deploy/rbac/users");
    world_ = std::make_unique<World>(options);
    ASSERT_TRUE(world_->ok());
    WriteFile(world_->dir() / "rights.yaml", kRights);
    Apply(world_->dir() / "rights.yaml");
  }
  static void Apply(const std::string& what) {
    EXPECT_THAT(RealCluster()->Kubectl({"apply", "-f", what}), testing::IsOk());
  }

  // Writes the kubeconfig of a user with these fields of "user". Returns its path.
  std::string Kubeconfig(const std::string& name, const std::string& user) {
    const std::string file = world_->dir() / (name + ".kubeconfig");
    WriteFile(file,
              fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{{name: k, cluster: {{server: \"{}\", certificate-authority: {}/pki/ca.crt}}}}]\n"
                          "contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
                          "users: [{{name: u, user: {{{}}}}}]\n",
                          RealCluster()->kube_server(), RealCluster()->dir(), user));
    return file;
  }
  std::string Ann() {
    const auto answer = world_->Call("POST", "/api/v1/namespaces/team-a/serviceaccounts/ann/token",
                                     R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    EXPECT_THAT(answer, testing::IsOk());
    const absl::StatusOr<json::value> request = ParseJson(answer.ok() ? answer->body : "");
    const json::value* const status = request.ok() ? Find(*request, "status") : nullptr;
    EXPECT_NE(status, nullptr);
    return Kubeconfig("ann", fmt::format("token: {}", status == nullptr ? "" : FindString(*status, "token")));
  }
  std::string Bob() {
    const http::testing::Certificate authority{ReadFile(RealCluster()->dir() + "/pki/ca.crt"),
                                               ReadFile(RealCluster()->dir() + "/pki/ca.key")};
    const http::testing::Certificate own = http::testing::MakeCertificate(
        {.common_name = "bob", .organisation = "team-a", .alternative_names = ""}, authority);
    WriteFile(world_->dir() / "bob.crt", own.cert_pem);
    WriteFile(world_->dir() / "bob.key", own.key_pem);
    return Kubeconfig("bob", fmt::format("client-certificate: {}, client-key: {}", world_->dir() / "bob.crt",
                                         world_->dir() / "bob.key"));
  }

  // Runs basaltctl as the user of that kubeconfig.
  Ran As(const std::string& kubeconfig, const std::vector<std::string>& words) {
    std::vector<std::string> command = {BinDir() + "/basaltctl",
                                        "--gateway",
                                        world_->suite().gateway(),
                                        "--tls-ca-file",
                                        world_->suite().certificates_dir() + "/operator/operator/ca.crt",
                                        "--kubeconfig",
                                        kubeconfig};
    command.insert(command.end(), words.begin(), words.end());
    return world_->Run(command, absl::Seconds(120));
  }
  std::string Manifest(const std::string& name, const std::string& ns) {
    const std::string file = world_->dir() / (ns + name + ".yaml");
    WriteFile(file,
              fmt::format("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}, namespace: {}}}\n"
                          "spec:\n  minAvailable: 1\n  tasks:\n  - name: secret-task\n    replicas: 1\n    template:\n"
                          "      metadata: {{annotations: {{kubesim.basalt.dev/duration: 600s}}}}\n"
                          "      spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}\n",
                          name, ns));
    return file;
  }
  void ExpectRefused(const Ran& ran, const std::string& right) {
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("may not " + right), Not(HasSubstr("secret-task")))) << ran.out;
  }
  std::vector<std::string> AuditLines() {
    std::vector<std::string> lines;
    for (const std::string& name : world_->suite().names()) {
      std::string log = ReadFile(world_->suite().log_file(name));
      for (size_t at = 0; (at = log.find("\"level\":\"audit\"", at)) != std::string::npos; ++at) {
        lines.push_back(log.substr(at, log.find('\n', at) - at));
      }
    }
    return lines;
  }
  std::vector<std::string> ImpersonatedCreators(const std::string& name) {
    std::vector<std::string> users;
    for (const realkube::AuditLine& line : RealCluster()->Audit()) {
      if (line.verb == "create" && line.resource == "jobs" && line.name == name && line.Succeeded()) {
        users.push_back(line.impersonated);
      }
    }
    return users;
  }

  std::unique_ptr<World> world_;
};

TEST_F(UsersTest, EachDoesHereWhatEachMayDoInKubernetes) {
  const std::string hidden = Manifest("hidden", "team-b");
  ASSERT_EQ(world_->Ctl({"job", "submit", "-f", hidden}).exit_code, 0);
  // Bob calls before the gateway may impersonate, ann afterwards.
  struct User {
    std::string kubeconfig, job, uri;
  };
  const User users[] = {{Bob(), "bobs", "user:bob"}, {Ann(), "anns", fmt::format("user:{}", kAnn)}};
  for (const User& user : users) {
    SCOPED_TRACE(user.uri);
    if (user.job == "anns") Apply(BASALT_SOURCE_DIR "/deploy/rbac/impersonation");
    const auto run = [&](const std::vector<std::string>& words) { return As(user.kubeconfig, words); };
    const auto expect_ok = [&](const std::vector<std::string>& words) {
      const Ran ran = run(words);
      EXPECT_EQ(ran.exit_code, 0) << fmt::format("{}: {}", fmt::join(words, " "), ran.err);
      return ran.out;
    };
    EXPECT_THAT(expect_ok({"topology"}), HasSubstr("jobsvc-0"));
    expect_ok({"job", "submit", "-f", Manifest(user.job, "team-a")});
    const json::value job = world_->KubeGet("/apis/batch.volcano.sh/v1alpha1/namespaces/team-a/jobs/" + user.job);
    const json::value* const named = FindPath(job, {"metadata", "annotations", "basalt.dev/requested-by"});
    EXPECT_EQ(named != nullptr, user.job == "bobs") << "where the gateway impersonates there is no annotation";
    EXPECT_TRUE(named == nullptr || named->get_string() == "bob");
    expect_ok({"job", "get", user.job, "-n", "team-a"});
    expect_ok({"job", "explain", user.job, "-n", "team-a"});
    expect_ok({"job", "history", user.job, "-n", "team-a"});
    EXPECT_THAT(expect_ok({"job", "list", "-A"}), AllOf(HasSubstr(user.job), Not(HasSubstr("hidden"))));
    EXPECT_THAT(expect_ok({"job", "list", "-n", "team-a"}), HasSubstr(user.job));
    expect_ok({"job", "scale", user.job, "secret-task=2", "-n", "team-a"});
    expect_ok({"job", "suspend", user.job, "-n", "team-a"});
    expect_ok({"queue", "list"});
    expect_ok({"queue", "get", "default"});
    EXPECT_THAT(expect_ok({"podgroup", "list", "-A"}), Not(HasSubstr("team-b")));
    expect_ok({"job", "delete", user.job, "-n", "team-a"});

    ExpectRefused(run({"job", "submit", "-f", Manifest(user.job, "team-b")}), "create jobs.batch.volcano.sh");
    ExpectRefused(run({"job", "get", "hidden", "-n", "team-b"}), "get jobs.batch.volcano.sh in namespace 'team-b'");
    ExpectRefused(run({"job", "explain", "hidden", "-n", "team-b"}), "get jobs.batch.volcano.sh");
    ExpectRefused(run({"job", "history", "hidden", "-n", "team-b"}), "get jobs.batch.volcano.sh");
    ExpectRefused(run({"job", "list", "-n", "team-b"}), "list jobs.batch.volcano.sh");
    ExpectRefused(run({"job", "scale", "hidden", "secret-task=2", "-n", "team-b"}), "patch jobs.batch.volcano.sh");
    ExpectRefused(run({"job", "suspend", "hidden", "-n", "team-b"}), "create commands.bus.volcano.sh");
    ExpectRefused(run({"job", "delete", "hidden", "-n", "team-b"}), "delete jobs.batch.volcano.sh");
    ExpectRefused(run({"podgroup", "list", "-n", "team-b"}), "list podgroups.scheduling.volcano.sh");
    ExpectRefused(run({"queue", "close", "default"}), "create commands.bus.volcano.sh in namespace 'default'");
    ExpectRefused(run({"queue", "delete", "default"}), "delete queues.scheduling.volcano.sh");
    EXPECT_THAT(AuditLines(),
                Contains(AllOf(HasSubstr(user.uri), HasSubstr("SubmitJob"), HasSubstr("team-a"), HasSubstr(user.job),
                               HasSubstr("\"outcome\":\"OK\""), Not(HasSubstr("secret-task")))));
    EXPECT_THAT(AuditLines(), Contains(AllOf(HasSubstr(user.uri), HasSubstr("DeleteJob"), HasSubstr("team-b"),
                                             HasSubstr("\"outcome\":\"PERMISSION_DENIED\""))));
  }
  EXPECT_THAT(ImpersonatedCreators("bobs"), Contains(""));
  EXPECT_THAT(ImpersonatedCreators("anns"), Contains(kAnn));
}

}  // namespace
}  // namespace basalt::e2e
