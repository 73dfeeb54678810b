#include "cli/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
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

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

absl::Status Unreadable(std::string_view file) {
  return Bad(file, fmt::format("cannot be read: {}", std::strerror(errno)));
}

// Waits for a writer of the pipe, since a blocking open() of a pipe without a writer would never return. A writer that
// has opened the pipe may take any time.
absl::Status AwaitWriter(const std::string& file, std::FILE* pipe, absl::Duration patience) {
  const int descriptor = fileno(pipe);
  pollfd event = {.fd = descriptor, .events = POLLIN, .revents = 0};
  if (poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) == 0) {
    // A read of 0 bytes means that the pipe has no writer. If the writer has written nothing yet, the read would block.
    unsigned char first = 0;
    const ssize_t got = read(descriptor, &first, 1);
    if (got == 0) return Bad(file, "is a pipe that nobody has opened to write; nothing can be read of it");
    if (got == 1) std::ungetc(first, pipe);
  }
  return fcntl(descriptor, F_SETFL, 0) == 0 ? absl::OkStatus() : Unreadable(file);
}

absl::StatusOr<File> Open(const std::string& file, absl::Duration patience) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return Unreadable(file);
  File opened(fdopen(descriptor, "rb"));
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0) return Unreadable(file);
  if (S_ISFIFO(facts.st_mode)) BASALT_RETURN_IF_ERROR(AwaitWriter(file, opened.get(), patience));
  return opened;
}

// Reads little more than kMaxManifestBytes, so that a 300 MB file is refused without being read whole.
absl::StatusOr<std::string> ReadText(const std::string& file, absl::Duration patience) {
  File opened;
  if (file != "-") {
    BASALT_ASSIGN_OR_RETURN(opened, Open(file, patience));
  }
  std::FILE* const input = opened == nullptr ? stdin : opened.get();
  std::string text;
  char buffer[65536];
  while (text.size() <= kMaxManifestBytes) {
    const size_t got = std::fread(buffer, 1, sizeof(buffer), input);
    if (got == 0) break;
    text.append(buffer, got);
  }
  if (std::ferror(input) != 0) return Unreadable(file);
  return text;
}

std::string NameOf(const std::string& file) { return file == "-" ? "standard input" : file; }

struct Object {
  std::string place;  // The source as in ObjectManifest, without the object's name.
  json::value value;
};

// Gives an item without apiVersion or kind those of the list: the items of a JobList are Jobs.
void CompleteItem(const json::value& list, json::value& item) {
  if (!item.is_object()) return;
  json::object& object = item.get_object();
  const json::value* const version = Find(list, "apiVersion");
  if (version != nullptr && !object.contains("apiVersion")) object["apiVersion"] = *version;
  std::string_view kind = FindString(list, "kind");
  kind.remove_suffix(std::string_view("List").size());
  if (!object.contains("kind") && !kind.empty()) object["kind"] = kind;
}

bool IsList(const json::value& value) {
  const json::value* const items = Find(value, "items");
  return items != nullptr && (items->is_array() || items->is_null()) && FindString(value, "kind").ends_with("List");
}

void AddObjects(const std::string& place, json::value value, std::vector<Object>& objects) {
  if (!IsList(value)) {
    objects.push_back({place, std::move(value)});
    return;
  }
  json::value items = std::move(value.get_object()["items"]);
  if (!items.is_array()) return;
  int number = 0;
  for (json::value& item : items.get_array()) {
    CompleteItem(value, item);
    AddObjects(fmt::format("{}, item {}", place, ++number), std::move(item), objects);
  }
}

absl::StatusOr<std::vector<Object>> ObjectsOf(std::string_view file, std::string_view text) {
  if (text.size() > kMaxManifestBytes) {
    return Bad(file, fmt::format("has more than {} bytes; Kubernetes accepts no larger request", kMaxManifestBytes));
  }
  absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(text, DoubledKeys::kLastCounts);
  if (!documents.ok()) return Bad(file, ToStd(documents.status().message()));
  std::vector<Object> objects;
  for (size_t i = 0; i < documents->size(); ++i) {
    const std::string place = documents->size() == 1 ? std::string(file) : fmt::format("{}, document {}", file, i + 1);
    AddObjects(place, std::move((*documents)[i]), objects);
  }
  if (objects.empty()) return Bad(file, "holds no document");
  return objects;
}

// Returns the place of the object, and the object's kind and name if it has a name.
std::string SourceOf(const Object& object) {
  const json::value* const meta = Find(object.value, "metadata");
  const std::string_view name = meta == nullptr ? std::string_view() : FindString(*meta, "name");
  if (name.empty()) return object.place;
  return fmt::format("{}, {} {}", object.place, absl::AsciiStrToLower(Excerpt(FindString(object.value, "kind"))),
                     Excerpt(name, 260));
}

}  // namespace

absl::StatusOr<std::vector<JobManifest>> ParseJobManifests(std::string_view file, std::string_view text) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Object> objects, ObjectsOf(file, text));
  std::vector<JobManifest> manifests;
  for (const Object& object : objects) {
    const std::string source = SourceOf(object);
    BASALT_RETURN_IF_ERROR(CheckJob(source, object.value));
    const json::value& meta = object.value.at("metadata");
    JobManifest& manifest = manifests.emplace_back();
    manifest.source = source;
    manifest.json = ToText(object.value);
    manifest.ns = FindString(meta, "namespace");
    manifest.name = FindString(meta, "name");
  }
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

absl::StatusOr<std::vector<JobManifest>> ReadJobManifests(const std::string& file, absl::Duration patience) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, ReadText(file, patience));
  return ParseJobManifests(NameOf(file), text);
}

absl::StatusOr<std::vector<ObjectManifest>> ParseObjects(std::string_view file, std::string_view text) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Object> objects, ObjectsOf(file, text));
  std::vector<ObjectManifest> manifests;
  for (const Object& object : objects) manifests.push_back({SourceOf(object), ToText(object.value)});
  return manifests;
}

absl::StatusOr<std::vector<ObjectManifest>> ReadObjects(const std::string& file, absl::Duration patience) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, ReadText(file, patience));
  return ParseObjects(NameOf(file), text);
}

absl::Status AnnotateLines(const absl::Status& status, std::string_view source) {
  if (status.ok()) return status;
  const std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  return MakeStatus(status.code(), fmt::format("{}: {}", source, fmt::join(lines, fmt::format("\n{}: ", source))));
}

}  // namespace basalt::cli
