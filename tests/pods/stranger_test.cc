// Strangers, tools and Prometheus call an installed suite in a network that enforces NetworkPolicies (kube-router).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/pods/installed.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using ::testing::ElementsAre;

constexpr absl::Duration kLimit = absl::Seconds(60);
constexpr char kShell[] =
    "apiVersion: v1\nkind: Pod\nmetadata: {{name: shell{2}, namespace: {0}, labels: {{{1}}}}}\nspec:\n"
    "  terminationGracePeriodSeconds: 1\n  automountServiceAccountToken: false\n"
    "  securityContext: {{runAsNonRoot: true, runAsUser: 1000, seccompProfile: {{type: RuntimeDefault}}}}\n"
    "  containers:\n  - name: c\n    image: basalt.test/busybox:1\n    imagePullPolicy: Never\n    command: [sleep, "
    "'3600']\n"
    "    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}\n---\n";

class StrangerTest : public InstalledTest {
 protected:
  void MakeShell(const std::string& ns, const std::string& labels = "", const std::string& name = "") {
    suite_->Apply(fmt::format(kShell, ns, labels, name));
    suite_->Kubectl({"wait", "pod/shell" + name, "-n", ns, "--for=condition=Ready", "--timeout=60s"},
                    absl::Seconds(70));
  }
  void MakeNamespace(const std::string& name, const std::string& labels) {
    suite_->Apply(
        fmt::format("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}, labels: {{{}}}}}\n", name, labels));
    MakeShell(name);
  }
  bool Connects(const std::string& ns, const std::string& shell, const std::string& host, int port) {
    return suite_
               ->TryKubectl(
                   {"exec", "-n", ns, shell, "--", "timeout", "3", "nc", "-w", "2", host, fmt::to_string(port)})
               .exit_code == 0;
  }
  // Returns the ports of the suite's pods that a shell of the namespace can reach.
  std::set<int> Reached(const std::string& ns) {
    std::set<int> ports;
    for (const std::string& address : Addresses()) {
      for (const int port : {7700, 7780}) {
        if (Connects(ns, "shell", address, port)) ports.insert(port);
      }
    }
    return ports;
  }
  std::vector<std::string> Addresses() {
    return absl::StrSplit(suite_->Kubectl({"get", "pods", "-n", kNamespace, "-l", "app.kubernetes.io/name=basalt", "-o",
                                           "jsonpath={range .items[*]}{.status.podIP} {end}"}),
                          ' ', absl::SkipEmpty());
  }
};

TEST_F(StrangerTest, NobodyReachesThePodsButWhomALabelAdmits) {
  MakeNamespace("strangers", "");
  MakeNamespace("tools", "basalt.dev/client: 'true'");
  MakeNamespace("monitoring", "basalt.dev/metrics: 'true'");
  // The test applies only the policy of the component: the cluster lacks the definitions of Prometheus' operator.
  std::string policy;
  for (const absl::string_view object : absl::StrSplit(InstallManifest({"prometheus"}), "\n---\n")) {
    if (object.find("name: basalt-metrics") != absl::string_view::npos) policy = std::string(object);
  }
  suite_->Apply(policy);
  EXPECT_TRUE(Eventually(kLimit, [&] { return Reached("monitoring") == std::set<int>{7780}; }));
  EXPECT_TRUE(Eventually(kLimit, [&] { return Reached("tools") == std::set<int>{7700}; }));
  EXPECT_THAT(Reached("strangers"), ElementsAre());
}

TEST_F(StrangerTest, PodsOfTheSuiteReachEachOtherAndGatewaysAloneTheApiServer) {
  const std::string part = "app.kubernetes.io/part-of: basalt, app.kubernetes.io/component: ";
  MakeShell(kNamespace, part + "jobsvc", "-jobsvc");
  MakeShell(kNamespace, part + "gateway", "-gateway");
  MakeShell("default", "", "-outside");
  const std::string outside = suite_->Kubectl({"get", "pod", "shell-outside", "-o", "jsonpath={.status.podIP}"});
  suite_->Kubectl(
      {"exec", "shell-outside", "--", "sh", "-c", "(while true; do nc -l -p 9000 </dev/null; done) >/dev/null 2>&1 &"});
  const std::string peer = Addresses().at(0);
  EXPECT_TRUE(Eventually(kLimit, [&] { return Connects(kNamespace, "shell-jobsvc", peer, 7700); }));
  EXPECT_TRUE(Eventually(kLimit, [&] { return Connects(kNamespace, "shell-gateway", "10.0.0.1", 443); }));
  EXPECT_TRUE(Connects("default", "shell-outside", "127.0.0.1", 9000));
  EXPECT_FALSE(Connects(kNamespace, "shell-jobsvc", "10.0.0.1", 443));
  EXPECT_FALSE(Connects(kNamespace, "shell-jobsvc", outside, 9000));
  EXPECT_FALSE(Connects(kNamespace, "shell-gateway", outside, 9000));
  suite_->Kubectl({"delete", "pod", "-n", kNamespace, "shell-jobsvc", "shell-gateway"});
}

TEST_F(StrangerTest, APodListensOnTheNamedPortsAndNoOther) {
  // The kernel's tables list the ports of each process of the image.
  std::map<std::string, std::set<std::set<int>>> ports;
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    if (std::filesystem::read_symlink(process.path() / "exe", ignored) != "/usr/bin/basalt") continue;
    const std::string command = e2e::ReadFile((process.path() / "cmdline").string());
    const std::string path = command.substr(0, command.find('\0'));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name != "gateway" && name != "jobsvc" && name != "pgsvc" && name != "queuesvc") continue;
    std::set<int> listening;
    for (const char* const table : {"net/tcp", "net/tcp6", "net/udp", "net/udp6"}) {
      std::istringstream lines(e2e::ReadFile((process.path() / table).string()));
      std::string line;
      std::getline(lines, line);
      while (std::getline(lines, line)) {
        const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
        const std::string state = std::string_view(table).find("tcp") != std::string_view::npos ? "0A" : "07";
        if (words.size() > 3 && words[3] == state) {
          listening.insert(std::stoi(words[1].substr(words[1].find(':') + 1), nullptr, 16));
        }
      }
    }
    ports[name].insert(listening);
  }
  ASSERT_EQ(ports.size(), 4u);
  for (const auto& [name, sets] : ports) EXPECT_THAT(sets, ElementsAre(std::set<int>{7700, 7780})) << name;
}

}  // namespace
}  // namespace basalt::pods
