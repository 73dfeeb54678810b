#include "tests/pods/installed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using e2e::Ran;

constexpr char kOperator[] = "tester";

// Returns the network of the link between this machine and the cluster. The API server has the address .2 of the
// network.
std::string CableOf(const std::string& server) {
  const size_t from = server.find("//") + 2;
  return server.substr(from, server.rfind('.') - from) + ".0/30";
}

std::string ProgramNamed(const std::string& name) { return e2e::BinDir() + "/" + name; }

// Ends the cluster after the last test.
class SharedInstalled : public ::testing::Environment {
 public:
  void TearDown() override { installed.reset(); }
  std::unique_ptr<Installed> installed;
  bool tried = false, tried_install = false;
};
SharedInstalled& Shared() {
  static SharedInstalled* const shared = new SharedInstalled();
  return *shared;
}
[[maybe_unused]] ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(&Shared());

absl::Status Check(const Ran& ran, std::string_view what) {
  if (ran.exit_code == 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: exit code {}: {}", what, ran.exit_code, ran.err));
}

}  // namespace

std::string Rendered(std::vector<std::string> words) {
  const testing::TempDir dir;
  words.insert(words.begin(), BASALT_SOURCE_DIR "/scripts/deploy");
  const Ran ran = e2e::RunToEnd(words, dir.path(), absl::Minutes(5));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.out;
}

std::string ImagesDir() { return BASALT_SOURCE_DIR "/build/pods"; }

std::string InstallManifest(const std::vector<std::string>& components) {
  std::vector<std::string> words = {"install"};
  words.insert(words.end(), components.begin(), components.end());
  return Rendered(std::move(words));
}

Installed* Installed::GetCluster() {
  if (!std::exchange(Shared().tried, true)) {
    std::unique_ptr<Installed> made(new Installed());
    const absl::Status started = made->Start();
    if (started.ok()) {
      Shared().installed = std::move(made);
    } else {
      ADD_FAILURE() << started;
    }
  }
  return Shared().installed.get();
}

Installed* Installed::Get() {
  Installed* const installed = GetCluster();
  if (installed != nullptr && !std::exchange(Shared().tried_install, true)) {
    const absl::Status status = installed->InstallFirst();
    if (!status.ok()) {
      ADD_FAILURE() << status;
      Shared().installed.reset();
    }
  }
  return Shared().installed.get();
}

absl::Status Installed::Start() {
  BASALT_ASSIGN_OR_RETURN(cluster_, realkube::Cluster::Start({.nodes = 12, .node = true}));
  for (const char* const archive : {"basalt.tar", "before.tar"}) {
    BASALT_RETURN_IF_ERROR(cluster_->LoadImage(fmt::format("{}/{}", ImagesDir(), archive)));
  }
  scheduler_ = std::make_unique<e2e::Child>(
      std::vector<std::string>{ProgramNamed("kube-actors"), "--kubeconfig=" + cluster_->kubeconfig("actors"),
                               "--plain_scheduler_name="},
      dir_ / "scheduler.out", dir_ / "scheduler.err");
  certificates_ = dir_ / "certificates";
  ActBy();
  Certificates();  // The call creates the authority.
  return Check(e2e::RunToEnd({ProgramNamed("basaltctl"), "certs", "issue", certificates_, "operator", kOperator},
                             dir_.path(), absl::Seconds(20)),
               "basaltctl certs issue");
}

absl::Status Installed::InstallFirst() {
  const absl::Time begin = absl::Now();
  Install();
  if (!IsReadyWithin(absl::Minutes(2))) {
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      "the suite is not ready:\n" + Kubectl({"get", "pods", "-n", kNamespace, "-o", "wide"}) +
                          Kubectl({"get", "events", "-n", kNamespace, "--sort-by=.lastTimestamp"}));
  }
  install_time_ = absl::Now() - begin;
  return absl::OkStatus();
}

