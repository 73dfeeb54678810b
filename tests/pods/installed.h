#pragma once

// The suite is installed as a platform team installs it: as pods of the image on a real node of a cluster, from the
// manifest that scripts/deploy prints, with TLS by `basaltctl certs`. The gang scheduler runs beside the suite as a
// process. All tests of a program share one cluster and one installation. One thread; every wait has a deadline.
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
// The value of basaltctl's --identity-mapping, which the processes of the manifest have, too.
inline constexpr char kMapping[] =
    "ns/basalt-system/sa/basalt-gateway=gateway,ns/basalt-system/sa/basalt-jobsvc=jobsvc,"
    "ns/basalt-system/sa/basalt-pgsvc=pgsvc,ns/basalt-system/sa/basalt-queuesvc=queuesvc";

class Installed : public e2e::Judged {
 public:
  // Returns the cluster with the suite in it. The first call starts both. If the start fails, the test fails and the
  // result is null. install_time() is the time from the first object to the last ready pod.
  static Installed* Get();
  // Returns the same cluster without installing the suite.
  static Installed* GetCluster();

  ~Installed() override;
  realkube::Cluster& cluster() { return *cluster_; }
  const testing::TempDir& dir() const { return dir_; }
  absl::Duration install_time() const { return install_time_; }

  // Applies the manifest and the certificates as a person does. Objects that exist or existed are no problem.
  void Install();

  // Lets this machine, whose calls come from no pod, through the policies.
  void AdmitTheMachine();

  // Runs kubectl as the administrator and returns its output. If kubectl fails, the test fails and the result is empty.
  std::string Kubectl(const std::vector<std::string>& words, absl::Duration limit = absl::Seconds(60));
  e2e::Ran TryKubectl(const std::vector<std::string>& words, absl::Duration limit = absl::Seconds(60));
  // Applies YAML by server-side apply. If kubectl fails, Apply() fails the test, TryApply() only returns false.
  void Apply(const std::string& manifest);
  bool TryApply(const std::string& manifest);
  // Returns a page of a pod's port for metrics and health, through the API server. Empty if the request fails.
  std::string Page(const std::string& pod, const std::string& path);
  // Returns the line of a pod's metrics that states when the pod's certificate ends. Empty if the request fails.
  std::string CertificateEnd(const std::string& pod);
  // Returns a digit for each pod of the suite: how often its container was started again.
  std::string Restarts();
  // Returns an object by `kubectl get -o json`. Null if the object does not exist.
  json::value Object(const std::string& kind, const std::string& name, const std::string& ns = kNamespace);

  // Runs basaltctl as an operator with a certificate, through the gateways' pods.
  e2e::Ran Ctl(const std::vector<std::string>& words, absl::Duration limit) override;
  e2e::Ran Ctl(const std::vector<std::string>& words) { return Ctl(words, absl::Seconds(60)); }
  std::vector<e2e::Write> Log() override { return e2e::WritesOf(*cluster_); }
  std::string JobPhase(const std::string& name);

  // Returns the addresses of the gateway pods that have one, separated by commas.
  std::string Gateways();
  // Waits until every pod of the Deployment and of the StatefulSets exists, is ready and has the newest template.
  bool IsReadyWithin(absl::Duration limit);
  // Returns manifests of the certificates. Each call issues new certificates.
  std::string Certificates();
  // Sets the certificate that Ctl() presents: the one in that folder (tls.crt, tls.key and ca.crt), or, without a
  // folder, the one of `basaltctl certs`.
  void ActBy(const std::string& folder = "");
  cli::TlsOptions TlsOptions() const;  // Returns the options of Ctl(), for channels.
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

// Returns the output of scripts/deploy with these arguments.
std::string Rendered(std::vector<std::string> words);
// Returns the manifest with these components.
std::string InstallManifest(const std::vector<std::string>& components = {});

// Returns the folder of the archives of images, basalt.tar and before.tar.
std::string ImagesDir();

// Returns the manifest of a job of Volcano's scheduler. Each task is one line of YAML flow: "{name: a, replicas: 1,
// …}".
std::string JobManifest(const std::string& name, const std::string& spec, const std::vector<std::string>& tasks);
// Returns a task whose pods run on the real node and execute the script with busybox's shell.
std::string RealTask(const std::string& name, int replicas, const std::string& script, const std::string& more = "");
// Returns a task whose pods a fake kubelet runs for `seconds` seconds.
std::string FakeTask(const std::string& name, int replicas, int seconds, const std::string& more = "");

}  // namespace basalt::pods
