#include "gateway/access/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"

namespace basalt::gateway {
namespace {

constexpr std::string_view kJobGroupPrefix = "batch.volcano.sh/";

struct Job {
  std::string_view name;
  std::string_view uid;  // Empty if any UID matches.
};

bool IsJob(const json::value& reference, const Job& job) {
  return FindString(reference, "kind") == "Job" && FindString(reference, "name") == job.name &&
         FindString(reference, "apiVersion").starts_with(kJobGroupPrefix) &&
         (job.uid.empty() || FindString(reference, "uid") == job.uid);
}

bool IsControlledBy(const json::value& body, const Job& job) {
  const json::value* owners = FindPath(body, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return false;
  return std::any_of(owners->get_array().begin(), owners->get_array().end(), [&job](const json::value& owner) {
    const json::value* controller = Find(owner, "controller");
    return IsJob(owner, job) && controller != nullptr && controller->is_bool() && controller->get_bool();
  });
}

bool HasLabel(const json::value& body, std::string_view key, std::string_view value) {
  const json::value* labels = FindPath(body, {"metadata", "labels"});
  return labels != nullptr && FindString(*labels, key) == value;
}

// An Event's name begins with the name of the object that it is about.
bool IsAbout(const json::value& body, std::string_view kind, std::string_view ns, std::string_view event) {
  const json::value* about = Find(body, "involvedObject");
  if (about == nullptr || FindString(*about, "kind") != kind || FindString(*about, "namespace") != ns) return false;
  const std::string_view of = event.substr(0, std::min(event.rfind('.'), event.size()));
  return !of.empty() && FindString(*about, "name").starts_with(of);
}

}  // namespace

absl::Status CheckCreatedBody(const v1::WriteRequest& request, const json::value& body, std::string_view job_uid) {
  const std::string_view key = request.owner().key();
  const Job job{kube::SplitKey(key).name, job_uid};
  const std::string_view plural = request.resource().plural();
  const auto need = [&](bool holds, std::string_view what) {
    if (holds) return absl::OkStatus();
    return MakeStatus(
        absl::StatusCode::kPermissionDenied,
        fmt::format("create.body: {} '{}' for '{}' {}", plural, CutUtf8(request.name(), 253), CutUtf8(key, 320), what));
  };
  // A job may have been created anew under its name before its replica has heard of the new one: the replica sends the
  // request again once it has.
  const auto need_job = [&](bool is_of_any, bool is_of_this, std::string_view what) {
    if (!is_of_any || is_of_this) return need(is_of_this, what);
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("create.body: {} '{}' for '{}' {}: there is another job of that name now", plural,
                                  CutUtf8(request.name(), 253), CutUtf8(key, 320), what));
  };
  const Job any{job.name, ""};
  switch (request.owner().member().service()) {
    case v1::SERVICE_KIND_JOB:
      if (plural == "jobs") return absl::OkStatus();
      if (plural == "commands") {
        const json::value* target = Find(body, "target");
        return need_job(target != nullptr && IsJob(*target, any), target != nullptr && IsJob(*target, job),
                        "does not have that job as its target");
      }
      if (plural == "events") {
        return need(IsAbout(body, "Job", request.namespace_(), request.name()), "is not about that job");
      }
      if (plural == "pods" && !HasLabel(body, kube::kJobNameKey, job.name))
        return need(false, "lacks that job's label");
      return need_job(IsControlledBy(body, any), IsControlledBy(body, job), "does not have that job as its controller");
    case v1::SERVICE_KIND_POD_GROUP:
      if (plural != "events") return absl::OkStatus();
      return need(IsAbout(body, "Pod", request.namespace_(), request.name()) ||
                      IsAbout(body, "Karta", /*ns=*/"", request.name()),
                  "is not about its pod, nor about a Karta");
    case v1::SERVICE_KIND_QUEUE:
      if (plural == "commands") {
        const json::value* target = Find(body, "target");
        return need(target != nullptr && FindString(*target, "kind") == "Queue" && FindString(*target, "name") == key &&
                        FindString(*target, "apiVersion") == kube::kSchedulingApiVersion,
                    "does not have that queue as its target");
      }
      if (plural != "events") return absl::OkStatus();
      return need(IsAbout(body, "Queue", /*ns=*/"", request.name()), "is not about that queue");
    default:
      return absl::OkStatus();
  }
}

}  // namespace basalt::gateway
