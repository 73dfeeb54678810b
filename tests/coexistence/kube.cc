#include "tests/coexistence/kube.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "cli/preflight/curl_kube_api.h"
#include "common/base/status.h"
#include "common/http/kubeconfig/kubeconfig.h"

namespace basalt::coexistence {
namespace {

std::string Below(std::string_view base, std::string_view name) {
  return name.empty() ? std::string(base) : fmt::format("{}/{}", base, name);
}

std::string Now() { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()); }

}  // namespace

std::string JobPath(std::string_view name) {
  return Below("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", name);
}
std::string PodPath(std::string_view name) { return Below("/api/v1/namespaces/default/pods", name); }
std::string GroupPath(std::string_view name) {
  return Below("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups", name);
}

std::string Write::Text() const {
  return fmt::format("{} {}{}{} {} -> {}", verb, resource, subresource.empty() ? "" : "/", subresource, name, code);
}

std::vector<Write> Kubernetes::Writes() {
  std::vector<Write> writes = AllWrites();
  writes.erase(writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(std::min(mark_, writes.size())));
  return writes;
}

std::vector<std::string> Kubernetes::WritesOf(std::string_view name) {
  std::vector<std::string> texts;
  for (const Write& write : Writes()) {
    if (write.name == name || write.name.starts_with(fmt::format("{}-", name))) texts.push_back(write.Text());
  }
  return texts;
}

cli::KubeApi& Kubernetes::api() {
  if (api_ == nullptr) {
    absl::StatusOr<http::CurlOptions> options = http::ReadKubeconfig(Access().admin_kubeconfig);
    EXPECT_TRUE(options.ok()) << options.status();
    options->user_agent = "test";
    api_ = cli::MakeCurlKubeApi(*std::move(options));
  }
  return *api_;
}

cli::KubeAnswer Kubernetes::Call(const std::string& method, const std::string& path, const json::value& body) {
  absl::StatusOr<cli::KubeAnswer> answer = api().Call(method, path, body.is_null() ? "" : ToText(body));
  if (!answer.ok()) {
    ADD_FAILURE() << method << " " << path << ": " << answer.status();
    return {};
  }
  return *std::move(answer);
}

json::value Kubernetes::Create(const std::string& path, const json::value& object) {
  const cli::KubeAnswer answer = Call("POST", path, object);
  if (!answer.ok()) ADD_FAILURE() << "POST " << path << ": " << answer.message() << "\n" << ToText(object);
  return answer.body;
}

json::value Kubernetes::Get(const std::string& path) {
  const cli::KubeAnswer answer = Call("GET", path, nullptr);
  return answer.ok() ? answer.body : json::value();
}

std::vector<json::value> Kubernetes::List(const std::string& path) {
  std::vector<json::value> items;
  const json::value list = Get(path);
  const json::value* found = list.is_object() ? Find(list, "items") : nullptr;
  if (found == nullptr || !found->is_array()) {
    ADD_FAILURE() << "no list at " << path;
    return items;
  }
  for (const json::value& item : found->get_array()) items.push_back(item);
  return items;
}

json::value Kubernetes::Merge(const std::string& path, const json::value& patch) {
  const cli::KubeAnswer answer = Call("PATCH", path, patch);
  if (!answer.ok()) ADD_FAILURE() << "PATCH " << path << ": " << answer.message() << "\n" << ToText(patch);
  return answer.body;
}

void Kubernetes::Delete(const std::string& path, bool at_once) {
  const json::value options =
      at_once ? json::value(json::object{{"gracePeriodSeconds", 0}}) : json::value(json::object());
  const cli::KubeAnswer answer = Call("DELETE", path, options);
  const bool gone = answer.status == 404;  // Another client deleted the object first.
  if (!answer.ok() && !gone) ADD_FAILURE() << "DELETE " << path << ": " << answer.message();
}

std::string Kubernetes::PhaseOf(const std::string& job) {
  return cli::TextAt(Get(JobPath(job)), {"status", "state", "phase"});
}

void Kubernetes::SetPodPhase(const std::string& pod, const std::string& phase, int exit_code) {
  const std::string now = Now();
  json::object state;
  if (phase == "Running") {
    state["running"] = json::object{{"startedAt", now}};
  } else if (phase != "Pending") {
    state["terminated"] = json::object{{"exitCode", exit_code}, {"startedAt", now}, {"finishedAt", now}};
  }
  json::object container{{"name", "main"}, {"image", "busybox"}, {"imageID", ""}, {"restartCount", 0}};
  container["ready"] = phase == "Running";
  container["state"] = std::move(state);
  json::object status{{"phase", phase}, {"containerStatuses", json::array{std::move(container)}}};
  Merge(PodPath(pod) + "/status", json::object{{"status", std::move(status)}});
}

void Kubernetes::SetGroupPhase(const std::string& group, const std::string& phase) {
  Merge(GroupPath(group), json::object{{"status", json::object{{"phase", phase}}}});
}

}  // namespace basalt::coexistence