void Installed::Install() {
  Apply(InstallManifest());
  AdmitTheMachine();
  Apply(Certificates());
}

void Installed::AdmitTheMachine() { Apply(Rendered({"clients", CableOf(cluster_->kube_server())})); }

Installed::~Installed() {
  if (cluster_ == nullptr || !::testing::UnitTest::GetInstance()->Failed()) return;
  const Ran pods = TryKubectl({"get", "pods", "-n", kNamespace, "-o", "wide"});
  fmt::print(stderr, "---- the pods\n{}", pods.out);
  for (const char* const role : {"gateway", "jobsvc", "pgsvc", "queuesvc"}) {
    const Ran log = TryKubectl({"logs", "-n", kNamespace, "--tail=4", "--prefix", "--ignore-errors", "-l",
                                fmt::format("app.kubernetes.io/component={}", role)});
    fmt::print(stderr, "---- the ends of the logs of {}\n{}", role, log.out);
  }
}

Ran Installed::TryKubectl(const std::vector<std::string>& words, absl::Duration limit) {
  std::vector<std::string> command = {"/usr/bin/env", "kubectl", "--kubeconfig", cluster_->kubeconfig()};
  command.insert(command.end(), words.begin(), words.end());
  return e2e::RunToEnd(command, dir_.path(), limit);
}

std::string Installed::Kubectl(const std::vector<std::string>& words, absl::Duration limit) {
  Ran ran = TryKubectl(words, limit);
  EXPECT_EQ(ran.exit_code, 0) << fmt::format("kubectl {}: {}", fmt::join(words, " "), ran.err);
  return ran.exit_code == 0 ? std::move(ran.out) : std::string();
}

void Installed::Apply(const std::string& manifest) { EXPECT_TRUE(TryApply(manifest)); }

bool Installed::TryApply(const std::string& manifest) {
  const std::string file = dir_ / "apply.yaml";
  e2e::WriteFile(file, manifest);
  const Ran ran = TryKubectl({"apply", "--server-side", "--force-conflicts", "-f", file});
  if (ran.exit_code != 0) fmt::print(stderr, "kubectl apply: {}\n", ran.err);
  return ran.exit_code == 0;
}

std::string Installed::Page(const std::string& pod, const std::string& path) {
  const Ran ran = TryKubectl(
      {"get", "--raw", fmt::format("/api/v1/namespaces/{}/pods/https:{}:7780/proxy{}", kNamespace, pod, path)});
  return ran.exit_code == 0 ? ran.out : "";
}

std::string Installed::CertificateEnd(const std::string& pod) {
  const std::string metrics = Page(pod, "/metrics");
  const size_t at = metrics.find("\nbasalt_certificate_end_timestamp_seconds");
  return at == std::string::npos ? "" : metrics.substr(at, metrics.find('\n', at + 1) - at);
}

std::string Installed::Restarts() {
  return Kubectl({"get", "pods", "-n", kNamespace, "-o",
                  "jsonpath={range .items[*]}{.status.containerStatuses[0].restartCount}{end}"});
}

void Installed::ActBy(const std::string& folder) {
  operator_ = folder.empty() ? fmt::format("{}/operator/{}", certificates_, kOperator) : folder;
}

cli::TlsOptions Installed::TlsOptions() const {
  cli::TlsOptions options;
  options.cert_file = operator_ + "/tls.crt";
  options.key_file = operator_ + "/tls.key";
  options.ca_file = operator_ + "/ca.crt";
  options.identity_mappings = absl::StrSplit(kMapping, ',');
  return options;
}

json::value Installed::Object(const std::string& kind, const std::string& name, const std::string& ns) {
  const Ran ran = TryKubectl({"get", kind, name, "-n", ns, "-o", "json"});
  absl::StatusOr<json::value> object = ParseJson(ran.out);
  return ran.exit_code == 0 && object.ok() ? *std::move(object) : json::value();
}

