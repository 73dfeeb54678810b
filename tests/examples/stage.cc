#include "tests/examples/stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/jobsvc/core/events/command.h"
#include "services/jobsvc/core/validate/validate.h"
#include "tests/examples/judge.h"
#include "tests/examples/one_job.h"

namespace basalt::examples {
namespace {

constexpr std::string_view kJobs = "jobs.batch.volcano.sh";
constexpr std::string_view kQueues = "queues.scheduling.volcano.sh";
constexpr absl::Duration kLongest = absl::Minutes(10);
constexpr absl::Duration kAfterwards = absl::Seconds(30);  // For so long nothing may change after the end.
constexpr absl::Duration kStays = absl::Minutes(2);

std::string JobPath(std::string_view name) {
  return fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs/{}", kNamespace, name);
}

std::string PodPath(std::string_view name) { return fmt::format("/api/v1/namespaces/{}/pods/{}", kNamespace, name); }

absl::Status Unknown(const std::vector<std::string>& words) {
  return Invalid(fmt::format("nobody knows how to type '{}'", fmt::join(words, " ")));
}

// Returns the word after the flag.
std::string Flag(const std::vector<std::string>& words, std::string_view flag) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == flag) return words[i + 1];
  }
  return "";
}

bool Says(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

}  // namespace

Stage::Stage() : suite_({.seed = 5}), loop_(suite_.time(), "person"), client_(loop_, loop_, suite_.api()) {
  suite_.StartAll();
  suite_.time().Advance(absl::Seconds(5));
  suite_.api().ClearLog();
}

std::vector<std::string> Stage::Run(std::string_view yaml, const Promise& promise) {
  const absl::Time start = suite_.time().Now();
  if (const absl::Status submitted = Submit(yaml); promise.ends == kRefused || !submitted.ok()) {
    const std::string text(ToStd(submitted.message()));
    if (submitted.ok()) Complain("it is accepted");
    if (promise.ends != kRefused) Complain(fmt::format("it is refused: {}", text));
    for (const std::string& words : promise.says) {
      if (!Says(text, words)) Complain(fmt::format("the refusal does not say '{}', but '{}'", words, text));
    }
    return complaints_;
  }
  for (const Step& step : promise.steps) {
    if (!suite_.time().AdvanceUntil([&] { return Phase() == step.phase; }, kLongest)) {
      Complain(fmt::format("it is never {}, but {}", step.phase, Phase()));
      return complaints_;
    }
    // By then the effects of the phase have happened.
    suite_.time().Advance(absl::Milliseconds(500));
    if (const absl::Status typed = Type(step); !typed.ok()) {
      Complain(fmt::format("{}: {}", fmt::join(step.words, " "), ToStd(typed.message())));
    }
  }
  if (promise.stays) suite_.time().Advance(kStays);
  const bool reached = suite_.time().AdvanceUntil(
      [&] {
        const std::string phase = Phase();
        if (phase != kDeleted) last_ = *suite_.api().Get(kJobs, kNamespace, name_);
        return phase == promise.ends;
      },
      promise.stays ? absl::ZeroDuration() : kLongest);
  const absl::Duration lasted = suite_.time().Now() - start;
  if (!reached) Complain(fmt::format("it is {}, not {}", Phase(), promise.ends));
  suite_.time().Advance(kAfterwards);
  if (Phase() != promise.ends) Complain(fmt::format("it is {} in the end", Phase()));
  if (const auto job = suite_.api().Get(kJobs, kNamespace, name_); job != nullptr) last_ = *job;
  Check(promise, lasted);
  return complaints_;
}

absl::Status Stage::CheckQueue(const std::string& name) {
  std::optional<jobsvc::QueueFacts> facts;
  if (const auto queue = suite_.api().Get(kQueues, "", name); queue != nullptr) {
    const json::value* const status = FindPath(*queue, {"status"});
    facts = jobsvc::QueueFacts{.state = status == nullptr ? "" : std::string(FindString(*status, "state"))};
  }
  for (const jobsvc::Violation& violation : jobsvc::ValidateQueue(name, facts)) {
    return Invalid(violation.message);
  }
  return absl::OkStatus();
}

