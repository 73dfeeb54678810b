#include "cli/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "absl/strings/str_split.h"
#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"
#include "common/kube/names.h"

namespace basalt::cli {
namespace {

absl::Status Bad(std::string_view source, std::string_view what) {
  return Invalid(fmt::format("{}: {}", source, what));
}

absl::Status CheckJob(std::string_view source, const json::value& document) {
  if (!document.is_object()) return Bad(source, "is not an object; a Job begins with apiVersion and kind");
  const std::string_view api_version = FindString(document, "apiVersion");
  const std::string_view kind = FindString(document, "kind");
  if (api_version.empty()) return Bad(source, "apiVersion: is required (batch.volcano.sh/v1alpha1)");
  if (kind.empty()) return Bad(source, "kind: is required (Job)");
  if (api_version != kube::kJobApiVersion || kind != "Job") {
    return Bad(source,
               fmt::format("kind: {} of {} is not a job; only {} Job can be submitted, use kubectl for the rest",
                           Excerpt(kind), Excerpt(api_version), kube::kJobApiVersion));
  }
  const json::value* meta = Find(document, "metadata");
  if (meta == nullptr || !meta->is_object()) return Bad(source, "metadata: is required");
  const json::value* name = Find(*meta, "name");
  if (name == nullptr) return Bad(source, "metadata.name: is required");
  if (!name->is_string() || name->get_string().empty()) return Bad(source, "metadata.name: must be a non-empty string");
  const json::value* spec = Find(document, "spec");
  if (spec == nullptr) return Bad(source, "spec: is required");
  if (!spec->is_object()) return Bad(source, "spec: must be an object");
  return absl::OkStatus();
}

// At most a byte more than kMaxManifestBytes: a 300 MB file is refused without being read.
absl::StatusOr<std::string> ReadText(const std::string& file) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(nullptr, &std::fclose);
  std::FILE* input = stdin;
  if (file != "-") {
    opened.reset(std::fopen(file.c_str(), "rb"));
    if (opened == nullptr) return Bad(file, fmt::format("cannot be read: {}", std::strerror(errno)));
    input = opened.get();
  }
  std::string text;
  char buffer[65536];
  while (text.size() <= kMaxManifestBytes) {
    const size_t got = std::fread(buffer, 1, sizeof(buffer), input);
    if (got == 0) break;
    text.append(buffer, got);
  }
  if (std::ferror(input) != 0) return Bad(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  return text;
}

std::string NameOf(const std::string& file) { return file == "-" ? "standard input" : file; }

absl::StatusOr<std::vector<json::value>> ParseDocuments(std::string_view file, std::string_view text) {
  if (text.size() > kMaxManifestBytes) {
    return Bad(file, fmt::format("has more than {} bytes; Kubernetes accepts no larger request", kMaxManifestBytes));
  }
  absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(text);
  if (!documents.ok()) return Bad(file, ToStd(documents.status().message()));
  return documents;
}

}  // namespace

absl::StatusOr<std::vector<JobManifest>> ParseJobManifests(std::string_view file, std::string_view text) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> documents, ParseDocuments(file, text));
  std::vector<JobManifest> manifests;
  for (size_t i = 0; i < documents.size(); ++i) {
    const json::value& document = documents[i];
    if (document.is_null()) continue;  // An empty document, as kubectl reads it.
    const std::string source = documents.size() == 1 ? std::string(file) : fmt::format("{}, document {}", file, i + 1);
    BASALT_RETURN_IF_ERROR(CheckJob(source, document));
    const json::value& meta = document.at("metadata");
    manifests.push_back(
        {source, ToText(document), std::string(FindString(meta, "namespace")), std::string(FindString(meta, "name"))});
  }
  if (manifests.empty()) return Bad(file, "holds no document");
  return manifests;
}

absl::Status CheckDistinct(const std::vector<JobManifest>& manifests, std::string_view ns) {
  std::map<std::string, const JobManifest*> seen;
  for (const JobManifest& manifest : manifests) {
    const std::string key = fmt::format("{}/{}", manifest.ns.empty() ? ns : manifest.ns, manifest.name);
    const auto [first, is_new] = seen.emplace(key, &manifest);
    if (is_new) continue;
    return Bad(manifest.source,
               fmt::format("metadata.name: job {} stands in {} already", Excerpt(key, 320), first->second->source));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JobManifest>> ReadJobManifests(const std::string& file) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, ReadText(file));
  return ParseJobManifests(NameOf(file), text);
}

absl::StatusOr<std::vector<std::string>> ReadObjects(const std::string& file) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, ReadText(file));
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> documents, ParseDocuments(NameOf(file), text));
  std::vector<std::string> objects;
  for (const json::value& document : documents) {
    if (document.is_null()) continue;
    const json::value* const items = Find(document, "items");
    if (items == nullptr || !items->is_array() || FindString(document, "kind") != "List") {
      objects.push_back(ToText(document));
      continue;
    }
    for (const json::value& item : items->get_array()) objects.push_back(ToText(item));
  }
  if (objects.empty()) return Bad(NameOf(file), "holds no document");
  return objects;
}

absl::Status AnnotateLines(const absl::Status& status, std::string_view source) {
  if (status.ok()) return status;
  const std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  return MakeStatus(status.code(), fmt::format("{}: {}", source, fmt::join(lines, fmt::format("\n{}: ", source))));
}

}  // namespace basalt::cli
