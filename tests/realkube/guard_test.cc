// With deploy/rbac/guard the API server refuses the gateway's own account some requests that its roles would allow.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt::realkube {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;

constexpr char kAccount[] = "system:serviceaccount:basalt-system:basalt-gateway";

constexpr char kJob[] = R"(apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j, namespace: default}
spec: {tasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}
)";

std::string Owned(const std::string& api_version, const std::string& uid) {
  return fmt::format("ownerReferences: [{{apiVersion: {}, kind: Job, name: j, uid: {}, controller: true}}]",
                     api_version, uid);
}

std::string Pod(const std::string& ns, const std::string& name, const std::string& meta) {
  return fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: {}{}{}}}\n"
      "spec: {{schedulerName: nobody, containers: [{{name: c, image: i}}]}}\n",
      name, ns, meta.empty() ? "" : ", ", meta);
}

class GuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Cluster>> cluster = Cluster::Start({.nodes = 0, .kwok = false});
    ASSERT_THAT(cluster, IsOk());
    cluster_ = *std::move(cluster);
    ASSERT_THAT(cluster_->Kubectl({"create", "-f", BASALT_SOURCE_DIR "/deploy/rbac/guard"}), IsOk());
    // A policy comes into force a moment after its creation.
    EXPECT_TRUE(e2e::Eventually(absl::Seconds(30), [&] { return !AsGateway(Pod("default", "p", "")).empty(); }));
  }

  // Creates the objects as the administrator.
  void Create(const std::string& text) {
    e2e::WriteFile(dir_ / "there.yaml", text);
    ASSERT_THAT(cluster_->Kubectl({"create", "-f", dir_ / "there.yaml"}), IsOk());
  }
  // Returns the message with which the server refuses the object from the gateway. Empty if the server accepts it.
  std::string AsGateway(const std::string& text) {
    e2e::WriteFile(dir_ / "asked.yaml", text);
    return Ask({"create", "--dry-run=server", "-f", dir_ / "asked.yaml"});
  }
  std::string Ask(std::vector<std::string> words) {
    words.insert(words.begin(), {"--as", kAccount});
    const absl::StatusOr<std::string> said = cluster_->Kubectl(words);
    return said.ok() ? "" : std::string(said.status().message());
  }

  testing::TempDir dir_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(GuardTest, TheGatewayTouchesOnlyWhatAJobControls) {
  const std::string not_controlled = "only what a Job of batch.volcano.sh controls";
  Create(kJob);
  // The UID belongs to an existing job: the garbage collector deletes an object whose owner does not exist.
  const auto uid = cluster_->Kubectl({"get", "jobs.batch.volcano.sh", "j", "-o", "jsonpath={.metadata.uid}"});
  ASSERT_THAT(uid, IsOk());
  const std::string of_job = Owned("batch.volcano.sh/v1alpha1", *uid);
  const std::string batch = Owned("batch/v1", *uid);
  EXPECT_EQ(AsGateway(Pod("default", "p", of_job)), "");
  EXPECT_THAT(AsGateway(Pod("default", "p", "")), HasSubstr(not_controlled));
  EXPECT_THAT(AsGateway(Pod("default", "p", batch)), HasSubstr(not_controlled));
  EXPECT_THAT(AsGateway(Pod("kube-system", "p", of_job)), HasSubstr("no system namespace: kube-system"));
  const auto secret = [](const std::string& name, const std::string& meta) {
    return fmt::format("apiVersion: v1\nkind: Secret\nmetadata: {{name: {}, namespace: default{}{}}}\n", name,
                       meta.empty() ? "" : ", ", meta);
  };
  EXPECT_EQ(AsGateway(secret("j-ssh", of_job)), "");
  EXPECT_THAT(AsGateway(secret("j-token", of_job)), HasSubstr("ends in -ssh"));
  EXPECT_THAT(AsGateway(secret("j-ssh", "")), HasSubstr(not_controlled));

  Create(secret("deploy-ssh", "") + "---\n" + Pod("default", "web", "") + "---\n" + Pod("default", "own", of_job));
  EXPECT_THAT(Ask({"delete", "secret", "deploy-ssh", "--dry-run=server"}), HasSubstr(not_controlled));
  EXPECT_THAT(Ask({"delete", "pod", "web", "--dry-run=server"}), HasSubstr(not_controlled));
  EXPECT_EQ(Ask({"delete", "pod", "own", "--dry-run=server"}), "");
  const auto patch = [this](const std::string& pod, const std::string& body) {
    return Ask({"patch", "pod", pod, "--dry-run=server", "--type", "merge", "-p", body});
  };
  EXPECT_EQ(patch("web", R"({"metadata":{"annotations":{"scheduling.k8s.io/group-name":"g"}}})"), "");
  EXPECT_THAT(patch("web", R"({"spec":{"containers":[{"name":"c","image":"evil"}]}})"),
              HasSubstr("annotations and labels alone"));
  EXPECT_THAT(patch("own", R"({"metadata":{"ownerReferences":null}})"), HasSubstr("annotations and labels alone"));
  EXPECT_THAT(patch("own", R"({"metadata":{"finalizers":["example.com/f"]}})"), HasSubstr("annotations and labels"));
}

}  // namespace
}  // namespace basalt::realkube
