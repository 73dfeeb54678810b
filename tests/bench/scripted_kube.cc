#include "tests/bench/scripted_kube.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/http/target.h"

namespace basalt::bench {
namespace {

const http::Headers kJson = {{"Content-Type", "application/json"}};

void Merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      target.get_object().erase(member.key());
    } else {
      Merge(target.get_object()[member.key()], member.value());
    }
  }
}

std::string Line(std::string_view type, const json::value& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})"
                     "\n",
                     type, ToText(object));
}

}  // namespace

absl::Status ScriptedKube::Fill(const ClusterShape& shape) {
  for (int job = 0; job < shape.jobs; ++job) {
    BASALT_ASSIGN_OR_RETURN(json::value stored, ParseJson(JobJson(shape, job, ++version_)));
    collections_["jobs"].objects[fmt::format("{}/{}", kNamespace, JobName(job))] = std::move(stored);
    BASALT_ASSIGN_OR_RETURN(const std::string group, PodGroupJson(shape, job, ++version_));
    BASALT_ASSIGN_OR_RETURN(stored, ParseJson(group));
    collections_["podgroups"].objects[fmt::format("{}/{}-{}", kNamespace, JobName(job), JobUid(job))] =
        std::move(stored);
  }
  return absl::OkStatus();
}

void ScriptedKube::Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) {
  const http::Target target = http::ParseTarget(request.target);
  // A path is /api/VERSION/… or /apis/GROUP/VERSION/…, then [namespaces/NAMESPACE/]PLURAL[/NAME[/SUBRESOURCE]].
  const std::vector<std::string>& path = target.segments;
  size_t at = !path.empty() && path[0] == "api" ? 2 : 3;
  std::string ns;
  if (path.size() > at + 2 && path[at] == "namespaces") {
    ns = path[at + 1];
    at += 2;
  }
  if (path.size() <= at) return Refuse(request, *writer);
  const std::string& plural = path[at];
  Collection& collection = collections_[plural];
  if (request.method == "GET" && path.size() == at + 1 && target.HasQuery("watch")) {
    Watch(collection, target.HasQuery("sendInitialEvents"), *writer);
    collection.watches.push_back(std::move(writer));
    return;
  }
  if (request.method == "PATCH" && path.size() >= at + 2) {
    if (path.size() == at + 3) ++status_writes_;
    const std::string key = fmt::format("{}/{}", ns, path[at + 1]);
    if (collection.objects.contains(key)) return Patch(collection, key, request.body, *writer);
  }
  if (request.method == "GET" && path.size() == at + 2) {
    const auto object = collection.objects.find(fmt::format("{}/{}", ns, path[at + 1]));
    if (object != collection.objects.end()) return writer->Whole(200, kJson, ToText(object->second));
  }
  if (request.method == "POST" && plural == "events") return writer->Whole(201, kJson, request.body);
  Refuse(request, *writer);
}

void ScriptedKube::Watch(Collection& collection, bool list, http::ResponseWriter& writer) {
  writer.Head(200, kJson);
  if (!list) return;
  for (const auto& [key, object] : collection.objects) writer.Chunk(Line("ADDED", object));
  const json::value bookmark = {
      {"kind", "Bookmark"},
      {"apiVersion", "v1"},
      {"metadata",
       {{"resourceVersion", fmt::to_string(++version_)}, {"annotations", {{"k8s.io/initial-events-end", "true"}}}}}};
  writer.Chunk(Line("BOOKMARK", bookmark));
}

void ScriptedKube::Patch(Collection& collection, const std::string& key, std::string_view body,
                         http::ResponseWriter& writer) {
  const absl::StatusOr<json::value> patch = ParseJson(body);
  json::value& object = collection.objects[key];
  const json::value* metadata = patch.ok() ? Find(*patch, "metadata") : nullptr;
  const std::string_view expected = metadata == nullptr ? std::string_view() : FindString(*metadata, "resourceVersion");
  if (!patch.ok() || (!expected.empty() && expected != FindString(*Find(object, "metadata"), "resourceVersion"))) {
    return writer.Whole(409, kJson,
                        R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409})");
  }
  Merge(object, *patch);
  object.as_object()["metadata"].as_object()["resourceVersion"] = fmt::to_string(++version_);
  writer.Whole(200, kJson, ToText(object));
  std::erase_if(collection.watches, [](const auto& watch) { return watch->closed(); });
  const std::string line = Line("MODIFIED", object);
  for (const auto& watch : collection.watches) watch->Chunk(line);
}

void ScriptedKube::Refuse(const http::Request& request, http::ResponseWriter& writer) {
  if (++unexpected_ == 1) first_unexpected_ = fmt::format("{} {}", request.method, request.target);
  writer.Whole(404, kJson, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404})");
}

std::string ScriptedKube::first_unexpected() const { return first_unexpected_; }

int ScriptedKube::JobsThatCount(bool running, int pods) const {
  const auto jobs = collections_.find("jobs");
  if (jobs == collections_.end()) return 0;
  return static_cast<int>(
      std::count_if(jobs->second.objects.begin(), jobs->second.objects.end(), [&](const auto& entry) {
        const json::value* status = Find(entry.second, "status");
        return status != nullptr && FindInt(*status, running ? "running" : "pending") == pods &&
               FindInt(*status, running ? "pending" : "running") == 0;
      }));
}

}  // namespace basalt::bench
