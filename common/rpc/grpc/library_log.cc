#include "common/rpc/grpc/library_log.h"

#include <grpc/support/log.h>

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/obs/log.h"

namespace basalt::rpc {
namespace {

constexpr size_t kMostLogged = 500;
// A server compares the host that a client dialled (SNI) with the names in its own certificate, and goes on where none
// fits: members are known by their identities (credentials.h).
constexpr std::string_view kHostComparison = "No match found for server name";

obs::Level LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return obs::Level::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return obs::Level::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      break;
  }
  return obs::Level::kError;
}

void Log(gpr_log_func_args* line) {
  const std::string_view said = line->message;
  if (said.starts_with(kHostComparison)) return;
  const std::string_view file = line->file;
  obs::Log(LevelOf(line->severity), "gRPC's library says",
           {{"said", absl::CEscape(ToAbsl(said.substr(0, kMostLogged)))},
            {"at", std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line->line)}});
}

}  // namespace

void TakeOverGrpcLog() { gpr_set_log_function(Log); }

}  // namespace basalt::rpc
