#pragma once

// The suite as a platform team has it: pods of the image on a real node of a cluster, from the manifest that
// scripts/deploy prints, with TLS by `basaltctl certs`. Beside it the gang scheduler, as a process. All tests of a
// program share one cluster and one installation. One thread; everything is waited for with a deadline.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/connect/channel.h"
#include "common/base/json.h"
#include "common/testing/temp_dir.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt::pods {

inline constexpr char kNamespace[] = "basalt-system";
// --identity-mapping of basaltctl, as the processes of the manifest have it.
inline constexpr char kMapping[] =
    "ns/basalt-system/sa/basalt-gateway=gateway,ns/basalt-system/sa/basalt-jobsvc=jobsvc,"
    "ns/basalt-system/sa/basalt-pgsvc=pgsvc,ns/basalt-system/sa/basalt-queuesvc=queuesvc";

class Installed : public e2e::Judged {
 public:
  // The cluster with the suite in it, made when it is first asked for; null where that failed, which is a failure of
  // the test. The time from the first object to the last ready pod is in install_time().
  static Installed* Get();
  // The same cluster; nobody has installed the suite where Get() was never called.
  static Installed* GetCluster();

  ~Installed() override;
  realkube::Cluster& cluster() { return *cluster_; }
  const testing::TempDir& dir() const { return dir_; }
  absl::Duration install_time() const { return install_time_; }

  // The manifest and the certificates, as a person applies them; also where they are there, or were.
  void Install();

  // Lets this machine, whose calls come from no pod, through the policies.
  void AdmitTheMachine();

  // As the administrator. Fails the test where kubectl fails; the output, else empty.
  std::string Kubectl(const std::vector<std::string>& words, absl::Duration limit = absl::Seconds(60));
  e2e::Ran TryKubectl(const std::vector<std::string>& words, absl::Duration limit = absl::Seconds(60));
  // The objects of YAML, applied by the server. False, and no failure, where TryApply cannot.
  void Apply(const std::string& manifest);
  bool TryApply(const std::string& manifest);
  // A page of a pod's port for metrics and health, through the API server; empty where there is none.
  std::string Page(const std::string& pod, const std::string& path);
  // An object by `kubectl get -o json`; null where there is none.
  json::value Object(const std::string& kind, const std::string& name, const std::string& ns = kNamespace);

  // As an operator with a certificate, through the gateways' pods.
  e2e::Ran Ctl(const std::vector<std::string>& words, absl::Duration limit) override;
  e2e::Ran Ctl(const std::vector<std::string>& words) { return Ctl(words, absl::Seconds(60)); }
  std::vector<e2e::Write> Log() override { return e2e::WritesOf(*cluster_); }
  std::string JobPhase(const std::string& name);

  // The addresses of the gateways that have one, comma separated.
  std::string Gateways();
  // Until every pod of the Deployment and of the StatefulSets is there, ready and of the newest template.
  bool IsReadyWithin(absl::Duration limit);
  // Manifests of the certificates: new ones with each call.
  std::string Certificates();
  // From now on Ctl shows the certificate in that folder (tls.crt, tls.key and ca.crt); without a folder that of
  // basaltctl certs.
  void ActBy(const std::string& folder = "");
  cli::TlsOptions TlsOptions() const;  // Those of Ctl, for channels.
  std::string authority_file() const { return certificates_ + "/authority/ca.crt"; }

 private:
  Installed() = default;
  absl::Status Start();
  absl::Status InstallFirst();

  testing::TempDir dir_;
  std::unique_ptr<realkube::Cluster> cluster_;
  std::unique_ptr<e2e::Child> scheduler_;
  std::string certificates_, operator_;
  absl::Duration install_time_;
};

// A test of the shared installation.
class InstalledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    suite_ = Installed::Get();
    ASSERT_NE(suite_, nullptr);
  }

  Installed* suite_ = nullptr;
};

// What scripts/deploy prints for these words.
std::string Rendered(std::vector<std::string> words);
// The manifest, with these components.
std::string InstallManifest(const std::vector<std::string>& components = {});

// Where the archives of images are: basalt.tar and before.tar.
std::string ImagesDir();

// A job of volcano's scheduler whose tasks are given as YAML flow, one per line: "{name: a, replicas: 1, …}".
std::string JobManifest(const std::string& name, const std::string& spec, const std::vector<std::string>& tasks);
// A task whose pods run on the real node and execute the script with busybox's shell.
std::string RealTask(const std::string& name, int replicas, const std::string& script, const std::string& more = "");
// A task whose pods a fake kubelet runs for so many seconds.
std::string FakeTask(const std::string& name, int replicas, int seconds, const std::string& more = "");

}  // namespace basalt::pods
