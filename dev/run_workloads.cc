#include "dev/run_workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "cli/commands.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/target.h"
#include "common/kube/names.h"
#include "dev/run_manifest.h"

namespace basalt::dev {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(50);
constexpr absl::Duration kPhaseLimit = absl::Seconds(5);
constexpr absl::Duration kPoll = absl::Milliseconds(200);

std::string NamespaceOf(const json::value& object) {
  const json::value* const meta = Find(object, "metadata");
  const std::string_view ns = meta == nullptr ? std::string_view() : FindString(*meta, "namespace");
  return std::string(ns.empty() ? "default" : ns);
}

std::string NameOf(const json::value& object) {
  const json::value* const meta = Find(object, "metadata");
  return std::string(meta == nullptr ? std::string_view() : FindString(*meta, "name"));
}

std::string Described(const json::value& object) {
  return fmt::format("{} {}/{}", FindString(object, "kind"), NamespaceOf(object), NameOf(object));
}

// Sends requests to the API server, one after the other.
class Kube {
 public:
  explicit Kube(const http::CurlOptions& options) {
    RunOn(*loop_, [&] { client_ = http::MakeCurlClient(*loop_, options); });
  }
  ~Kube() {
    RunOn(*loop_, [this] { client_.reset(); });
  }

  // Returns the JSON of a good answer. An error has the server's message.
  absl::StatusOr<json::value> Send(const std::string& method, const std::string& target, std::string body = "") {
    absl::StatusOr<http::Response> answer = absl::UnknownError("no answer");
    std::unique_ptr<http::Call> call;
    absl::Notification done;
    RunOn(*loop_, [&] {
      http::Request request{method, target, {{"Accept", "application/json"}}, std::move(body)};
      if (!request.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
      call = http::Fetch(*client_, std::move(request), [&](absl::StatusOr<http::Response> response) {
        answer = std::move(response);
        done.Notify();
      });
    });
    done.WaitForNotification();
    RunOn(*loop_, [&] { call.reset(); });
    BASALT_RETURN_IF_ERROR(answer.status());
    absl::StatusOr<json::value> parsed = ParseJson(answer->body);
    if (answer->status < 300) return parsed;
    // The server sends some refusals as plain text.
    const std::string why(parsed.ok() ? FindString(*parsed, "message") : std::string_view(answer->body));
    return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("{} {}: {}", method, target, why));
  }

  // Returns the path of the collection of objects of this kind: in the object's namespace if the kind has namespaces.
  absl::StatusOr<std::string> Collection(const json::value& object) {
    const std::string version(FindString(object, "apiVersion"));
    const std::string base =
        version.find('/') == std::string::npos ? fmt::format("/api/{}", version) : fmt::format("/apis/{}", version);
    BASALT_ASSIGN_OR_RETURN(const json::value kinds, Send("GET", base));
    const json::value* const resources = Find(kinds, "resources");
    if (resources != nullptr && resources->is_array()) {
      for (const json::value& resource : resources->get_array()) {
        const std::string_view plural = FindString(resource, "name");
        if (FindString(resource, "kind") != FindString(object, "kind") || plural.find('/') != plural.npos) continue;
        const json::value* const namespaced = Find(resource, "namespaced");
        if (namespaced != nullptr && *namespaced == json::value(false)) return fmt::format("{}/{}", base, plural);
        return fmt::format("{}/namespaces/{}/{}", base, http::Escape(NamespaceOf(object)), plural);
      }
    }
    return Invalid(fmt::format("{}: the API server has no such kind in {}", Described(object), version));
  }

 private:
  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("run-workloads");
  std::unique_ptr<http::Client> client_;
};

int64_t Count(const json::value& object, std::string_view part, std::string_view member, int64_t otherwise) {
  const json::value* const found = Find(object, part);
  return found == nullptr ? otherwise : FindInt(*found, member, otherwise);
}

bool HasCondition(const json::value& object, std::string_view type) {
  const json::value* const conditions = FindPath(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->get_array().begin(), conditions->get_array().end(), [type](const json::value& one) {
    return FindString(one, "type") == type && FindString(one, "status") == "True";
  });
}

// Returns what the object still lacks. Empty if it has all that it wants, also for a kind that has no pods. An error if
// it never will have all.
absl::StatusOr<std::string> Missing(const json::value& object) {
  constexpr std::array<std::string_view, 3> kScaled = {"Deployment", "ReplicaSet", "StatefulSet"};
  const std::string_view kind = FindString(object, "kind");
  if (kind == "Job") {
    if (HasCondition(object, "Failed")) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("{} has failed", Described(object)));
    }
    return HasCondition(object, "Complete") ? std::string() : std::string("it has not ended");
  }
  if (kind == "Pod") {
    const json::value* const status = Find(object, "status");
    const std::string phase(status == nullptr ? "" : FindString(*status, "phase"));
    return phase == "Running" || phase == "Succeeded" ? std::string() : fmt::format("its phase is {}", phase);
  }
  if (std::find(kScaled.begin(), kScaled.end(), kind) == kScaled.end()) return std::string();
  const int64_t wanted = Count(object, "spec", "replicas", 1);
  const int64_t ready = Count(object, "status", "readyReplicas", 0);
  return ready == wanted ? std::string() : fmt::format("{} of {} pods are ready", ready, wanted);
}

