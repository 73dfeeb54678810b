#include "common/rpc/grpc/library_log.h"

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/obs/log.h"

// Later versions of gRPC write to Abseil's log, which Debian 12's Abseil does not have.
#if __has_include("absl/log/log_sink.h")
#define BASALT_GRPC_LOGS_BY_ABSEIL 1
#include "absl/base/log_severity.h"
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#include "absl/log/log_entry.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#else
#define BASALT_GRPC_LOGS_BY_ABSEIL 0
#include <grpc/support/log.h>
#endif

namespace basalt::rpc {
namespace {

constexpr size_t kMostLogged = 500;
// A server compares the host that a client dialled (SNI) with the names in its own certificate, and accepts the client
// if none fits: members are known by their identities (credentials.h). The log leaves such lines out.
constexpr std::string_view kHostComparison = "No match found for server name";

void LogLine(obs::Level level, std::string_view said, std::string_view file, int line) {
  if (said.starts_with(kHostComparison)) return;
  obs::Log(level, "gRPC's library says",
           {{"said", absl::CEscape(ToAbsl(said.substr(0, kMostLogged)))},
            {"at", std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line)}});
}

#if BASALT_GRPC_LOGS_BY_ABSEIL

obs::Level LevelOf(absl::LogSeverity severity) {
  switch (severity) {
    case absl::LogSeverity::kInfo:
      return obs::Level::kInfo;
    case absl::LogSeverity::kWarning:
      return obs::Level::kWarning;
    case absl::LogSeverity::kError:
    case absl::LogSeverity::kFatal:
      break;
  }
  return obs::Level::kError;
}

class Sink final : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    LogLine(LevelOf(entry.log_severity()), entry.text_message(), entry.source_filename(), entry.source_line());
  }
};

bool TakeOver() {
  absl::InitializeLog();  // Before this call everything is written to stderr, whatever the threshold is.
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
  absl::AddLogSink(new Sink);  // The library writes until the process ends.
  return true;
}

#else

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

void Log(gpr_log_func_args* line) { LogLine(LevelOf(line->severity), line->message, line->file, line->line); }

bool TakeOver() {
  gpr_set_log_function(Log);
  return true;
}

#endif

}  // namespace

void TakeOverGrpcLog() {
  static const bool taken = TakeOver();
  static_cast<void>(taken);
}

}  // namespace basalt::rpc
