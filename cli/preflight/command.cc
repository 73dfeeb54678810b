#include "cli/preflight/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/preflight/checks.h"
#include "cli/preflight/curl_kube_api.h"
#include "cli/preflight/report.h"
#include "common/base/status_macros.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/http/proxy.h"

namespace basalt::cli {
namespace {

constexpr int kExitNotChecked = 2;

struct PreflightFlags {
  std::string kubeconfig, context;
  PreflightOptions options;
};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultKubeconfig() {
  const std::string named = Variable("KUBECONFIG");
  return named.empty() ? Variable("HOME") + "/.kube/config" : named;
}

absl::StatusOr<int> Run(const PreflightFlags& asked, std::string_view format) {
  const std::string file = asked.kubeconfig.empty() ? DefaultKubeconfig() : asked.kubeconfig;
  BASALT_ASSIGN_OR_RETURN(http::CurlOptions client, http::ReadKubeconfigs(file, asked.context));
  client.user_agent = "basaltctl";
  if (client.proxy_url.empty()) client.proxy_url = http::ProxyFor(client.base_url, Variable);
  const std::unique_ptr<KubeApi> api = MakeCurlKubeApi(std::move(client));
  BASALT_ASSIGN_OR_RETURN(const Findings findings, Preflight(*api, asked.options));
  std::fputs(FormatFindings(findings, format).c_str(), stdout);
  return ExitCodeOf(findings);
}

}  // namespace

void AddPreflightCommand(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("preflight",
                         "Look at a cluster before Basalt takes it over; changes nothing. 0: nothing is in the way, "
                         "1: problems, 2: not everything could be checked");
  command->fallthrough();
  auto asked = std::make_shared<PreflightFlags>();
  command->add_option("--kubeconfig", asked->kubeconfig, "Default: $KUBECONFIG, then ~/.kube/config")
      ->type_name("FILE");
  command->add_option("--context", asked->context, "Of that file; default: its current one");
  command->add_option("--account", asked->options.account, "Whose rights are asked for")->capture_default_str();
  command->add_option("--scheduler-name", asked->options.schedulers, "Schedulers whose plain pods get groups")
      ->capture_default_str();
  command->callback([asked, &options, &exit_code] {
    const absl::StatusOr<int> result = Run(*asked, options.output);
    if (!result.ok()) Report(result.status());
    exit_code = result.ok() ? *result : kExitNotChecked;
  });
}

}  // namespace basalt::cli