std::string Installed::Certificates() {
  const Ran ran =
      e2e::RunToEnd({ProgramNamed("basaltctl"), "certs", "secrets", certificates_}, dir_.path(), absl::Seconds(20));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.out;
}

std::string Installed::Gateways() {
  const Ran ran = TryKubectl({"get", "pods", "-n", kNamespace, "-l", "app.kubernetes.io/component=gateway", "-o",
                              "jsonpath={range .items[?(@.status.podIP)]}{.status.podIP}:7700 {end}"});
  const std::vector<std::string> addresses = absl::StrSplit(ran.out, ' ', absl::SkipEmpty());
  return fmt::format("{}", fmt::join(addresses, ","));
}

Ran Installed::Ctl(const std::vector<std::string>& words, absl::Duration limit) {
  std::vector<std::string> command = {ProgramNamed("basaltctl"),
                                      "--gateway=" + Gateways(),
                                      "--tls-cert-file=" + operator_ + "/tls.crt",
                                      "--tls-key-file=" + operator_ + "/tls.key",
                                      "--tls-ca-file=" + operator_ + "/ca.crt",
                                      fmt::format("--identity-mapping={}", kMapping)};
  command.insert(command.end(), words.begin(), words.end());
  return e2e::RunToEnd(command, dir_.path(), limit);
}

std::string Installed::JobPhase(const std::string& name) {
  const json::value job = Object("jobs.batch.volcano.sh", name, "default");
  const json::value* const state = job.is_object() ? FindPath(job, {"status", "state"}) : nullptr;
  return state == nullptr ? "" : std::string(FindString(*state, "phase"));
}

bool Installed::IsReadyWithin(absl::Duration limit) {
  const absl::Time end = absl::Now() + limit;
  for (const char* const what : {"deployment/basalt-gateway", "statefulset/basalt-jobsvc", "statefulset/basalt-pgsvc",
                                 "statefulset/basalt-queuesvc"}) {
    const absl::Duration left = std::max(end - absl::Now(), absl::Seconds(1));
    const std::string timeout = fmt::format("--timeout={}s", absl::ToInt64Seconds(left));
    if (TryKubectl({"rollout", "status", what, "-n", kNamespace, timeout}, left + absl::Seconds(5)).exit_code != 0) {
      return false;
    }
  }
  return true;
}

std::string JobManifest(const std::string& name, const std::string& spec, const std::vector<std::string>& tasks) {
  std::string manifest = fmt::format(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}, namespace: default}}\nspec:\n"
      "  schedulerName: volcano\n",
      name);
  for (const absl::string_view line : absl::StrSplit(spec, '\n', absl::SkipEmpty())) {
    manifest += fmt::format("  {}\n", ToStd(line));
  }
  manifest += "  tasks:\n";
  for (const std::string& task : tasks) manifest += fmt::format("  - {}\n", task);
  return manifest + "---\n";
}

std::string RealTask(const std::string& name, int replicas, const std::string& script, const std::string& more) {
  return fmt::format(
      "{{name: {}, replicas: {}, {}template: {{spec: {{nodeSelector: {{basalt.dev/node: real}}, restartPolicy: Never, "
      "terminationGracePeriodSeconds: 1, containers: [{{name: c, image: basalt.test/busybox:1, imagePullPolicy: Never, "
      "command: [sh, -c, {}]}}]}}}}}}",
      name, replicas, more, ToText(json::string(script)));
}

std::string FakeTask(const std::string& name, int replicas, int seconds, const std::string& more) {
  return fmt::format(
      "{{name: {}, replicas: {}, {}template: {{metadata: {{annotations: {{kubesim.basalt.dev/duration: {}s}}}}, spec: "
      "{{nodeSelector: {{basalt.dev/node: fake}}, restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}",
      name, replicas, more, seconds);
}

}  // namespace basalt::pods
