#include "cli/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "absl/strings/str_split.h"
#include "cli/certs/command.h"
#include "cli/completion/command.h"
#include "cli/preflight/command.h"
#include "cli/view/output.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/kube/text.h"

namespace basalt::cli {

int Report(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  // A server that is older than this program answers an unknown call with a code and no message.
  const std::string message(status.message().empty() ? absl::StatusCodeToString(status.code())
                                                     : std::string(status.message()));
  // The message may contain text of others, and a terminal obeys control characters.
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    std::fprintf(stderr, "error: %s\n", Printable(ToStd(line)).c_str());
  }
  return status.code() == absl::StatusCode::kInvalidArgument ? kExitBadInput : kExitRefused;
}

absl::Status OrLookAt(const absl::Status& status, std::string_view cure) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  return MakeStatus(status.code(), fmt::format("{}; {}", ToStd(status.message()), cure));
}

absl::Status PrintsNoObject(const GlobalOptions& options, std::string_view command) {
  if (options.output.empty()) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kInvalidArgument,
      fmt::format("-o {}: {} prints no object; its exit code says what became of it", options.output, command));
}

absl::StatusOr<absl::Duration> TimeoutOf(const std::string& timeout) {
  if (timeout.empty()) return absl::InfiniteDuration();
  const absl::StatusOr<absl::Duration> duration = kube::ParseGoDuration(timeout);
  if (!duration.ok() || *duration < absl::ZeroDuration()) {
    return Invalid(fmt::format("--timeout: '{}' is no duration; give one like 90s or 10m", timeout));
  }
  return *duration;
}

CLI::App& AddGroup(CLI::App& app, const std::string& name, const std::string& help) {
  CLI::App& group = *app.add_subcommand(name, help);
  group.require_subcommand(1);
  group.fallthrough();
  return group;
}

CLI::App* AddCommand(CLI::App& group, const std::string& name, const std::string& help, int& exit_code,
                     std::function<absl::StatusOr<int>()> run) {
  CLI::App* const command = group.add_subcommand(name, help);
  command->fallthrough();
  command->callback([&exit_code, run = std::move(run)] {
    const absl::StatusOr<int> result = run();
    exit_code = result.ok() ? *result : Report(result.status());
  });
  return command;
}

namespace {

void AddKubeconfigOptions(CLI::App& app, KubeconfigOptions& kubeconfig) {
  app.add_option("--kubeconfig", kubeconfig.files,
                 "Kubeconfig, for preflight and for --tls-ca-file alone; default: $KUBECONFIG, then ~/.kube/config")
      ->type_name("FILE");
  app.add_option("--context", kubeconfig.context, "Context of the kubeconfig; default: its current one");
}

void AddTlsOptions(CLI::App& app, TlsOptions& tls) {
  app.add_option("--tls-cert-file", tls.cert_file, "Certificate, in PEM, for a suite whose ports have TLS")
      ->envname("BASALT_TLS_CERT_FILE");
  app.add_option("--tls-key-file", tls.key_file, "Private key of --tls-cert-file")->envname("BASALT_TLS_KEY_FILE");
  app.add_option(
         "--tls-ca-file", tls.ca_file,
         "Authorities that sign the certificates of the suite; alone: the user of the kubeconfig calls the suite")
      ->envname("BASALT_TLS_CA_FILE");
  app.add_option("--identity-mapping", tls.identity_mappings, "Identities of other issuers: PATH=ROLE, comma separated")
      ->delimiter(',')
      ->envname("BASALT_IDENTITY_MAPPING");
  app.add_option("--trust-domain", tls.trust_domain, "Trust domain of the suite's identities")
      ->capture_default_str()
      ->envname("BASALT_TRUST_DOMAIN");
  app.add_option("--cluster", tls.cluster, "Name of the cluster that the suite's identities state")
      ->capture_default_str()
      ->envname("BASALT_CLUSTER");
}

absl::StatusOr<int> PrintWhoAmI(const GlobalOptions& options) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "whoami"));
  BASALT_ASSIGN_OR_RETURN(const std::string who, WhoAmI(options.gateway));
  PrintLine(who);
  return kExitDone;
}

}  // namespace

void AddCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  app.set_version_flag("--version", VersionText());
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--gateway", options.gateway,
                 "Gateways, comma separated: host:port or dns:///name:port; any of them will do")
      ->capture_default_str()
      ->envname("BASALT_GATEWAY");
  app.add_option("-o,--output", options.output, "json or yaml instead of a table")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->transform([](const std::string& format) { return format == "table" ? std::string() : format; });
  app.add_option("-n,--namespace", options.ns, "Namespace")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& ns) { return ns.empty() ? "is empty; -A means all namespaces" : std::string(); }, ""))
      ->each([&options](const std::string&) { options.ns_given = true; });
  app.add_flag("-A,--all-namespaces", options.all_namespaces, "All namespaces");
  AddTlsOptions(app, options.tls);
  AddKubeconfigOptions(app, options.tls.kubeconfig);
  AddJobCommands(app, options, exit_code);
  AddPodGroupCommands(app, options, exit_code);
  AddQueueCommands(app, options, exit_code);
  AddTopologyCommand(app, options, exit_code);
  AddCommand(app, "whoami", "Show as which user you call the suite, and when your token ends", exit_code,
             [&options] { return PrintWhoAmI(options); });
  AddPreflightCommand(app, options, exit_code);
  AddCertsCommands(app, options, exit_code);
  AddCompletionCommand(app);
}

int Main(int argc, const char* const* argv) {
  CLI::App app("basaltctl: submit, watch and understand batch jobs", "basaltctl");
  GlobalOptions options;
  const UseOfTls use(options.tls);
  int exit_code = kExitDone;
  AddCommands(app, options, exit_code);
  if (argc > 1 && argv[1] == kCompleteCommand) {
    PrintCompletions(app, argc, argv);
    return kExitDone;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 throws for --help and --version too, with code 0.
    return app.exit(error) == 0 ? kExitDone : kExitBadInput;
  }
  return exit_code;
}

}  // namespace basalt::cli
