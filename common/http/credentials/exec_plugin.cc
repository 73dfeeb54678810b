#include "common/http/credentials/exec_plugin.h"

#include <fmt/format.h>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/http/credentials/run_command.h"

namespace basalt::http {
namespace {

absl::Status InvalidCredential(std::string_view message) {
  return Invalid(fmt::format("its ExecCredential: {}", message));
}

class ExecSource final : public IdentitySource {
 public:
  explicit ExecSource(ExecPlugin plugin) : plugin_(std::move(plugin)), loop_(MakeThreadLoop("exec-plugin")) {}
  ~ExecSource() override {
    stop_.Stop();
    loop_.reset();
  }

  void Fetch(Done done) override {
    loop_->Post([this, done = std::move(done)] { done(Run()); });
  }

 private:
  absl::StatusOr<FetchedIdentity> Run() {
    Command command;
    command.words = {plugin_.command};
    command.words.insert(command.words.end(), plugin_.arguments.begin(), plugin_.arguments.end());
    command.environment = plugin_.environment;
    command.environment.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(plugin_));
    command.limit = plugin_.limit;
    const absl::StatusOr<std::string> output = RunCommand(command, stop_);
    absl::StatusOr<FetchedIdentity> fetched =
        output.ok() ? ParseExecCredential(*output, plugin_.api_version) : output.status();
    if (fetched.ok()) return fetched;
    std::string why = fmt::format("exec plugin '{}': {}", plugin_.command, ToStd(fetched.status().message()));
    if (absl::IsNotFound(fetched.status()) && !plugin_.install_hint.empty()) why += "; " + plugin_.install_hint;
    return MakeStatus(absl::StatusCode::kUnauthenticated, why);
  }

  const ExecPlugin plugin_;
  CommandStop stop_;
  std::unique_ptr<Loop> loop_;  // Is the last member, since its thread uses the others.
};

}  // namespace

std::string ExecInfo(const ExecPlugin& plugin) {
  json::object info, spec;
  spec["interactive"] = false;
  if (!plugin.cluster_info.empty()) {
    if (absl::StatusOr<json::value> cluster = ParseJson(plugin.cluster_info); cluster.ok()) spec["cluster"] = *cluster;
  }
  info["kind"] = "ExecCredential";
  info["apiVersion"] = plugin.api_version;
  info["spec"] = std::move(spec);
  return ToText(info);
}

absl::StatusOr<FetchedIdentity> ParseExecCredential(std::string_view text, std::string_view api_version) {
  const absl::StatusOr<json::value> parsed = ParseJson(text);
  if (!parsed.ok() || !parsed->is_object()) return InvalidCredential("it is no JSON object");
  if (FindString(*parsed, "kind") != "ExecCredential") return InvalidCredential("kind is not ExecCredential");
  if (FindString(*parsed, "apiVersion") != api_version) {
    return InvalidCredential(fmt::format("apiVersion is '{}', the kubeconfig says '{}'",
                                         FindString(*parsed, "apiVersion").substr(0, 80), api_version));
  }
  const json::value* status = Find(*parsed, "status");
  if (status == nullptr || !status->is_object()) return InvalidCredential("it has no status");
  FetchedIdentity out;
  out.identity.token = FindString(*status, "token");
  out.identity.cert_pem = FindString(*status, "clientCertificateData");
  out.identity.key_pem = FindString(*status, "clientKeyData");
  if (out.identity.cert_pem.empty() != out.identity.key_pem.empty()) {
    return InvalidCredential("status.clientCertificateData and status.clientKeyData come together or not at all");
  }
  if (out.identity.token.empty() && out.identity.cert_pem.empty()) {
    return InvalidCredential("status has neither a token nor a client certificate");
  }
  // A line break would end the header and begin another header.
  if (out.identity.token.find_first_of("\r\n") != std::string::npos)
    return InvalidCredential("status.token has a line break");
  if (const std::string_view expires = FindString(*status, "expirationTimestamp"); !expires.empty()) {
    std::string why;
    if (!absl::ParseTime(absl::RFC3339_full, ToAbsl(expires), &out.expires, &why)) {
      return InvalidCredential("status.expirationTimestamp is no RFC 3339 time");
    }
  }
  return out;
}

std::unique_ptr<IdentitySource> MakeExecSource(ExecPlugin plugin) {
  return std::make_unique<ExecSource>(std::move(plugin));
}

}  // namespace basalt::http
