#include "common/http/kubeconfig/user.h"

#include <fmt/format.h>

#include <string>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::http::internal {
namespace {

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

bool IsTrue(const json::value& from, std::string_view field) {
  const json::value* value = Find(from, field);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// Refuses a line break, which would begin another header.
absl::Status CheckText(std::string_view name, std::string_view field, std::string_view text) {
  if (text.find_first_of("\r\n") == std::string_view::npos) return absl::OkStatus();
  return InvalidKubeconfig(fmt::format("users['{}'].{} has a line break", name, field));
}

// Returns the key in lower case, with percent signs for characters that a header's name may not have.
std::string HeaderKey(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool plain = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') ||
                       (low != '%' && std::string_view("!#$&'*+-.^_`|~").find(low) != std::string_view::npos);
    out += plain ? std::string(1, low) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

absl::Status ReadImpersonation(std::string_view name, const json::value& user, Headers& headers) {
  const std::string_view as = FindString(user, "as");
  const auto add = [&](std::string_view field, std::string header, std::string_view value) {
    headers.emplace_back(std::move(header), value);
    return CheckText(name, field, value);
  };
  if (!as.empty()) BASALT_RETURN_IF_ERROR(add("as", "Impersonate-User", as));
  if (const std::string_view uid = FindString(user, "as-uid"); !uid.empty()) {
    BASALT_RETURN_IF_ERROR(add("as-uid", "Impersonate-Uid", uid));
  }
  if (const json::value* groups = Find(user, "as-groups"); groups != nullptr && groups->is_array()) {
    for (const json::value& group : groups->get_array()) {
      if (group.is_string())
        BASALT_RETURN_IF_ERROR(add("as-groups", "Impersonate-Group", std::string_view(group.get_string())));
    }
  }
  if (const json::value* extra = Find(user, "as-user-extra"); extra != nullptr && extra->is_object()) {
    for (const auto& [key, values] : extra->get_object()) {
      if (!values.is_array()) continue;
      for (const json::value& value : values.get_array()) {
        if (!value.is_string()) continue;
        BASALT_RETURN_IF_ERROR(add("as-user-extra", "Impersonate-Extra-" + HeaderKey(std::string_view(key)),
                                   std::string_view(value.get_string())));
      }
    }
  }
  if (as.empty() && !headers.empty()) {
    return InvalidKubeconfig(fmt::format("users['{}'] has as-uid, as-groups or as-user-extra without as", name));
  }
  return absl::OkStatus();
}

// Returns the description of the cluster for a plugin: the fields of ExecCredential's spec.cluster.
std::string ClusterInfo(const json::value& cluster, const CurlOptions& options) {
  json::object info;
  for (const std::string_view field : {"server", "tls-server-name", "certificate-authority-data", "proxy-url"}) {
    if (const std::string_view value = FindString(cluster, field); !value.empty()) info[field] = value;
  }
  if (IsTrue(cluster, "insecure-skip-tls-verify")) info["insecure-skip-tls-verify"] = true;
  if (!options.ca_pem.empty() && !info.contains("certificate-authority-data")) {
    info["certificate-authority-data"] = absl::Base64Escape(ToAbsl(options.ca_pem));
  }
  if (const json::value* extensions = Find(cluster, "extensions"); extensions != nullptr && extensions->is_array()) {
    for (const json::value& entry : extensions->get_array()) {
      const json::value* config = Find(entry, "extension");
      if (FindString(entry, "name") == kExecExtension && config != nullptr) info["config"] = *config;
    }
  }
  return ToText(info);
}

absl::Status ReadExec(std::string_view name, const json::value& exec, std::string_view directory,
                      const json::value& cluster, CurlOptions& options) {
  const auto invalid = [&](std::string_view what) {
    return InvalidKubeconfig(fmt::format("users['{}'].exec{}", name, what));
  };
  ExecPlugin plugin;
  plugin.api_version = FindString(exec, "apiVersion");
  if (plugin.api_version != kExecV1 && plugin.api_version != kExecV1Beta1) {
    return invalid(fmt::format(".apiVersion is '{}'; {} or v1beta1 is wanted", plugin.api_version, kExecV1));
  }
  plugin.command = FindString(exec, "command");
  if (plugin.command.empty()) return invalid(".command is empty");
  if (plugin.command.find('/') != std::string::npos) plugin.command = FileField(exec, "command", directory);
  const std::string_view mode = FindString(exec, "interactiveMode");
  if (mode == "Always") {
    return MakeStatus(
        absl::StatusCode::kUnimplemented,
        fmt::format("kubeconfig: users['{}'].exec.interactiveMode is Always: nobody sits before a server; "
                    "use a plugin that needs no terminal, a client certificate or a token",
                    name));
  }
  if (mode.empty() && plugin.api_version == kExecV1) return invalid(".interactiveMode is needed in v1");
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable") {
    return invalid(fmt::format(".interactiveMode is '{}'; Never or IfAvailable is wanted", mode));
  }
  if (const json::value* arguments = Find(exec, "args"); arguments != nullptr && !arguments->is_null()) {
    if (!arguments->is_array()) return invalid(".args is no list");
    for (const json::value& argument : arguments->get_array()) {
      if (!argument.is_string()) return invalid(".args has an entry that is no text");
      plugin.arguments.emplace_back(std::string_view(argument.get_string()));
    }
  }
  if (const json::value* variables = Find(exec, "env"); variables != nullptr && !variables->is_null()) {
    if (!variables->is_array()) return invalid(".env is no list");
    for (const json::value& variable : variables->get_array()) {
      if (FindString(variable, "name").empty()) return invalid(".env has an entry without a name");
      plugin.environment.emplace_back(FindString(variable, "name"), FindString(variable, "value"));
    }
  }
  plugin.install_hint = FindString(exec, "installHint");
  if (IsTrue(exec, "provideClusterInfo")) plugin.cluster_info = ClusterInfo(cluster, options);
  options.exec_plugin = std::move(plugin);
  return absl::OkStatus();
}

}  // namespace

absl::Status InvalidKubeconfig(std::string_view message) { return Invalid(fmt::format("kubeconfig: {}", message)); }

absl::StatusOr<std::string> DecodedField(const json::value& from, std::string_view field) {
  std::string out;
  if (!absl::Base64Unescape(ToAbsl(FindString(from, field)), &out)) {
    return InvalidKubeconfig(fmt::format("{} is not base64", field));
  }
  return out;
}

std::string FileField(const json::value& from, std::string_view field, std::string_view directory) {
  const std::string_view path = FindString(from, field);
  if (path.empty() || path.starts_with('/') || directory.empty()) return std::string(path);
  return fmt::format("{}/{}", directory, path);
}

absl::Status ReadUser(std::string_view name, const json::value& user, std::string_view directory,
                      const json::value& cluster, CurlOptions& options) {
  for (const std::string_view field : {"auth-provider", "username", "password"}) {
    if (Find(user, field) == nullptr) continue;
    return MakeStatus(absl::StatusCode::kUnimplemented,
                      fmt::format("kubeconfig: users['{}'].{} is not supported: API servers take it no more; use a "
                                  "client certificate, a token or an exec plugin",
                                  name, field));
  }
  options.cert_file = FileField(user, "client-certificate", directory);
  options.key_file = FileField(user, "client-key", directory);
  BASALT_ASSIGN_OR_RETURN(options.cert_pem, DecodedField(user, "client-certificate-data"));
  BASALT_ASSIGN_OR_RETURN(options.key_pem, DecodedField(user, "client-key-data"));
  const bool has_cert = !options.cert_file.empty() || !options.cert_pem.empty();
  const bool has_key = !options.key_file.empty() || !options.key_pem.empty();
  if (has_cert != has_key) {
    return InvalidKubeconfig(fmt::format("users['{}'] has a client {} without a {}", name,
                                         has_cert ? "certificate" : "key", has_cert ? "key" : "certificate"));
  }
  options.bearer_token = FindString(user, "token");
  BASALT_RETURN_IF_ERROR(CheckText(name, "token", options.bearer_token));
  options.bearer_token_file = FileField(user, "tokenFile", directory);
  BASALT_RETURN_IF_ERROR(ReadImpersonation(name, user, options.headers));
  const json::value* exec = Find(user, "exec");
  if (exec == nullptr || exec->is_null()) return absl::OkStatus();
  // A token in the file itself wins over a plugin, as with kubectl.
  if (!options.bearer_token.empty() || !options.bearer_token_file.empty()) return absl::OkStatus();
  return ReadExec(name, *exec, directory, cluster, options);
}

}  // namespace basalt::http::internal
