#include "common/http/kubeconfig/kubeconfig.h"

#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"

namespace basalt::http {
namespace {

absl::Status Invalid(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, fmt::format("kubeconfig: {}", message));
}

// The member `inner` of the entry of that name in one of the lists clusters, contexts, users.
absl::StatusOr<const json::value*> FindNamed(const json::value& root, std::string_view list, std::string_view name,
                                             std::string_view inner) {
  const json::value* entries = Find(root, list);
  if (entries != nullptr && entries->is_array()) {
    for (const json::value& entry : entries->get_array()) {
      if (FindString(entry, "name") != name) continue;
      const json::value* value = Find(entry, inner);
      if (value == nullptr || !value->is_object()) {
        return Invalid(fmt::format("{}['{}'] has no {}", list, name, inner));
      }
      return value;
    }
  }
  return Invalid(fmt::format("{} has no entry named '{}'", list, name));
}

absl::StatusOr<std::string> Decode(const json::value& from, std::string_view field) {
  std::string out;
  if (!absl::Base64Unescape(ToAbsl(FindString(from, field)), &out)) {
    return Invalid(fmt::format("{} is not base64", field));
  }
  return out;
}

std::string FilePath(const json::value& from, std::string_view field, std::string_view directory) {
  const std::string_view path = FindString(from, field);
  if (path.empty() || path.starts_with('/') || directory.empty()) return std::string(path);
  return fmt::format("{}/{}", directory, path);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return MakeStatus(absl::StatusCode::kNotFound, fmt::format("cannot read '{}'", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

absl::StatusOr<CurlOptions> ParseKubeconfig(std::string_view text, std::string_view directory,
                                            std::string_view context_name) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> documents, ParseYamlDocuments(text));
  if (documents.size() != 1 || !documents[0].is_object()) return Invalid("one YAML map is wanted");
  const json::value& root = documents[0];
  if (context_name.empty()) context_name = FindString(root, "current-context");
  if (context_name.empty()) return Invalid("current-context is empty");
  BASALT_ASSIGN_OR_RETURN(const json::value* context, FindNamed(root, "contexts", context_name, "context"));
  BASALT_ASSIGN_OR_RETURN(const json::value* cluster,
                          FindNamed(root, "clusters", FindString(*context, "cluster"), "cluster"));

  CurlOptions options;
  options.base_url = std::string(FindString(*cluster, "server"));
  if (!options.base_url.starts_with("https://") && !options.base_url.starts_with("http://")) {
    return Invalid(fmt::format("server '{}' is no http or https URL", options.base_url));
  }
  options.ca_file = FilePath(*cluster, "certificate-authority", directory);
  BASALT_ASSIGN_OR_RETURN(options.ca_pem, Decode(*cluster, "certificate-authority-data"));
  options.tls_server_name = std::string(FindString(*cluster, "tls-server-name"));
  const json::value* skip = Find(*cluster, "insecure-skip-tls-verify");
  options.insecure_skip_verify = skip != nullptr && skip->is_bool() && skip->get_bool();
  if (!FindString(*cluster, "proxy-url").empty()) {
    return MakeStatus(absl::StatusCode::kUnimplemented, "kubeconfig: proxy-url is not supported");
  }

  const std::string_view user_name = FindString(*context, "user");
  if (user_name.empty()) return options;
  BASALT_ASSIGN_OR_RETURN(const json::value* user, FindNamed(root, "users", user_name, "user"));
  for (const std::string_view field : {"exec", "auth-provider", "username", "password", "as"}) {
    if (Find(*user, field) != nullptr) {
      return MakeStatus(absl::StatusCode::kUnimplemented,
                        fmt::format("kubeconfig: users['{}'].{} is not supported; use a client certificate or a token",
                                    user_name, field));
    }
  }
  options.cert_file = FilePath(*user, "client-certificate", directory);
  options.key_file = FilePath(*user, "client-key", directory);
  BASALT_ASSIGN_OR_RETURN(options.cert_pem, Decode(*user, "client-certificate-data"));
  BASALT_ASSIGN_OR_RETURN(options.key_pem, Decode(*user, "client-key-data"));
  options.bearer_token = std::string(FindString(*user, "token"));
  options.bearer_token_file = FilePath(*user, "tokenFile", directory);
  return options;
}

absl::StatusOr<CurlOptions> ReadKubeconfig(const std::string& path, std::string_view context) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const size_t slash = path.rfind('/');
  return ParseKubeconfig(text, slash == std::string::npos ? std::string(".") : path.substr(0, slash), context);
}

absl::StatusOr<CurlOptions> InClusterOptions(std::string_view host, std::string_view port,
                                             const std::string& directory) {
  const absl::StatusOr<std::string> token = ReadFile(directory + "/token");
  if (host.empty() || port.empty() || !token.ok()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "not in a cluster (no service account): give --kube_server or --kubeconfig");
  }
  CurlOptions options;
  const bool ipv6 = host.find(':') != std::string_view::npos;
  options.base_url = ipv6 ? fmt::format("https://[{}]:{}", host, port) : fmt::format("https://{}:{}", host, port);
  options.ca_file = directory + "/ca.crt";
  options.bearer_token_file = directory + "/token";
  return options;
}

}  // namespace basalt::http
