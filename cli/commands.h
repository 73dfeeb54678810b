#pragma once

// basaltctl: what people type. Exit codes: 0 done, 1 the server refused or is away, 2 bad input (nothing was taken),
// 3 the job that was waited for did not complete, 4 the command that was waited for found nothing to do.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connect/channel.h"

namespace CLI {
class App;
}

namespace basalt::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitJobNotCompleted = 3;
inline constexpr int kExitNothingToDo = 4;

struct GlobalOptions {
  std::string gateway = "127.0.0.1:7700";  // Environment: BASALT_GATEWAY.
  std::string output;                      // Empty = table, json or yaml.
  std::string ns = "default";
  bool ns_given = false;
  bool all_namespaces = false;
  TlsOptions tls;  // Environment: BASALT_TLS_CERT_FILE and so on.
};

// All commands and the options that stand everywhere; what is parsed goes to `options` and, by the command that runs,
// to `exit_code`. Both outlive the app.
void AddCommands(CLI::App& app, GlobalOptions& options, int& exit_code);

// Parses and runs one command line. Prints to stdout and stderr.
int Main(int argc, const char* const* argv);

// Prints "error: …" with the message of the status and returns the exit code that fits its code.
int Report(const absl::Status& status);

// The status; where it is NOT_FOUND, with what to do about it.
absl::Status OrLookAt(const absl::Status& status, std::string_view cure);

// INVALID_ARGUMENT where an object is asked for (-o) of a command that has none.
absl::Status PrintsNoObject(const GlobalOptions& options, std::string_view command);

// What --timeout says; empty: for ever. INVALID_ARGUMENT names the flag.
absl::StatusOr<absl::Duration> TimeoutOf(const std::string& timeout);

// A command that has others below it, one of which has to be given.
CLI::App& AddGroup(CLI::App& app, const std::string& name, const std::string& help);

// A command. Once it was given it runs, and leaves its exit code, or that of the error that it prints, in `exit_code`.
CLI::App* AddCommand(CLI::App& group, const std::string& name, const std::string& help, int& exit_code,
                     std::function<absl::StatusOr<int>()> run);

// Commands below one other that share what their flags leave.
template <typename Flags>
class Commands {
 public:
  using Function = absl::StatusOr<int>(const GlobalOptions&, const Flags&);
  using Run = std::function<Function>;

  // All three outlive what the commands do.
  Commands(CLI::App& group, const GlobalOptions& options, int& exit_code)
      : group_(group), options_(options), exit_code_(exit_code) {}

  // Where the options of the commands put what is given; there for as long as one of them may run.
  Flags& flags() const { return *flags_; }
  // A command that calls the function.
  CLI::App* Add(const std::string& name, const std::string& help, Function* run) const {
    return Add(name, help, Run(run));
  }
  CLI::App* Add(const std::string& name, const std::string& help, Run run) const {
    return AddCommand(group_, name, help, exit_code_,
                      [&options = options_, flags = flags_, run = std::move(run)] { return run(options, *flags); });
  }

 private:
  CLI::App& group_;
  const GlobalOptions& options_;
  int& exit_code_;
  const std::shared_ptr<Flags> flags_ = std::make_shared<Flags>();
};

// Each adds its commands below `app`; a command that runs leaves its exit code in `exit_code`.
void AddJobCommands(CLI::App& app, GlobalOptions& options, int& exit_code);
// What is asked of a job that is there; below `job`.
void AddJobActions(CLI::App& job, GlobalOptions& options, int& exit_code);
// render and plugins, which ask no cluster; below `job`.
void AddRenderCommands(CLI::App& job, GlobalOptions& options, int& exit_code);
void AddPodGroupCommands(CLI::App& app, GlobalOptions& options, int& exit_code);
void AddQueueCommands(CLI::App& app, GlobalOptions& options, int& exit_code);
void AddTopologyCommand(CLI::App& app, GlobalOptions& options, int& exit_code);

}  // namespace basalt::cli
