#pragma once

// A cluster with the suite's processes in it, where benches put work to and see what it costs: writes from the API
// server's own log, CPU time and peak memory of each of our processes. The API server is kubesim as a process, which
// runs the pods too, or a real one with KWOK and our gang scheduler. Used by one thread; calls block.
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
#include "tests/bench/jobs/write_log.h"
#include "tests/bench/real/process_usage.h"
#include "tests/realkube/cluster.h"

namespace basalt::bench {

inline constexpr std::string_view kBenchAgent = "bench";  // Of what the bench itself asks for.
inline constexpr std::string_view kBareAgent = "bare";    // Of the bare client that takes our place.
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
  bool tls = false;         // As ProcessSuiteOptions.
  bool kai = false;         // Pods of KAI's scheduler are grouped.
  bool places_pods = true;  // There is a scheduler, Volcano's.
  // How long nothing changes before it is believed that nothing will: counts of a status are written at most every five
  // seconds.
  absl::Duration quiet = absl::Seconds(6);
};

// What watches of the cluster show.
struct View {
  View(Loop& loop, http::Client& client, Random& random, bool kai);
  absl::Time last_change() const;
  bool synced() const;
  Collection jobs, pods, groups, queues, commands;
  std::optional<Collection> kai_groups;  // None: KAI's groups are not looked at.
};

// What happened between Begin and End.
struct Window {
  std::vector<LoggedWrite> writes;            // Of everybody.
  std::map<std::string, ProcessUsage> usage;  // By program. CPU of the window, the peak since it was started.
  absl::Duration cpu;                         // Of all of ours.
  int64_t peak_bytes = 0;                     // Their peaks, added up.
  absl::Duration wall;
  std::map<std::string, absl::Duration> others;  // CPU of everybody else of the bed, by program.
  absl::Duration bench_cpu;                      // Of this process, the bare client in it.
  std::string Processes() const;  // In words: CPU, peak memory, and what of the memory at the end no file backs.
  std::string Machine() const;  // In words: how many cores were taken by us, by the API server's side and by the bench.
};

class Bed {
 public:
  static absl::StatusOr<std::unique_ptr<Bed>> Start(const BedOptions& options);
  ~Bed();

  // As the administrator, at most 64 under way, each repeated until it is answered. What is refused is told by the next
  // Await. Returns at once.
  void Send(std::vector<actors::ApiRequest> requests);
  void SendSteadily(std::vector<actors::ApiRequest> requests, int per_second);

  // DEADLINE_EXCEEDED: it did not come to that; `what` names it. FAILED_PRECONDITION: something sent was refused.
  absl::Status Await(std::string_view what, const std::function<bool(const View&)>& met,
                     absl::Duration limit = absl::Minutes(4));
  // Until nothing has changed in the cluster for so long.
  absl::Status AwaitQuiet() { return AwaitQuiet(options_.quiet); }
  // Until everything that was sent is answered.
  absl::Status AwaitSent();
  // The UID of the object of that name in that collection; empty: there is none.
  std::string UidOf(Collection View::*kind, std::string_view name);
  // The items of the list at that path, once there are so many; also of a kind that is not served yet.
  absl::StatusOr<std::vector<json::value>> AwaitItems(const std::string& path, size_t count);

  absl::Status Begin();
  // INTERNAL: one of the processes has ended.
  absl::StatusOr<Window> End();

  // kill -9 of all of ours, then a start from nothing but what Kubernetes and, `with_disks`, their stores know.
  // A window begins between the two. Returns how long it took until all were attached, and then comes to rest.
  absl::StatusOr<absl::Duration> Restart(bool with_disks);

  // kill -9 of all of ours, for good. From then on a bare client, which decides nothing and keeps nothing, writes what
  // `writes` says of each pod that comes to another phase, or is new, one after the other: what the server and the way
  // to it take from anybody. `writes` is called on the bed's loop.
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
  std::unique_ptr<realkube::Cluster> cluster_;  // Null: kubesim.
  std::unique_ptr<dev::ProcessSuite> suite_;
  // These live on the loop.
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<actors::Api> api_, bare_;
  std::unique_ptr<View> view_;
  std::string refused_;  // Why something that was sent is not done; empty: everything is.
  std::vector<actors::ApiRequest> steady_;
  size_t steady_at_ = 0;
  absl::Time steady_begin_;
  absl::Duration steady_step_;
  TimerId timer_ = kNoTimer;
  // Of the window.
  size_t lines_ = 0;
  absl::Time begin_;
  std::map<std::string, ProcessUsage> before_;
  std::map<std::string, absl::Duration> others_before_;
  absl::Duration bench_before_;
};

}  // namespace basalt::bench
