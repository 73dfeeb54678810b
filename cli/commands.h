#pragma once

// The commands of basaltctl.
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connect/channel.h"

namespace CLI {
class App;
}

namespace basalt::cli {

// Each comment of an exit code stands in docs/reference/commands.md, too: scripts/reference copies it.

// Done.
inline constexpr int kExitDone = 0;
// The server refused or does not answer, the time is over, or the job was deleted. preflight: there is a problem. certs
// show: a certificate has ended or cannot be used.
inline constexpr int kExitRefused = 1;
// Bad input, of which nothing was accepted. preflight: not everything could be checked.
inline constexpr int kExitBadInput = 2;
// The job that was waited for did not complete.
inline constexpr int kExitJobNotCompleted = 3;
// The command that was waited for found nothing to do.
inline constexpr int kExitNothingToDo = 4;

struct GlobalOptions {
  std::string gateway = "127.0.0.1:7700";  // Environment variable: BASALT_GATEWAY.
  std::string output;                      // "json", "yaml", or empty for a table.
  std::string ns = "default";
  bool ns_given = false;
  bool all_namespaces = false;
  TlsOptions tls;  // Environment variables: BASALT_TLS_CERT_FILE and so on.
};

// Adds all commands, and the options that every command takes, to `app`. Parsed options go to `options`; the command
// that runs sets `exit_code`. Both outlive the app.
void AddCommands(CLI::App& app, GlobalOptions& options, int& exit_code);

// Parses and runs one command line. Prints to stdout and stderr.
int Main(int argc, const char* const* argv);

// Prints "error: …" with the message of the status and returns the exit code for the status code.
int Report(const absl::Status& status);

// Returns the status. The message of NOT_FOUND gets `cure`, the advice to the user, behind it.
absl::Status OrLookAt(const absl::Status& status, std::string_view cure);

// Returns INVALID_ARGUMENT if -o is given to a command that prints no object.
absl::Status PrintsNoObject(const GlobalOptions& options, std::string_view command);

// Parses the value of --timeout. An empty value means for ever. INVALID_ARGUMENT names the flag.
absl::StatusOr<absl::Duration> TimeoutOf(const std::string& timeout);

// Adds a command that has subcommands, one of which the user has to give.
CLI::App& AddGroup(CLI::App& app, const std::string& name, const std::string& help);

// Adds a command. When the user gives the command, `run` is called, and `exit_code` is set to its result, or to the
// exit code of the error, which is printed.
CLI::App* AddCommand(CLI::App& group, const std::string& name, const std::string& help, int& exit_code,
                     std::function<absl::StatusOr<int>()> run);

// Each function adds its commands below `app`; a command that runs sets `exit_code`.
void AddJobCommands(CLI::App& app, GlobalOptions& options, int& exit_code);
// Adds the commands that change or await an existing job, such as restart, scale and wait, below `job`.
void AddJobActions(CLI::App& job, GlobalOptions& options, int& exit_code);
// Adds render and plugins, which need no cluster, below `job`.
void AddRenderCommands(CLI::App& job, GlobalOptions& options, int& exit_code);
void AddPodGroupCommands(CLI::App& app, GlobalOptions& options, int& exit_code);
void AddQueueCommands(CLI::App& app, GlobalOptions& options, int& exit_code);
void AddTopologyCommand(CLI::App& app, GlobalOptions& options, int& exit_code);

}  // namespace basalt::cli
