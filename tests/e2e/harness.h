#pragma once

// What the end-to-end tests share: programs as people run them, the API server as kubectl sees it, and its log of
// requests, which judges. The API server is kubesim, or a real one where BASALT_KUBE=real, of the version that
// BASALT_KUBERNETES names: ctest runs most tests on both. Everything across processes is waited for with a deadline.
#include <functional>
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

// A program that was started; killed at the end. Its output goes to files.
class Child {
 public:
  Child(const std::vector<std::string>& command, std::string out, std::string err);
  ~Child();
  std::optional<int> Wait(absl::Duration limit);  // The exit code; 128 + the signal's number.
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
// The real one of this process, started when it is first asked for; null where that failed.
realkube::Cluster* RealCluster();

// One write of the log, as the judges want it. On a real cluster the body is known where it is ours.
struct Write {
  absl::Time time;
  std::string verb, resource, subresource, ns, name, user_agent;
  int status = 0;
  bool dry_run = false;
  json::value body;
  bool Succeeded() const { return !dry_run && status >= 200 && status < 300; }
  // The API server was interrupted, as by the end of the client: etcd may or may not have the write.
  bool IsUncertain() const { return !dry_run && (status == 0 || status == 499 || status >= 500); }
  bool IsOurs() const { return IsByOwner(user_agent); }
};

// The command run to its end, or killed at the limit: exit code -1. Its output passes through files in `dir`.
Ran RunToEnd(const std::vector<std::string>& command, const std::string& dir, absl::Duration limit);

// A suite that a judge asks: for the writes of its cluster, and what basaltctl says.
class Judged {
 public:
  virtual ~Judged() = default;
  virtual std::vector<Write> Log() = 0;
  virtual Ran Ctl(const std::vector<std::string>& words, absl::Duration limit) = 0;
};

// The writes that the audit log of a real cluster has.
std::vector<Write> WritesOf(const realkube::Cluster& cluster);

struct WorldOptions {
  std::string gateway_kubeconfig;  // Who the gateway is on a real cluster; empty: its role, by certificate.
  std::vector<std::string> gateway_flags;
  std::vector<std::string> jobsvc_flags;
  std::vector<std::string> suite_flags;  // Of gateways and services.
  std::string suite_bin_dir;             // Of gateways and services; empty: BinDir().
  int replicas = 1;                      // Of each service.
  int gateways = 1;
  bool tls = true;  // As ProcessSuiteOptions, and the two that follow.
  std::string certificates_dir, identity_mapping;
  bool kai = false;  // Pods of KAI's scheduler are grouped, too, and placed.
};

// The suite's processes and what is needed to talk to them. Fatal failures are those of gtest: check ok() after it was
// made. All worlds of a process have one real cluster: objects of the one before are still there.
class World : public Judged {
 public:
  explicit World(const WorldOptions& options = {});
  ~World() override;

  bool ok() const { return suite_ != nullptr; }
  dev::ProcessSuite& suite() { return *suite_; }
  const testing::TempDir& dir() const { return dir_; }

  Ran Ctl(const std::vector<std::string>& words, absl::Duration limit) override;
  Ran Ctl(const std::vector<std::string>& words) { return Ctl(words, absl::Seconds(120)); }
  // Exit code -1 where it has not ended by the limit.
  Ran Run(const std::vector<std::string>& command, absl::Duration limit);
  // As the administrator. A body is JSON.
  absl::StatusOr<http::Response> Call(const std::string& method, const std::string& path, std::string body = "");
  json::value KubeGet(const std::string& path);  // Null where the answer is not 200.
  std::vector<Write> Log() override;
  std::string JobPhase(const std::string& name);
  Loop& loop() { return *loop_; }
  http::Client& client() { return *client_; }  // The administrator's; for the loop.
  size_t JobCount();

 private:
  testing::TempDir dir_;
  std::unique_ptr<dev::ProcessSuite> suite_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<http::Client> client_;
};

std::string BinDir();

// The body of a GET; empty where there is none.
std::string FetchText(const http::CurlOptions& server, const std::string& path);

// The job's phase that the body of a status write sets; empty: none.
std::string_view PhaseOf(const Write& status_write);

// "From>To", each change of phase of the job that the log shows, in order. A status write whose outcome is uncertain
// counts where `told`, the changes that the job's history tells, has its change next.
std::vector<std::string> PhaseChanges(const std::vector<Write>& log, const std::string& job,
                                      const std::vector<std::string>& told = {});

// Whether the records of the job were always handed over. Where a replica was gone for longer than --grace, or lost its
// disk, others rebuild its jobs from Kubernetes: the history may lack entries (docs/replicas.md).
enum class Records { kKept, kLost };

// Every pod was made at most once; the history has the phases of the log exactly once each, in order; nothing was
// removed before the end. Empty if all is well.
std::vector<std::string> JudgeJob(Judged& suite, const std::string& name, Records records = Records::kKept);

// Writes of the controllers for one job: what the budget N + 2 + 2P + 5 is about.
int CountJobWrites(const std::vector<Write>& log, const std::string& job);

}  // namespace basalt::e2e
