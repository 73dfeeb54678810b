#pragma once

// A cluster with the suite's processes in it. Benches send work to the cluster and measure the cost: writes from the
// API server's own log, CPU time and peak memory of each of our processes. The API server is kubesim as a process,
// which also runs the pods, or a real one with KWOK and our gang scheduler. Used by one thread; calls block.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/testing/temp_dir.h"
#include "dev/process_suite.h"
#include "kubesim/actors/client/api.h"
#include "tests/bench/jobs/collection.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/write_log.h"
#include "tests/realkube/cluster.h"

namespace basalt::bench {

inline constexpr std::string_view kBenchAgent = "bench";  // The user agent of the bench's own requests.
inline constexpr std::string_view kBareAgent = "bare";    // The user agent of the bare client of ReplaceOurs.
inline constexpr std::string_view kJobsPath = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
inline constexpr std::string_view kGroupsPath = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";
inline constexpr std::string_view kKaiGroupsPath = "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups";
inline constexpr std::string_view kPodsPath = "/api/v1/namespaces/default/pods";
inline constexpr std::string_view kCommandsPath = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";
inline constexpr std::string_view kQueuesPath = "/apis/scheduling.volcano.sh/v1beta1/queues";

struct BedOptions {
  std::string bin_dir;
  bool real = false;
  int nodes = 50;
  bool tls = false;         // As in ProcessSuiteOptions.
  bool kai = false;         // Pods of KAI's scheduler are grouped.
  bool places_pods = true;  // Volcano's scheduler runs.
  // The cluster is at rest once nothing has changed for so long. Longer than the five seconds between two writes of a
  // job's counts.
  absl::Duration quiet = absl::Seconds(6);
};

// The cluster's objects as watches show them.
struct View {
  View(Loop& loop, http::Client& client, Random& random, bool kai);
  absl::Time last_change() const;
  bool synced() const;
  Collection jobs, pods, groups, queues, commands;
  std::optional<Collection> kai_groups;  // Nullopt if KAI's groups are not watched.
};

// The writes, CPU time and memory between Begin and End.
struct Window {
  std::vector<LoggedWrite> writes;  // All clients' writes.
  // By program: the CPU time within the window, and the peak of memory since the program was started.
  std::map<std::string, ProcessUsage> usage;
  absl::Duration cpu;      // CPU time of all our processes.
  int64_t peak_bytes = 0;  // The peaks of our processes, added up.
  absl::Duration wall;
  std::map<std::string, absl::Duration> others;  // CPU time of the bed's other processes, by program.
  absl::Duration bench_cpu;                      // CPU time of this process, which includes the bare client.
  // Describes each of our processes: CPU time, peak memory, and the anonymous memory at the end.
  std::string Processes() const;
  // Describes how many cores our processes, the API server's side and the bench used.
  std::string Machine() const;
};

class Bed {
 public:
  static absl::StatusOr<std::unique_ptr<Bed>> Start(const BedOptions& options);
  ~Bed();

  // Sends the requests as the administrator, at most 64 at a time, and repeats each until it is answered. Returns at
  // once. The next Await reports a refusal.
  void Send(std::vector<actors::ApiRequest> requests);
  // As Send, at `per_second` requests a second.
  void SendSteadily(std::vector<actors::ApiRequest> requests, int per_second);

  // Waits until `met` is true. Returns DEADLINE_EXCEEDED with `what`, the name of the state, if that takes longer than
  // `limit`, and FAILED_PRECONDITION if a request was refused.
  absl::Status Await(std::string_view what, const std::function<bool(const View&)>& met,
                     absl::Duration limit = absl::Minutes(4));
  // Waits until nothing has changed in the cluster for `quiet` of the options.
  absl::Status AwaitQuiet() { return AwaitQuiet(options_.quiet); }
  // Waits until every request is answered.
  absl::Status AwaitSent();
  // Returns the UID of the object with that name in that collection, or "" if there is no such object.
  std::string UidOf(Collection View::*kind, std::string_view name);
  // Waits until the list at `path` has `count` items and returns the items. The kind need not be served yet.
  absl::StatusOr<std::vector<json::value>> AwaitItems(const std::string& path, size_t count);

  // Begins a window.
  absl::Status Begin();
  // Ends the window. Returns INTERNAL if one of the processes has ended.
  absl::StatusOr<Window> End();

  // Kills all our processes with SIGKILL and starts them again, with their stores if `with_disks`. A window begins
  // between the two. Waits until the cluster is at rest, and returns the time until all processes were attached.
  absl::StatusOr<absl::Duration> Restart(bool with_disks);

  // Kills all our processes with SIGKILL, for good. From then on a bare client, which decides nothing and keeps
  // nothing, sends the requests that `writes` returns for each pod that is new or enters another phase, one after the
  // other. The bare client's cost is that of the server and of the path to the server. `writes` is called on the bed's
  // loop.
  using BareWrites =
      std::function<std::vector<actors::ApiRequest>(const View& view, std::string_view pod, std::string_view phase)>;
  absl::Status ReplaceOurs(BareWrites writes);

 private:
  explicit Bed(const BedOptions& options) : options_(options) {}
  absl::Status StartAll();
  absl::Status KillOurs();
  absl::Status AwaitQuiet(absl::Duration quiet);
  std::map<std::string, ProcessUsage> Usage() const;
  std::map<std::string, absl::Duration> OthersCpu() const;
  absl::StatusOr<http::Response> Call(const std::string& method, const std::string& path);
  void Do(actors::ApiRequest request);
  void DoBare(std::vector<actors::ApiRequest> requests);
  void SendNext();

  const BedOptions options_;
  const testing::TempDir dir_;
  SystemRandom random_;
  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("bench");
  std::unique_ptr<realkube::Cluster> cluster_;  // Null if the API server is kubesim.
  std::unique_ptr<dev::ProcessSuite> suite_;
  // These live on the loop.
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<actors::Api> api_, bare_;
  std::unique_ptr<View> view_;
  std::string refused_;  // Why a request was refused. Empty if none was.
  std::vector<actors::ApiRequest> steady_;
  size_t steady_at_ = 0;
  absl::Time steady_begin_;
  absl::Duration steady_step_;
  TimerId timer_ = kNoTimer;
  // State at the window's begin.
  size_t lines_ = 0;
  absl::Time begin_;
  std::map<std::string, ProcessUsage> before_;
  std::map<std::string, absl::Duration> others_before_;
  absl::Duration bench_before_;
};

}  // namespace basalt::bench