absl::Status Stage::Submit(std::string_view yaml) {
  BASALT_ASSIGN_OR_RETURN(const jobsvc::Manifest manifest, ReadOneJob(yaml));
  name_ = manifest.job.meta().name();
  BASALT_RETURN_IF_ERROR(CheckQueue(manifest.job.spec().queue()));
  BASALT_RETURN_IF_ERROR(Send("POST", fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs", kNamespace),
                              manifest.json, "application/json"));
  last_ = *suite_.api().Get(kJobs, kNamespace, name_);
  uid_ = FindString(*FindPath(last_, {"metadata"}), "uid");
  return absl::OkStatus();
}

absl::Status Stage::Type(const Step& step) {
  const std::vector<std::string>& words = step.words;
  const std::string command =
      fmt::format("{}", fmt::join(words.begin(), words.begin() + std::min<size_t>(3, words.size()), " "));
  if (words.size() > 3 && words[0] == "basaltctl" && words[1] == "job") return TypeToBasaltctl(words);
  if (words.size() == 5 && command == "kubectl delete pod" && words[4] == "--wait=false") {
    return Send("DELETE", PodPath(words[3]), "", "");
  }
  if (words.size() > 4 && command == "kubectl patch vcjob" && Flag(words, "--type") == "json") {
    return Send("PATCH", JobPath(words[3]), Flag(words, "-p"), "application/json-patch+json");
  }
  return Unknown(words);
}

absl::Status Stage::TypeToBasaltctl(const std::vector<std::string>& words) {
  static const auto& kActions = *new std::map<std::string, std::string>{{"suspend", "AbortJob"},
                                                                        {"resume", "ResumeJob"},
                                                                        {"restart", "RestartJob"},
                                                                        {"terminate", "TerminateJob"},
                                                                        {"complete", "CompleteJob"}};
  static const auto& kQuestions = *new std::set<std::string_view>{"explain", "get", "history", "wait"};
  if (kQuestions.contains(words[2])) return absl::OkStatus();  // These commands change nothing.
  if (words[2] == "delete") return Send("DELETE", JobPath(words[3]), "", "");
  if (words[2] == "scale") return Scale(words);
  const auto found = kActions.find(words[2]);
  if (found == kActions.end()) return Unknown(words);
  std::string action = found->second;
  jobsvc::CommandTarget target{.task = Flag(words, "--task"), .pod = Flag(words, "--pod")};
  if (!target.task.empty()) action = "RestartTask";
  if (!target.pod.empty()) action = "RestartPod";
  if (const std::string partition = Flag(words, "--partition"); !partition.empty()) {
    action = "RestartPartition";
    target.partition = std::stoi(partition);
  }
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_(std::string(kNamespace));
  job.mutable_meta()->set_name(name_);
  job.mutable_meta()->set_uid(uid_);
  return Send("POST", fmt::format("/apis/bus.volcano.sh/v1alpha1/namespaces/{}/commands", kNamespace),
              jobsvc::CommandJson(job, jobsvc::CommandName(job, action, target, "1"), action, target),
              "application/json");
}

// Sends the patch that the service makes of the command.
absl::Status Stage::Scale(const std::vector<std::string>& words) {
  json::array operations;
  const auto add = [&](std::string path, const std::string& number) {
    operations.push_back({{"op", "add"}, {"path", std::move(path)}, {"value", std::stoi(number)}});
  };
  for (size_t i = 4; i < words.size(); ++i) {
    if (words[i] == "--min-available") {
      add("/spec/minAvailable", words[++i]);
      continue;
    }
    const bool minimum = words[i] == "--task-min-available";
    if (minimum) ++i;
    const size_t equals = words[i].find('=');
    const json::array& tasks = FindPath(last_, {"spec", "tasks"})->get_array();
    for (size_t task = 0; task < tasks.size(); ++task) {
      if (FindString(tasks[task], "name") != words[i].substr(0, equals)) continue;
      add(fmt::format("/spec/tasks/{}/{}", task, minimum ? "minAvailable" : "replicas"), words[i].substr(equals + 1));
    }
  }
  return Send("PATCH", JobPath(words[3]), ToText(operations), "application/json-patch+json");
}

