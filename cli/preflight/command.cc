#include "cli/preflight/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/connect/kube_user.h"
#include "cli/preflight/checks.h"
#include "cli/preflight/curl_kube_api.h"
#include "cli/preflight/report.h"
#include "common/base/status_macros.h"
#include "common/http/proxy.h"

namespace basalt::cli {
namespace {

constexpr int kExitNotChecked = 2;

absl::StatusOr<int> Run(const GlobalOptions& options, const PreflightOptions& asked) {
  BASALT_ASSIGN_OR_RETURN(KubeUser user, ReadKubeUser(options.tls.kubeconfig));
  http::CurlOptions& client = user.options;
  client.user_agent = "basaltctl";
  if (client.proxy_url.empty()) client.proxy_url = http::ProxyFor(client.base_url, Variable);
  const std::unique_ptr<KubeApi> api = MakeCurlKubeApi(std::move(client));
  BASALT_ASSIGN_OR_RETURN(const Findings findings, Preflight(*api, asked));
  std::fputs(FormatFindings(findings, options.output).c_str(), stdout);
  return ExitCodeOf(findings);
}

}  // namespace

void AddPreflightCommand(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("preflight",
                         "Look at a cluster before Basalt takes it over; changes nothing. 0: nothing is in the way, "
                         "1: problems, 2: not everything could be checked");
  command->fallthrough();
  auto asked = std::make_shared<PreflightOptions>();
  command->add_option("--account", asked->account, "The account whose rights are checked")->capture_default_str();
  command->add_option("--scheduler-name", asked->schedulers, "Schedulers whose plain pods get groups")
      ->capture_default_str();
  command->callback([asked, &options, &exit_code] {
    const absl::StatusOr<int> result = Run(options, *asked);
    if (!result.ok()) Report(result.status());
    exit_code = result.ok() ? *result : kExitNotChecked;
  });
}

}  // namespace basalt::cli
