#include "tests/e2e/chaos_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"

namespace basalt::e2e {
namespace {

struct PodStory {
  const ChaosJob* job = nullptr;
  int64_t version = 0;
  int64_t creates = 0;
  int64_t user_deletions = 0;
};

struct JobStory {
  std::string phase;
  int64_t version = 0;
  bool deleted = false;
};

class LogReader {
 public:
  LogReader(const std::vector<ChaosJob>& jobs, std::vector<std::string>& violations) : violations_(violations) {
    for (const ChaosJob& job : jobs) {
      jobs_[job.name];
      for (const std::string& pod : job.pods) pods_[pod].job = &job;
    }
  }

  void Read(const Write& write) {
    if (!write.Succeeded()) return;
    if (write.resource == "jobs") {
      const auto job = jobs_.find(write.name);
      if (job == jobs_.end()) return;
      if (write.verb == "delete") job->second.deleted = true;
      if (write.subresource == "status") OnStatus(write.name, job->second, write);
    }
    if (write.resource != "pods" || !write.subresource.empty()) return;
    if (write.verb == "create") return OnCreate(write);
    if (write.verb == "delete") OnDelete(write);
  }

 private:
  void OnStatus(const std::string& name, JobStory& job, const Write& write) {
    const json::value* const version = FindPath(write.body, {"status", "version"});
    if (version != nullptr && version->is_int64()) {
      const int64_t next = version->as_int64();
      if (next != job.version + 1)
        violations_.push_back(fmt::format("{}: version {} after {}", name, next, job.version));
      job.version = next;
    }
    if (const std::string_view next = PhaseOf(write); !next.empty()) job.phase = next;
  }

  void OnCreate(const Write& write) {
    const auto found = pods_.find(write.name);
    if (found == pods_.end()) {
      if (write.name.starts_with("chaos-"))
        violations_.push_back(fmt::format("pod {} is called for by no job", write.name));
      return;
    }
    PodStory& pod = found->second;
    const JobStory& job = jobs_[pod.job->name];
    const json::value* const annotations = FindPath(write.body, {"metadata", "annotations"});
    pod.version = 0;
    const std::string_view version = annotations == nullptr ? "" : FindString(*annotations, "volcano.sh/job-version");
    std::from_chars(version.data(), version.data() + version.size(), pod.version);
    if (pod.version > job.version) {
      violations_.push_back(
          fmt::format("pod {} was made for version {} of its job, which has {}", write.name, pod.version, job.version));
    }
    const int64_t called_for = 1 + job.version + pod.user_deletions;
    if (++pod.creates > called_for) {
      violations_.push_back(
          fmt::format("pod {} was made {} times, {} were called for", write.name, pod.creates, called_for));
    }
  }

  void OnDelete(const Write& write) {
    const auto found = pods_.find(write.name);
    if (found == pods_.end()) return;
    PodStory& pod = found->second;
    if (write.user_agent == kChaosUser) ++pod.user_deletions;
    if (!write.IsOurs()) return;
    const JobStory& job = jobs_[pod.job->name];
    static const std::set<std::string_view> kDraining = {"Completing", "Completed", "Terminating", "Terminated",
                                                         "Failed"};
    if (job.deleted || pod.version < job.version || kDraining.count(job.phase) > 0) return;
    violations_.push_back(fmt::format("pod {} of version {} was deleted while its job was '{}' of version {}",
                                      write.name, pod.version, job.phase, job.version));
  }