absl::Status Stage::Send(std::string method, std::string path, std::string body, std::string_view content_type) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(path);
  request.body = std::move(body);
  request.headers = {{"User-Agent", "person"}};
  if (!content_type.empty()) request.headers.push_back({"Content-Type", std::string(content_type)});
  std::optional<absl::StatusOr<http::Response>> answer;
  const auto call = http::Fetch(client_, std::move(request),
                                [&](absl::StatusOr<http::Response> response) { answer = std::move(response); });
  suite_.time().AdvanceUntil([&] { return answer.has_value(); }, absl::Seconds(30));
  if (!answer) return MakeStatus(absl::StatusCode::kUnavailable, "no answer");
  BASALT_RETURN_IF_ERROR(answer->status());
  if ((*answer)->status < 300) return absl::OkStatus();
  return Invalid((*answer)->body);
}

std::string Stage::Phase() const {
  const std::string phase = suite_.JobPhase(kNamespace, name_);
  if (phase.empty()) return std::string(kDeleted);
  return phase == "-" ? std::string() : phase;
}

void Stage::Check(const Promise& promise, absl::Duration lasted) {
  for (std::string& complaint : JudgeStatus(promise, last_)) Complain(std::move(complaint));
  CheckLog(promise);
  if (promise.lasts && (lasted < promise.lasts->first || lasted > promise.lasts->second)) {
    Complain(fmt::format("it lasts {}", absl::FormatDuration(lasted)));
  }
}

void Stage::CheckLog(const Promise& promise) {
  int64_t made = 0;
  std::vector<std::string> phases;
  std::set<std::string> objects, events;
  std::vector<std::string> order;
  for (const kubesim::LoggedRequest& request : suite_.api().log()) {
    if (request.status >= 300 || request.dry_run) continue;
    if (request.resource == "jobs" && request.subresource == "status" && request.name == name_) {
      const json::value* state = FindPath(request.body, {"status", "state"});
      const std::string_view phase = state == nullptr ? std::string_view() : FindString(*state, "phase");
      if (!phase.empty() && (phases.empty() || phases.back() != phase)) phases.emplace_back(phase);
    }
    if (request.verb != "create" || !request.subresource.empty()) continue;
    if (request.resource == "pods") ++made;
    if (request.resource == "events") {
      const json::value* about = FindPath(request.body, {"involvedObject"});
      if (about != nullptr && FindString(*about, "name") == name_) events.emplace(FindString(request.body, "reason"));
    }
    objects.insert(request.resource);
    order.push_back(fmt::format("{}/{}", request.resource, request.name));
    objects.insert(order.back());
  }
  if (promise.made && made != *promise.made) Complain(fmt::format("{} pods were made", made));
  if (!promise.phases.empty() && phases != promise.phases) {
    Complain(fmt::format("its phases are {}", fmt::join(phases, ", ")));
  }
  for (const std::string& object : promise.makes) {
    if (!objects.contains(object)) Complain(fmt::format("{} was not made", object));
  }
  auto at = order.begin();
  for (const std::string& object : promise.order) {
    at = std::find(at, order.end(), object);
    if (at != order.end()) continue;
    Complain(fmt::format("{} was not made after those before it", object));
    break;
  }
  for (const std::string& reason : promise.events) {
    if (!events.contains(reason)) {
      Complain(fmt::format("no Event {} tells of it; there are {}", reason, fmt::join(events, ", ")));
    }
  }
}

}  // namespace basalt::examples