absl::Status Await(Kube& kube, const std::string& target, const json::value& object) {
  std::string missing;
  for (const absl::Time end = absl::Now() + kLimit; absl::Now() < end; absl::SleepFor(kPoll)) {
    BASALT_ASSIGN_OR_RETURN(const json::value now, kube.Send("GET", target));
    BASALT_ASSIGN_OR_RETURN(missing, Missing(now));
    if (missing.empty()) return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("{}: after {} {}", Described(object), absl::FormatDuration(kLimit), missing));
}

struct Groups {
  std::set<std::string> of_volcano;
  std::map<std::string, std::string> of_kai;  // The name of each group, and of one of its pods.
};

absl::StatusOr<Groups> GroupsOfPods(Kube& kube, const std::string& ns) {
  BASALT_ASSIGN_OR_RETURN(const json::value pods,
                          kube.Send("GET", fmt::format("/api/v1/namespaces/{}/pods", http::Escape(ns))));
  Groups groups;
  const json::value* const items = Find(pods, "items");
  if (items == nullptr || !items->is_array()) return groups;
  for (const json::value& pod : items->get_array()) {
    const json::value* const annotations = FindPath(pod, {"metadata", "annotations"});
    if (annotations == nullptr) continue;
    if (const std::string_view group = FindString(*annotations, kube::kGroupNameKey); !group.empty()) {
      groups.of_volcano.emplace(group);
    }
    if (const std::string_view group = FindString(*annotations, kube::kKaiGroupNameKey); !group.empty()) {
      groups.of_kai.emplace(group, NameOf(pod));
    }
  }
  return groups;
}

// Waits until the scheduler reports that the group runs, which is some time after its pods do. If that takes too long,
// the caller shows the phase that is there.
void AwaitPhase(Kube& kube, const std::string& ns, const std::string& group) {
  const std::string target = fmt::format("/apis/{}/namespaces/{}/podgroups/{}", kube::kSchedulingApiVersion,
                                         http::Escape(ns), http::Escape(group));
  for (const absl::Time end = absl::Now() + kPhaseLimit; absl::Now() < end; absl::SleepFor(kPoll)) {
    const absl::StatusOr<json::value> now = kube.Send("GET", target);
    const json::value* const status = now.ok() ? Find(*now, "status") : nullptr;
    const std::string_view phase = status == nullptr ? std::string_view() : FindString(*status, "phase");
    if (!now.ok() || phase == "Running" || phase == "Completed") return;
  }
}

absl::Status CreateAndAwait(Kube& kube, const std::vector<json::value>& objects) {
  std::vector<std::string> collections;
  for (const json::value& object : objects) {
    BASALT_ASSIGN_OR_RETURN(collections.emplace_back(), kube.Collection(object));
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    BASALT_RETURN_IF_ERROR(kube.Send("POST", collections[i], ToText(objects[i])).status());
    fmt::print("{} created\n", Described(objects[i]));
  }
  std::fflush(stdout);
  for (size_t i = 0; i < objects.size(); ++i) {
    BASALT_RETURN_IF_ERROR(
        Await(kube, fmt::format("{}/{}", collections[i], http::Escape(NameOf(objects[i]))), objects[i]));
    fmt::print("{} has all that it wants\n", Described(objects[i]));
  }
  return absl::OkStatus();
}

}  // namespace

int RunWorkloads(const std::vector<std::string>& ctl_flags, const http::CurlOptions& options,
                 const std::vector<json::value>& objects) {
  Kube kube(options);
  if (const absl::Status done = CreateAndAwait(kube, objects); !done.ok()) return cli::Report(done);
  std::set<std::string> namespaces;
  for (const json::value& object : objects) namespaces.insert(NamespaceOf(object));
  int exit_code = 0;
  for (const std::string& ns : namespaces) {
    const absl::StatusOr<Groups> groups = GroupsOfPods(kube, ns);
    if (!groups.ok()) return cli::Report(groups.status());
    for (const std::string& group : groups->of_volcano) AwaitPhase(kube, ns, group);
    if (!groups->of_volcano.empty()) {
      exit_code = std::max(exit_code, Basaltctl(ctl_flags, {"podgroup", "list", "-n", ns}));
    }
    for (const auto& [group, pod] : groups->of_kai) {
      exit_code = std::max(exit_code, Basaltctl(ctl_flags, {"podgroup", "explain", pod, "-n", ns}));
    }
    for (const std::string& group : groups->of_volcano) {
      for (const char* command : {"get", "history"}) {
        exit_code = std::max(exit_code, Basaltctl(ctl_flags, {"podgroup", command, group, "-n", ns}));
      }
    }
  }
  return exit_code;
}

}  // namespace basalt::dev
