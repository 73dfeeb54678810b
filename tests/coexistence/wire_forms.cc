#include "tests/coexistence/wire_forms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "absl/time/time.h"
#include "common/kube/text.h"

namespace basalt::coexistence {
namespace {

using Names = std::set<std::string_view>;

const Names kPhases = {"Pending",  "Running", "Restarting", "Completing", "Terminating",
                       "Aborting", "Aborted", "Completed",  "Terminated", "Failed"};
const Names kPodPhases = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
const Names kCounts = {"pending", "running",      "succeeded", "failed",    "terminating",
                       "unknown", "minAvailable", "version",   "retryCount"};
const Names kStatus = {"state", "taskStatusCount", "runningDuration", "controlledResources", "conditions"};

void ExpectMembers(const json::value& object, const Names& known, const std::string& where) {
  if (!object.is_object()) {
    ADD_FAILURE() << where << " is no object";
    return;
  }
  for (const auto& member : object.get_object()) {
    const std::string_view name = member.key();
    EXPECT_TRUE(known.contains(name)) << where << " has a member " << name;
  }
}

void ExpectCount(const json::value& value, const std::string& where) {
  EXPECT_TRUE(value.is_int64() && value.get_int64() >= 0) << where << ": " << ToText(value);
}

void ExpectTime(const json::value& object, const std::string& where) {
  const std::string text(FindString(object, "lastTransitionTime"));
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime("%Y-%m-%dT%H:%M:%SZ", text, &time, &error)) << where << ": '" << text << "' " << error;
}

void ExpectStatus(const json::value& status, const std::string& job) {
  Names members = kStatus;
  members.insert(kCounts.begin(), kCounts.end());
  ExpectMembers(status, members, job + ".status");
  for (const std::string_view name : kCounts) {
    if (const json::value* count = Find(status, name)) ExpectCount(*count, fmt::format("{}.status.{}", job, name));
  }
  const json::value* state = Find(status, "state");
  ASSERT_NE(state, nullptr) << job;
  ExpectMembers(*state, {"phase", "reason", "message", "lastTransitionTime"}, job + ".status.state");
  EXPECT_TRUE(kPhases.contains(FindString(*state, "phase"))) << job;
  ExpectTime(*state, job + ".status.state");
  if (const json::value* conditions = Find(status, "conditions")) {
    Names seen;
    for (const json::value& condition : conditions->get_array()) {
      ExpectMembers(condition, {"status", "lastTransitionTime"}, job + ".status.conditions");
      EXPECT_TRUE(kPhases.contains(FindString(condition, "status"))) << job;
      EXPECT_TRUE(seen.insert(FindString(condition, "status")).second) << job << ": two conditions of one phase";
      ExpectTime(condition, job + ".status.conditions");
    }
    EXPECT_EQ(FindString(conditions->get_array().back(), "status"), FindString(*state, "phase")) << job;
  }
  if (const json::value* tasks = Find(status, "taskStatusCount")) {
    for (const auto& task : tasks->get_object()) {
      ExpectMembers(task.value(), {"phase"}, job + ".status.taskStatusCount");
      const json::value* phases = Find(task.value(), "phase");
      if (phases == nullptr) continue;
      ExpectMembers(*phases, kPodPhases, job + ".status.taskStatusCount.phase");
      for (const auto& phase : phases->get_object()) ExpectCount(phase.value(), job);
    }
  }
  if (const json::value* resources = Find(status, "controlledResources")) {
    for (const auto& resource : resources->get_object()) {
      EXPECT_TRUE(resource.value().is_string()) << job << ": controlledResources is a map of strings";
    }
  }
  if (const json::value* duration = Find(status, "runningDuration")) {
    EXPECT_TRUE(kube::ParseGoDuration(std::string_view(duration->get_string())).ok()) << job << ToText(*duration);
  }
}

// Basalt adds no finalizer: no other controller would remove it.
void ExpectNoFinalizers(const json::value& object) {
  const json::value* finalizers = FindPath(object, {"metadata", "finalizers"});
  EXPECT_TRUE(finalizers == nullptr || finalizers->get_array().empty())
      << cli::NameOf(object) << ": " << ToText(*finalizers);
}

const json::value* ControllerOf(const json::value& object) {
  const json::value* owners = FindPath(object, {"metadata", "ownerReferences"});
  if (owners == nullptr) return nullptr;
  for (const json::value& owner : owners->get_array()) {
    const json::value* controller = Find(owner, "controller");
    if (controller != nullptr && controller->get_bool()) return &owner;
  }
  return nullptr;
}

bool IsOfAJob(const json::value& object) {
  const json::value* owner = ControllerOf(object);
  return owner != nullptr && FindString(*owner, "apiVersion") == "batch.volcano.sh/v1alpha1" &&
         FindString(*owner, "kind") == "Job";
}

void ExpectPod(const json::value& pod, const std::map<std::string, json::value>& jobs,
               const std::set<std::string>& groups) {
  const std::string name = cli::TextAt(pod, {"metadata", "name"});
  const auto label = [&](std::string_view key) { return cli::TextAt(pod, {"metadata", "labels", key}); };
  const auto annotation = [&](std::string_view key) { return cli::TextAt(pod, {"metadata", "annotations", key}); };
  const json::value& owner = *ControllerOf(pod);
  const std::string job_name(FindString(owner, "name"));
  const auto job = jobs.find(job_name);
  ASSERT_NE(job, jobs.end()) << name;
  EXPECT_EQ(FindString(owner, "uid"), cli::TextAt(job->second, {"metadata", "uid"})) << name;
  for (const std::string_view key :
       {"volcano.sh/task-spec", "volcano.sh/task-index", "volcano.sh/job-name", "volcano.sh/queue-name"}) {
    EXPECT_FALSE(label(key).empty()) << name << " has no label " << key;
    EXPECT_EQ(label(key), annotation(key)) << name;
  }
  EXPECT_EQ(label("volcano.sh/job-namespace"), "default") << name;
  EXPECT_EQ(annotation("volcano.sh/template-uid"), fmt::format("{}-{}", job_name, label("volcano.sh/task-spec")));
  EXPECT_EQ(name, fmt::format("{}-{}-{}", job_name, label("volcano.sh/task-spec"), label("volcano.sh/task-index")));
  const std::string version = annotation("volcano.sh/job-version");
  int64_t number = -1;
  std::from_chars(version.data(), version.data() + version.size(), number);
  const json::value* status = Find(job->second, "status");
  EXPECT_TRUE(number >= 0 && number <= FindInt(*status, "version")) << name << " is of version '" << version << "'";
  const std::string phase = cli::TextAt(pod, {"status", "phase"});
  if (phase == "Pending" || phase == "Running") {
    EXPECT_TRUE(groups.contains(annotation("scheduling.k8s.io/group-name"))) << name << " waits for no group";
  }
}

void ExpectGroup(const json::value& group) {
  const std::string name = cli::TextAt(group, {"metadata", "name"});
  const json::value& owner = *ControllerOf(group);
  const std::string job(FindString(owner, "name"));
  EXPECT_TRUE(name == job || name == fmt::format("{}-{}", job, FindString(owner, "uid"))) << name;
  const json::value* spec = Find(group, "spec");
  ASSERT_NE(spec, nullptr) << name;
  EXPECT_GT(FindInt(*spec, "minMember"), 0) << name;
  EXPECT_EQ(FindString(*spec, "queue"), "default") << name;
  EXPECT_NE(Find(*spec, "minTaskMember"), nullptr) << name;
  EXPECT_NE(Find(*spec, "minResources"), nullptr) << name;
}

}  // namespace

void ExpectUpstreamCanGoOn(Kubernetes& kube) {
  std::map<std::string, json::value> jobs;
  for (const json::value& job : kube.List(JobPath())) {
    const std::string name = cli::TextAt(job, {"metadata", "name"});
    jobs[name] = job;
    ExpectNoFinalizers(job);
    ASSERT_NE(Find(job, "status"), nullptr) << name;
    ExpectStatus(*Find(job, "status"), name);
  }
  std::set<std::string> groups;
  for (const json::value& group : kube.List(GroupPath())) {
    groups.insert(cli::TextAt(group, {"metadata", "name"}));
    ExpectNoFinalizers(group);
    if (IsOfAJob(group)) ExpectGroup(group);
  }
  for (const json::value& pod : kube.List(PodPath())) {
    ExpectNoFinalizers(pod);
    if (IsOfAJob(pod)) ExpectPod(pod, jobs, groups);
  }
}

}  // namespace basalt::coexistence
