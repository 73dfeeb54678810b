#include "common/http/kubeconfig/kubeconfig.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"
#include "common/http/kubeconfig/user.h"
#include "common/http/proxy.h"

namespace basalt::http {
namespace {

using internal::DecodedField;
using internal::FileField;
using internal::InvalidKubeconfig;

struct Entry {
  json::value value;
  std::string directory;  // The directory of the file that has the entry.
};

// The contents of one or more files. If several files have an entry of one name, the first counts.
struct Merged {
  std::string current_context;
  std::map<std::string, Entry> clusters, contexts, users;
};

constexpr size_t kMaxFileBytes = 4 << 20;

// Reads at most one byte beyond the limit, also from a device that never ends.
absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return MakeStatus(absl::StatusCode::kNotFound, fmt::format("cannot read '{}'", path));
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return Invalid(fmt::format("'{}' has more than {} bytes: that is no kubeconfig, nor a token", path, kMaxFileBytes));
  }
  return text;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

// Keeps an entry without its inner map as null, so that the entry is refused only if it is used.
void AddEntries(const json::value& root, std::string_view list, std::string_view inner, std::string_view directory,
                std::map<std::string, Entry>& into) {
  const json::value* entries = Find(root, list);
  if (entries == nullptr || !entries->is_array()) return;
  for (const json::value& entry : entries->get_array()) {
    const json::value* value = Find(entry, inner);
    into.try_emplace(std::string(FindString(entry, "name")),
                     Entry{value == nullptr ? json::value() : *value, std::string(directory)});
  }
}

absl::Status Merge(std::string_view text, std::string_view directory, Merged& merged) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> documents, ParseYamlDocuments(text));
  if (documents.size() != 1 || !documents[0].is_object()) return InvalidKubeconfig("one YAML map is wanted");
  const json::value& root = documents[0];
  if (merged.current_context.empty()) merged.current_context = FindString(root, "current-context");
  AddEntries(root, "clusters", "cluster", directory, merged.clusters);
  AddEntries(root, "contexts", "context", directory, merged.contexts);
  AddEntries(root, "users", "user", directory, merged.users);
  return absl::OkStatus();
}

absl::StatusOr<const Entry*> FindNamed(const std::map<std::string, Entry>& entries, std::string_view list,
                                       std::string_view name, std::string_view inner) {
  const auto found = entries.find(std::string(name));
  if (found == entries.end()) return InvalidKubeconfig(fmt::format("{} has no entry named '{}'", list, name));
  if (!found->second.value.is_object()) return InvalidKubeconfig(fmt::format("{}['{}'] has no {}", list, name, inner));
  return &found->second;
}

absl::StatusOr<CurlOptions> OptionsOf(const Merged& merged, std::string_view context_name) {
  if (context_name.empty()) context_name = merged.current_context;
  if (context_name.empty()) return InvalidKubeconfig("current-context is empty");
  BASALT_ASSIGN_OR_RETURN(const Entry* context, FindNamed(merged.contexts, "contexts", context_name, "context"));
  BASALT_ASSIGN_OR_RETURN(const Entry* cluster,
                          FindNamed(merged.clusters, "clusters", FindString(context->value, "cluster"), "cluster"));

  CurlOptions options;
  options.base_url = FindString(cluster->value, "server");
  if (!options.base_url.starts_with("https://") && !options.base_url.starts_with("http://")) {
    return InvalidKubeconfig(fmt::format("server '{}' is no http or https URL", WithoutUser(options.base_url)));
  }
  options.ca_file = FileField(cluster->value, "certificate-authority", cluster->directory);
  BASALT_ASSIGN_OR_RETURN(options.ca_pem, DecodedField(cluster->value, "certificate-authority-data"));
  options.tls_server_name = FindString(cluster->value, "tls-server-name");
  const json::value* skip = Find(cluster->value, "insecure-skip-tls-verify");
  options.insecure_skip_verify = skip != nullptr && skip->is_bool() && skip->get_bool();
  if (options.insecure_skip_verify && (!options.ca_file.empty() || !options.ca_pem.empty())) {
    return InvalidKubeconfig("insecure-skip-tls-verify beside a certificate-authority: only one of them can be meant");
  }
  options.proxy_url = FindString(cluster->value, "proxy-url");
  if (!options.proxy_url.empty()) {
    if (const std::string why = CheckProxyUrl(options.proxy_url); !why.empty()) {
      return InvalidKubeconfig("proxy-url: " + why);
    }
  }

  const std::string_view user_name = FindString(context->value, "user");
  if (user_name.empty()) return options;
  BASALT_ASSIGN_OR_RETURN(const Entry* user, FindNamed(merged.users, "users", user_name, "user"));
  BASALT_RETURN_IF_ERROR(internal::ReadUser(user_name, user->value, user->directory, cluster->value, options));
  return options;
}

}  // namespace

absl::StatusOr<CurlOptions> ParseKubeconfig(std::string_view text, std::string_view directory,
                                            std::string_view context) {
  Merged merged;
  BASALT_RETURN_IF_ERROR(Merge(text, directory, merged));
  return OptionsOf(merged, context);
}

absl::StatusOr<CurlOptions> ReadKubeconfig(const std::string& path, std::string_view context) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseKubeconfig(text, DirectoryOf(path), context);
}

absl::StatusOr<CurlOptions> ReadKubeconfigs(std::string_view paths, std::string_view context) {
  Merged merged;
  bool any = false;
  for (std::string_view rest = paths; !rest.empty();) {
    const size_t colon = rest.find(':');
    const std::string path(rest.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    if (path.empty()) continue;
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (absl::IsInvalidArgument(text.status())) return text.status();
    if (!text.ok()) continue;
    any = true;
    if (absl::Status status = Merge(*text, DirectoryOf(path), merged); !status.ok()) return Annotate(status, path);
  }
  if (!any) return MakeStatus(absl::StatusCode::kNotFound, fmt::format("none of '{}' can be read", paths));
  absl::StatusOr<CurlOptions> options = OptionsOf(merged, context);
  if (!options.ok()) return Annotate(options.status(), paths);
  return options;
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
