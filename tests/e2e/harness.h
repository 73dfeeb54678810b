#pragma once

// Helpers of the end-to-end tests: programs as people run them, the API server as kubectl sees it, and the server's log
// of requests, against which the tests check. The API server is kubesim by default. With BASALT_KUBE=real, it is a real
// one, of the version that BASALT_KUBERNETES names. ctest runs most tests on both. Every wait for another process has a
// deadline.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/exec/loop.h"
#include "common/http/curl/curl_client.h"
#include "common/http/http.h"
#include "common/testing/temp_dir.h"
#include "dev/process_suite.h"
#include "tests/e2e/writer.h"
#include "tests/realkube/cluster.h"

namespace basalt::e2e {

bool Eventually(absl::Duration limit, const std::function<bool()>& condition);

// A child process. The destructor kills the process. Its output goes to the two files.
class Child {
 public:
  Child(const std::vector<std::string>& command, std::string out, std::string err);
  ~Child();
  // Returns the exit code, or 128 + the signal's number. Nullopt if the process still runs at the limit.
  std::optional<int> Wait(absl::Duration limit);
  void Signal(int number);

 private:
  int pid_ = -1;
};

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, std::string_view text);

bool OnReal();
// Returns the real cluster of this process, which the first call starts. Returns null if the start failed.
realkube::Cluster* RealCluster();

// A write of the log. On a real cluster the body is known only for the suite's own writes.
struct Write {
  absl::Time time;
  std::string verb, resource, subresource, ns, name, user_agent;
  int status = 0;
  bool dry_run = false;
  json::value body;
  bool Succeeded() const { return !dry_run && status >= 200 && status < 300; }
  // The request was interrupted, as by the end of the client: etcd may or may not have the write.
  bool IsUncertain() const { return !dry_run && (status == 0 || status == 499 || status >= 500); }
  bool IsOurs() const { return IsByOwner(user_agent); }
};

// Runs the command to its end, or kills it at the limit, with exit code -1. Its output passes through files in `dir`.
Ran RunToEnd(const std::vector<std::string>& command, const std::string& dir, absl::Duration limit);

// A suite whose jobs JudgeJob() checks, by the writes of its cluster and the output of basaltctl.
class Judged {
 public:
  virtual ~Judged() = default;
  virtual std::vector<Write> Log() = 0;
  virtual Ran Ctl(const std::vector<std::string>& words, absl::Duration limit) = 0;
};

// Returns the writes in the audit log of a real cluster.
std::vector<Write> WritesOf(const realkube::Cluster& cluster);

struct WorldOptions {
  // The gateway's identity on a real cluster. If empty, the gateway has its role, by a certificate.
  std::string gateway_kubeconfig;
  std::vector<std::string> gateway_flags;
  std::map<std::string, std::vector<std::string>> service_flags;  // Flags of the services, by program.
  std::vector<std::string> suite_flags;                           // Flags of gateways and services.
  std::string suite_bin_dir;  // The folder of the gateway and service binaries. If empty, BinDir().
  int replicas = 1;           // Replicas of each service.
  int gateways = 1;
  // `tls`, `certificates_dir` and `identity_mapping` are members of ProcessSuiteOptions, too.
  bool tls = true;
  std::string certificates_dir, identity_mapping;
  bool kai = false;  // Pods of KAI's scheduler are grouped and placed, too.
};

// The processes of a suite, with a client of its API server. A failed start is a gtest failure: check ok() after the
// construction. All worlds of a process share one real cluster, which still has the objects of earlier worlds.
class World : public Judged {
 public:
  explicit World(const WorldOptions& options = {});
  ~World() override;

  bool ok() const { return suite_ != nullptr; }
  dev::ProcessSuite& suite() { return *suite_; }
  const testing::TempDir& dir() const { return dir_; }

  Ran Ctl(const std::vector<std::string>& words, absl::Duration limit) override;
  Ran Ctl(const std::vector<std::string>& words) { return Ctl(words, absl::Seconds(120)); }
  // Returns exit code -1 if the command has not ended by the limit.
  Ran Run(const std::vector<std::string>& command, absl::Duration limit);
  // Sends a request as the administrator. `body` is JSON.
  absl::StatusOr<http::Response> Call(const std::string& method, const std::string& path, std::string body = "");
  json::value KubeGet(const std::string& path);  // Returns null if the answer is not 200.
  std::vector<Write> Log() override;
  std::string JobPhase(const std::string& name);
  Loop& loop() { return *loop_; }
  http::Client& client() { return *client_; }  // The administrator's client. Use it on loop() only.
  size_t JobCount();
  // Writes the manifests to the file NAME.yaml and submits them, which must succeed. Returns the file.
  std::string Submit(const std::string& name, std::string_view manifests);

 private:
  testing::TempDir dir_;
  std::unique_ptr<dev::ProcessSuite> suite_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<http::Client> client_;
};

// A test with a world of its own.
class WorldTest : public ::testing::Test {
 protected:
  explicit WorldTest(const WorldOptions& options = {}) : world_(options) {}
  void SetUp() override { ASSERT_TRUE(world_.ok()); }
  World world_;
};

std::string BinDir();

// Returns a document with a job. Its task "work" has `replicas` pods, which run for `runs`, as "300s". `spec` and
// `metadata` have further members: "minAvailable: 1", "labels: {a: b}".
std::string JobManifest(std::string_view name, int replicas, std::string_view runs, std::string_view spec,
                        std::string_view metadata = "");

// Returns the body of a GET. Empty if the request failed.
std::string FetchText(const http::CurlOptions& server, const std::string& path);

// Returns the job phase in the body of a status write. Empty if the body has no phase.
std::string_view PhaseOf(const Write& status_write);

// Returns each change of the job's phase in the log, in order, as "From>To". `recorded` has the changes in the job's
// history: a status write whose outcome is uncertain counts if its change comes next in `recorded`.
std::vector<std::string> PhaseChanges(const std::vector<Write>& log, const std::string& job,
                                      const std::vector<std::string>& recorded = {});

// kKept: the records of the job were always handed over. kLost: a replica was gone for longer than --grace or lost its
// disk, so that another one rebuilt its jobs from Kubernetes. The history may then lack entries (docs/replicas.md).
enum class Records { kKept, kLost };

// Checks that every pod was created at most once, that the history has the phases of the log exactly once each and in
// order, and that no pod was deleted before the end. Returns the violations.
std::vector<std::string> JudgeJob(Judged& suite, const std::string& name, Records records = Records::kKept);

// Returns the number of writes of the controllers for one job, which the budget N + 2 + 2P + 5 limits.
int CountJobWrites(const std::vector<Write>& log, const std::string& job);

}  // namespace basalt::e2e
