// Finds other programs that act on the same objects: upstream's controller manager, by its Deployment and its Lease,
// and schedulers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/preflight/checks.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

// Job spec, appendix A. The program and its Lease have the same name.
constexpr std::string_view kManager = "vc-controller-manager";
constexpr std::string_view kDefaultControllers = "*,-sharding-controller";
constexpr std::string_view kOthersOff =
    "--controllers=*,-sharding-controller,-job-controller,-gc-controller,-pg-controller,-queue-controller";
// The pod grouper spec names this Lease among the flags.
constexpr std::string_view kKaiGrouperLock = "54dff599.kai.scheduler";

struct Replaced {
  std::string_view controller;
  std::string_view service;
};
constexpr Replaced kReplaced[] = {{"job-controller", "jobsvc"},
                                  {"gc-controller", "jobsvc"},
                                  {"pg-controller", "pgsvc"},
                                  {"queue-controller", "queuesvc"}};

// Returns the last part of an image or a path, without tag and digest: vc-scheduler for
// registry:5000/a/vc-scheduler:v1.15.
std::string_view ProgramOf(std::string_view text) {
  text = text.substr(0, text.find('@'));
  if (const size_t slash = text.rfind('/'); slash != std::string_view::npos) text.remove_prefix(slash + 1);
  return text.substr(0, text.find(':'));
}

struct Workload {
  std::string name;
  int64_t replicas = 0;
  std::vector<std::string> arguments;
};

void AddWords(const json::value& container, std::string_view member, std::vector<std::string>& words) {
  const json::value* found = Find(container, member);
  if (found == nullptr || !found->is_array()) return;
  for (const json::value& word : found->get_array()) {
    if (word.is_string()) words.emplace_back(word.get_string());
  }
}

// Finds the container of a Deployment that runs this program. The arguments returned include the container's command.
std::optional<Workload> FindProgram(const json::value& deployment, std::string_view program) {
  const json::value* containers = FindPath(deployment, {"spec", "template", "spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return std::nullopt;
  for (const json::value& container : containers->get_array()) {
    Workload workload;
    AddWords(container, "command", workload.arguments);
    AddWords(container, "args", workload.arguments);
    const bool named = ProgramOf(FindString(container, "image")) == program ||
                       std::any_of(workload.arguments.begin(), workload.arguments.end(), [&](const std::string& word) {
                         return !word.starts_with('-') && ProgramOf(word.substr(0, word.find(' '))) == program;
                       });
    if (!named) continue;
    workload.name = NameOf(deployment);
    const json::value* spec = Find(deployment, "spec");
    workload.replicas = spec == nullptr ? 1 : FindInt(*spec, "replicas", 1);
    return workload;
  }
  return std::nullopt;
}

// Returns the value of --controllers, also from the line of a shell: `command: [sh, -c, "vc-controller-manager
// --controllers=…"]`.
std::string ControllersFlag(const std::vector<std::string>& arguments) {
  std::string value(kDefaultControllers);
  bool next = false;
  for (const std::string& argument : arguments) {
    for (const absl::string_view word : absl::StrSplit(argument, ' ', absl::SkipEmpty())) {
      std::string_view text = ToStd(word);
      if (next) value = std::string(text);
      next = text == "--controllers" || text == "-controllers";
      for (const std::string_view flag : {"--controllers=", "-controllers="}) {
        if (text.starts_with(flag)) value = std::string(text.substr(flag.size()));
      }
    }
  }
  std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
  return value;
}

std::string ServicesFor(const std::vector<std::string>& rivals) {
  std::vector<std::string_view> services;
  for (const Replaced& replaced : kReplaced) {
    if (std::find(rivals.begin(), rivals.end(), replaced.controller) == rivals.end()) continue;
    if (std::find(services.begin(), services.end(), replaced.service) == services.end()) {
      services.push_back(replaced.service);
    }
  }
  return fmt::format("{}", fmt::join(services, ", "));
}

Finding CheckManager(const Workload& manager) {
  Finding finding{fmt::format("Deployment {}", manager.name), Result::kOk, "", ""};
  const std::vector<std::string> rivals = Rivals(manager.arguments);
  if (manager.replicas == 0) {
    finding.what = "upstream's controller manager, scaled to zero";
  } else if (rivals.empty()) {
    finding.what = "upstream's controller manager, without the controllers that Basalt replaces";
  } else if (rivals == std::vector<std::string>{"queue-controller"}) {
    finding.result = Result::kWarning;
    finding.what =
        "upstream's controller manager has queue-controller on: it and queuesvc would act on the same queues";
    finding.cure = "do not start queuesvc, or switch queue-controller off";
  } else {
    finding.result = Result::kProblem;
    finding.what = fmt::format("upstream's controller manager has {} on: it and {} would act on the same objects",
                               fmt::join(rivals, ", "), ServicesFor(rivals));
    finding.cure = fmt::format("give it {}, or scale it to zero", kOthersOff);
  }
  return finding;
}

struct Lease {
  std::string name;
  std::string holder;
  bool fresh = false;
};

// Reads a Lease. If the server's clock is unknown, a Lease with a holder counts as renewed.
Lease ReadLease(const json::value& object, int64_t now_ms) {
  Lease lease;
  lease.name = NameOf(object);
  lease.holder = TextAt(object, {"spec", "holderIdentity"});
  absl::Time renewed;
  std::string ignored;
  const std::string text = TextAt(object, {"spec", "renewTime"});
  const json::value* spec = Find(object, "spec");
  const int64_t seconds = spec == nullptr ? 15 : FindInt(*spec, "leaseDurationSeconds", 15);
  const bool known = absl::ParseTime(absl::RFC3339_full, text, &renewed, &ignored);
  const bool due = now_ms != 0 && renewed + absl::Seconds(seconds) <= absl::FromUnixMillis(now_ms);
  lease.fresh = !lease.holder.empty() && known && !due;
  return lease;
}

}  // namespace

bool SwitchesOn(std::string_view controllers, std::string_view name) {
  bool all = false;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(controllers), ',')) {
    std::string_view word = ToStd(part);
    if (word == "*") all = true;
    if (word.starts_with('-') && word.substr(1) == name) return false;
    if (word.starts_with('+')) word.remove_prefix(1);
    if (word == name) return true;
  }
  return all;
}

