// Defines the flags and the main function that all services share.
#include <fmt/format.h>

#include <cstdio>

#include "absl/flags/flag.h"
#include "common/base/version.h"
#include "common/kube/name_rules.h"
#include "common/obs/log.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/shell/listen.h"
#include "common/shell/log_level.h"
#include "common/shell/port_flags.h"
#include "common/shell/process_flags.h"
#include "common/shell/service_process.h"
#include "common/shell/signals.h"
#include "common/shell/tls_flags.h"
#include "common/watch/watch_hub.h"

ABSL_FLAG(std::vector<std::string>, gateway, {"127.0.0.1:7700"},
          "the gateways, comma separated: host:port, or dns:///name:port for every address that the name has");
ABSL_FLAG(std::string, data_dir, "",
          "folder in which the store gets a folder of its own, and may be the root of a volume; needed");
ABSL_FLAG(bool, rebuild, false, "move a corrupt or foreign store aside and start afresh from Kubernetes");
ABSL_FLAG(bool, kv_sync, false, "flush every write to the disk: survives power loss, at a tenth of the speed");
ABSL_FLAG(int, workers, 1,
          "workers, each with its own thread if several; a slot belongs to worker slot modulo workers");
ABSL_FLAG(uint32_t, max_watches, basalt::watch::WatchHub::kMaxWatches,
          "how many watches of clients a replica serves; one more is refused");

namespace basalt::shell {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);  // A failure of the process is noticed within this time.

// Reports a file that cannot be written on standard error, and returns false.
bool WritePort(const char* flag, const std::string& file, int port) {
  if (file.empty()) return true;
  const absl::Status written = WriteFileWhole(file, fmt::format("{}\n", port));
  if (!written.ok()) std::fprintf(stderr, "error: %s: %s\n", flag, std::string(written.message()).c_str());
  return written.ok();
}

}  // namespace

int RunService(int argc, char** argv, const char* name, gateway::v1::ServiceKind kind, const MakeParts& make_parts) {
  PrepareProcess();
  ParseFlags(argc, argv, name, "a service of Basalt");
  obs::SetUpLogging(name, LevelOf(absl::GetFlag(FLAGS_log_level)));
  if (absl::GetFlag(FLAGS_data_dir).empty()) {
    std::fprintf(stderr, "error: --data_dir is needed\n");
    return 2;
  }
  ServiceOptions options;
  options.name = name;
  options.kind = kind;
  options.replica = absl::GetFlag(FLAGS_replica);
  options.cluster = absl::GetFlag(FLAGS_cluster);
  options.gateways = absl::GetFlag(FLAGS_gateway);
  options.listen = absl::GetFlag(FLAGS_listen);
  options.advertise = absl::GetFlag(FLAGS_advertise);
  options.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  const absl::StatusOr<rpc::GrpcBounds> grpc_bounds = GrpcBoundsFromFlags();
  const absl::StatusOr<http::PageServerBounds> metrics_bounds = PageServerBoundsFromFlags();
  const absl::Status replica =
      options.replica.empty() || kube::IsDnsSubdomain(options.replica)
          ? absl::OkStatus()
          : absl::InvalidArgumentError("--replica has to be a DNS name of 1 to 253 bytes, as the name of a pod is");
  const absl::StatusOr<std::shared_ptr<const rpc::Credentials>> credentials =
      CredentialsFromFlags(options.cluster, rpc::RoleOf(kind), options.replica);
  const absl::StatusOr<UserOptions> users = UsersFromFlags(credentials.ok() ? *credentials : nullptr);
  const bool has_tls = credentials.ok() && *credentials != nullptr;
  const absl::Status listen = CheckListenByFlag("listen", options.listen, has_tls);
  const absl::Status metrics_listen = options.metrics_listen.empty()
                                          ? absl::OkStatus()
                                          : CheckListenByFlag("metrics_listen", options.metrics_listen, has_tls);
  const absl::StatusOr<std::shared_ptr<rpc::MetricsToken>> metrics_token = MetricsTokenFromFlags();
  for (const absl::Status& status : {grpc_bounds.status(), metrics_bounds.status(), replica, credentials.status(),
                                     users.status(), listen, metrics_listen, metrics_token.status()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  options.grpc_bounds = *grpc_bounds;
  options.credentials = *credentials;
  if (users->takes_users) options.user_rate = users->limits.user;
  options.namespace_rate = users->limits.per_namespace;
  options.metrics_bounds = *metrics_bounds;
  options.metrics_token = *metrics_token;
  options.data_dir = absl::GetFlag(FLAGS_data_dir);
  options.rebuild = absl::GetFlag(FLAGS_rebuild);
  options.sync = absl::GetFlag(FLAGS_kv_sync);
  options.workers = absl::GetFlag(FLAGS_workers);
  absl::StatusOr<std::unique_ptr<ServiceProcess>> process = ServiceProcess::Start(options, make_parts);
  if (!process.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(process.status().message()).c_str());
    return 1;
  }
  obs::LogInfo("serving", {{"port", std::to_string((*process)->port())},
                           {"metrics_port", std::to_string((*process)->metrics_port())},
                           {"version", std::string(Version())}});
  if (!WritePort("--metrics_port_file", absl::GetFlag(FLAGS_metrics_port_file), (*process)->metrics_port()) ||
      !WritePort("--port_file", absl::GetFlag(FLAGS_port_file), (*process)->port())) {
    return 1;
  }
  while (!WaitForEnd(kLook)) {
    if (!(*process)->failure().ok()) return 1;
  }
  obs::LogInfo("leaving");
  (*process)->Leave();
  obs::LogInfo("ending");
  return 0;
}

}  // namespace basalt::shell