  std::vector<std::string>& violations_;
  std::map<std::string, JobStory> jobs_;
  std::map<std::string, PodStory> pods_;
};

// Returns the objects of a list by name. Returns an empty map if `list` is not an object with items.
std::map<std::string, const json::value*> ByName(const json::value& list) {
  std::map<std::string, const json::value*> objects;
  const json::value* const items = list.is_object() ? Find(list, "items") : nullptr;
  if (items == nullptr) return objects;
  for (const json::value& item : items->get_array())
    objects[std::string(FindString(item.at("metadata"), "name"))] = &item;
  return objects;
}

std::string_view StatusPhase(const json::value& object) {
  const json::value* const status = Find(object, "status");
  return status == nullptr ? std::string_view() : FindString(*status, "phase");
}

// Returns the pods whose success stays counted though they are gone. The user deleted such a pod, or a kill that was
// decided while the pod ran deleted the pod just after the success.
std::set<std::string> RemovedPods(const std::vector<Write>& log) {
  std::set<std::string> removed;
  std::map<std::string, std::string> phases;
  for (const Write& write : log) {
    if (write.resource != "pods" || !write.Succeeded()) continue;
    std::string& phase = phases[write.name];
    if (write.verb == "create" && write.subresource.empty()) phase.clear();
    if (write.subresource == "status" && write.body.is_object()) {
      if (const std::string_view next = StatusPhase(write.body); !next.empty()) phase = next;
    }
    if (write.verb == "delete" && (write.user_agent == kChaosUser || phase == "Succeeded")) removed.insert(write.name);
  }
  return removed;
}

}  // namespace

void JudgeLog(const std::vector<ChaosJob>& jobs, const std::vector<Write>& log, std::vector<std::string>& violations) {
  LogReader reader(jobs, violations);
  for (const Write& write : log) reader.Read(write);
}

void JudgeOwners(const std::vector<Write>& log, size_t& attributed, std::vector<std::string>& violations) {
  std::map<std::tuple<std::string, int64_t, int64_t>, std::string> owners;
  for (const Write& write : log) {
    const std::optional<Writer> writer = WriterOf(write.user_agent);
    if (!writer.has_value()) continue;
    ++attributed;
    const std::string owner = fmt::format("{}/{}", writer->replica, writer->incarnation);
    const auto [at, first] = owners.try_emplace({writer->service, writer->slot, writer->epoch}, owner);
    if (first || at->second == owner) continue;
    violations.push_back(fmt::format("slot {} of {} was written by {} and by {} in epoch {} ({} {} {})", writer->slot,
                                     writer->service, at->second, owner, writer->epoch, write.verb, write.resource,
                                     write.name));
  }
}

void JudgeEpochs(const std::vector<Write>& log, std::vector<std::string>& violations) {
  std::vector<const Write*> in_order;
  for (const Write& write : log) {
    if (write.Succeeded()) in_order.push_back(&write);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const Write* a, const Write* b) { return a->time < b->time; });
  std::map<std::pair<std::string, int64_t>, int64_t> newest;
  for (const Write* write : in_order) {
    const std::optional<Writer> writer = WriterOf(write->user_agent);
    if (!writer.has_value()) continue;
    int64_t& epoch = newest[{writer->service, writer->slot}];
    if (writer->epoch < epoch) {
      violations.push_back(fmt::format("{} {} {} by {} in epoch {} came after a write in epoch {} of slot {}",
                                       write->verb, write->resource, write->name, writer->replica, writer->epoch, epoch,
                                       writer->slot));
    }
    epoch = std::max(epoch, writer->epoch);
  }
}

void JudgeEnd(const std::vector<ChaosJob>& jobs, const std::vector<Write>& log, const json::value& jobs_list,
              const json::value& pods_list, const json::value& groups_list, std::vector<std::string>& violations) {
  const auto stored = ByName(jobs_list);
  const auto pods = ByName(pods_list);
  const auto groups = ByName(groups_list);
  const std::set<std::string> removed = RemovedPods(log);
  for (const ChaosJob& job : jobs) {
    // The group's name is the job's name, a dash and the job's UID.
    const auto group = groups.lower_bound(job.name + "-");
    if (group != groups.end() && absl::StartsWith(group->first, job.name + "-")) {
      violations.push_back(fmt::format("{}: PodGroup {} is left", job.name, group->first));
    }
    const auto found = stored.find(job.name);
    if (job.end.empty()) {
      if (found != stored.end()) violations.push_back(fmt::format("{} was deleted and is still there", job.name));
      for (const std::string& pod : job.pods) {
        if (pods.count(pod) > 0) violations.push_back(fmt::format("pod {} is left of a deleted job", pod));
      }
      continue;
    }
    if (found == stored.end()) {
      violations.push_back(fmt::format("{} is gone", job.name));
      continue;
    }
    const json::value* const status = Find(*found->second, "status");
    const json::value* const state = status == nullptr ? nullptr : Find(*status, "state");
    const std::string_view phase = state == nullptr ? std::string_view() : FindString(*state, "phase");
    if (phase != job.end) {
      violations.push_back(fmt::format("{} is '{}', not {}", job.name, phase, job.end));
      continue;
    }
    std::map<std::string_view, int64_t> counts;
    int64_t gone = 0;
    for (const std::string& name : job.pods) {
      if (const auto pod = pods.find(name); pod != pods.end()) {
        ++counts[StatusPhase(*pod->second)];
      } else if (removed.count(name) > 0) {
        ++gone;
      }
    }
    for (const auto& [field, of_pods] : {std::pair("pending", "Pending"), std::pair("running", "Running"),
                                         std::pair("succeeded", "Succeeded"), std::pair("failed", "Failed")}) {
      const int64_t least = counts[of_pods];
      const int64_t most = least + (field == std::string_view("succeeded") ? gone : 0);
      const int64_t says = FindInt(*status, field);
      if (says < least || says > most) {
        violations.push_back(fmt::format("{}: status.{} is {}, there are {} such pods", job.name, field, says, least));
      }
    }
  }
}

}  // namespace basalt::e2e