std::vector<std::string> Rivals(const std::vector<std::string>& arguments) {
  std::vector<std::string> rivals;
  const std::string controllers = ControllersFlag(arguments);
  for (const Replaced& replaced : kReplaced) {
    if (SwitchesOn(controllers, replaced.controller)) rivals.emplace_back(replaced.controller);
  }
  return rivals;
}

absl::Status CheckControllers(KubeApi& api, Findings& findings) {
  std::vector<Workload> managers;
  std::vector<std::string> schedulers;
  KubeAnswer answer;
  const auto look = [&](const json::value& deployment) {
    if (auto manager = FindProgram(deployment, kManager)) managers.push_back(*std::move(manager));
    const auto scheduler = FindProgram(deployment, "vc-scheduler");
    if (scheduler && scheduler->replicas > 0) schedulers.push_back(scheduler->name);
  };
  BASALT_RETURN_IF_ERROR(ForEachItem(api, "/apis/apps/v1/deployments", "", look, answer));
  const bool deployments_known = answer.ok();
  if (!deployments_known) {
    findings.push_back(Unreadable("other controllers", "the Deployments", absl::OkStatus(), answer));
  }
  for (const Workload& manager : managers) findings.push_back(CheckManager(manager));

  std::vector<json::value> locks;
  const auto collect = [&](const json::value& lease) {
    const std::string name = TextAt(lease, {"metadata", "name"});
    if (name == kManager || name == kKaiGrouperLock) locks.push_back(lease);
  };
  BASALT_RETURN_IF_ERROR(ForEachItem(api, "/apis/coordination.k8s.io/v1/leases", "", collect, answer));
  if (!answer.ok()) findings.push_back(Unreadable("locks", "the Leases", absl::OkStatus(), answer));
  bool active = false;
  for (const json::value& object : locks) {
    const Lease lease = ReadLease(object, answer.now_ms);
    Finding finding{fmt::format("Lease {}", lease.name), Result::kOk, "", ""};
    if (TextAt(object, {"metadata", "name"}) == kKaiGrouperLock) {
      finding.what = "not held";
      if (lease.fresh) {
        finding.result = Result::kWarning;
        finding.what =
            "KAI's pod grouper is active: it and pgsvc would write the same groups of pods of KAI's scheduler";
        finding.cure = "stop it, or leave these pods to it: start the gateway without --kai_scheduler_name";
      }
    } else if (!lease.fresh) {
      finding.what = "nobody renews it: no controller manager of upstream's is active";
    } else if (std::any_of(managers.begin(), managers.end(), [](const Workload& w) { return w.replicas > 0; })) {
      active = true;
      finding.what = fmt::format("{} holds it, with the flags of the Deployment above", lease.holder);
    } else {
      active = true;
      finding.result = Result::kProblem;
      finding.what = fmt::format(
          "{} renews it, and no Deployment says with which controllers: it may act on the same objects", lease.holder);
      finding.cure = fmt::format("find that process; stop it, or start it with {}", kOthersOff);
    }
    findings.push_back(std::move(finding));
  }
  if (managers.empty() && !active && deployments_known && answer.ok()) {
    findings.push_back({"other controllers", Result::kOk, "none is active", ""});
  }
  if (!schedulers.empty()) {
    findings.push_back({"scheduler", Result::kOk, fmt::format("{}", fmt::join(schedulers, ", ")), ""});
  } else if (deployments_known) {
    findings.push_back({"scheduler", Result::kWarning,
                        "no Deployment of vc-scheduler was found; without a scheduler that admits PodGroups every job "
                        "stays Pending",
                        "install Volcano's scheduler, if nothing else plays its part"});
  }
  return absl::OkStatus();
}

}  // namespace basalt::cli
