#include "tests/bench/write_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "common/base/status.h"
#include "tests/e2e/writer.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kNeighbours = absl::Seconds(2);
constexpr absl::Duration kPerWrite = absl::Seconds(5);
constexpr std::string_view kTaskInName = "-t-";
constexpr std::string_view kGroupInName = "-g-";

bool IsRead(std::string_view verb) { return verb == "get" || verb == "list" || verb == "watch"; }

std::string_view JobOfObject(std::string_view name) {
  for (const std::string_view plugin : {"-svc", "-ssh"}) {
    if (name.ends_with(plugin)) return name.substr(0, name.size() - plugin.size());
  }
  return name;
}

bool IsStatusOfQueue(const LoggedWrite& write) {
  return write.ours && write.succeeded() && write.resource == "queues" && write.subresource == "status";
}

void ReadBody(const json::value& body, LoggedWrite& write) {
  const json::value* const status = Find(body, "status");
  if (status == nullptr) return;
  if (write.resource == "jobs") {
    if (const json::value* const state = Find(*status, "state"); state != nullptr) {
      write.phase = FindString(*state, "phase");
    }
  } else if (write.resource == "pods" || write.resource == "podgroups") {
    write.phase = FindString(*status, "phase");
  } else if (write.resource == "queues") {
    write.running = FindInt(*status, "running");
  }
}

}  // namespace

std::vector<LoggedWrite> WritesOfKubesim(const json::value& log) {
  std::vector<LoggedWrite> writes;
  const json::value* const requests = Find(log, "requests");
  if (requests == nullptr || !requests->is_array()) return writes;
  for (const json::value& request : requests->get_array()) {
    if (IsRead(FindString(request, "verb"))) continue;
    LoggedWrite& out = writes.emplace_back();
    std::string ignored;
    (void)absl::ParseTime(absl::RFC3339_full, ToAbsl(FindString(request, "time")), &out.time, &ignored);
    out.verb = FindString(request, "verb");
    out.resource = FindString(request, "resource");
    out.subresource = FindString(request, "subresource");
    out.name = FindString(request, "name");
    out.user_agent = FindString(request, "userAgent");
    out.code = static_cast<int>(FindInt(request, "status"));
    if (const json::value* body = Find(request, "body"); body != nullptr) ReadBody(*body, out);
    out.ours = e2e::IsByOwner(out.user_agent);
  }
  return writes;
}

std::vector<LoggedWrite> WritesOfAudit(const std::vector<realkube::AuditLine>& lines, size_t from) {
  std::vector<LoggedWrite> writes;
  for (size_t i = from; i < lines.size(); ++i) {
    const realkube::AuditLine& line = lines[i];
    if (IsRead(line.verb)) continue;
    LoggedWrite& out = writes.emplace_back();
    out.time = line.answered;
    out.verb = line.verb;
    out.resource = line.resource;
    out.subresource = line.subresource;
    out.name = line.name;
    out.user_agent = line.user_agent;
    out.code = line.code;
    ReadBody(line.body, out);
    out.ours = e2e::IsByOwner(line.user_agent);
  }
  return writes;
}

Tally Count(const std::vector<LoggedWrite>& log, bool lists_events) {
  Tally tally;
  for (const LoggedWrite& write : log) {
    if (!write.ours) continue;
    const bool is_event = write.resource == "events";
    ++(is_event ? tally.events : tally.writes);
    if (is_event && !lists_events) continue;
    if (!is_event) {
      if (write.subresource == "status") ++tally.status_updates;
      if (write.resource == "queues") ++tally.queues;
      if (write.verb == "create" && write.code == 409) ++tally.conflicts;
      if (write.code >= 400) ++tally.refused;
    }
    ++tally.by_kind[fmt::format("{} {}{}{}{}", write.verb, write.resource, write.subresource.empty() ? "" : "/",
                                write.subresource, write.code >= 400 ? fmt::format(" -> {}", write.code) : "")];
  }
  return tally;
}

std::string KindsOf(const Tally& tally, int per) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : tally.by_kind) {
    parts.push_back(count % per == 0 ? fmt::format("{} {}", count / per, kind)
                                     : fmt::format("{:.4g} {}", static_cast<double>(count) / per, kind));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view JobOfPod(std::string_view pod) { return pod.substr(0, std::min(pod.rfind(kTaskInName), pod.size())); }

std::string_view QueueOfGroup(std::string_view group) {
  return group.substr(0, std::min(group.rfind(kGroupInName), group.size()));
}

std::vector<Burst> BurstsOf(const std::vector<LoggedWrite>& log, std::string_view job) {
  std::vector<absl::Time> times;
  for (const LoggedWrite& write : log) {
    if (write.resource == "pods" && write.succeeded() && JobOfPod(write.name) == job) times.push_back(write.time);
  }
  std::sort(times.begin(), times.end());
  std::vector<Burst> bursts;
  for (const absl::Time time : times) {
    if (bursts.empty() || time - bursts.back().last >= kNeighbours) bursts.push_back({time, time, 0});
    bursts.back().last = time;
    ++bursts.back().changes;
  }
  return bursts;
}

int MoreWritesFor(const std::vector<Burst>& bursts) {
  int more = 0;
  for (const Burst& burst : bursts) more += static_cast<int>(burst.length() / kPerWrite);
  return more;
}

std::vector<absl::Duration> TimesToCompleted(const std::vector<LoggedWrite>& log, std::string_view ends,
                                             std::string_view completes) {
  // A real server's log shows the bodies of our writes only.
  const auto says_completed = [&](const LoggedWrite& write) {
    return completes.empty() ? write.ours && write.phase == "Completed" : write.user_agent == completes;
  };
  std::vector<std::pair<std::string, absl::Time>> ended;
  std::unordered_map<std::string, absl::Time> completed;
  for (const LoggedWrite& write : log) {
    if (write.subresource != "status" || !write.succeeded()) continue;
    if (write.resource == "pods" && write.user_agent == ends) ended.emplace_back(JobOfPod(write.name), write.time);
    if (write.resource == "jobs" && says_completed(write)) completed.emplace(write.name, write.time);
  }
  std::vector<absl::Duration> times;
  for (const auto& [job, time] : ended) {
    const auto done = completed.find(job);
    times.push_back(done == completed.end() ? absl::InfiniteDuration() : done->second - time);
  }
  return times;
}

TimesToEffect TimesFromEdits(const std::vector<LoggedWrite>& log, std::string_view edits) {
  struct Open {
    size_t edit;
    absl::Time since;
    bool has_any = false, has_plugin = false, has_pod = false;
  };
  TimesToEffect times;
  std::unordered_map<std::string, Open> open;  // By the job's name.
  for (const LoggedWrite& write : log) {
    if (!write.succeeded()) continue;
    if (write.resource == "jobs" && write.subresource.empty() && write.user_agent == edits) {
      open.insert_or_assign(write.name, Open{times.any.size(), write.time});
      times.any.push_back(absl::InfiniteDuration());
      times.plugin.push_back(absl::InfiniteDuration());
      times.pod.push_back(absl::InfiniteDuration());
      continue;
    }
    if (!write.ours || write.resource == "jobs" || write.resource == "events" || write.resource == "queues") continue;
    const bool is_pod = write.resource == "pods";
    // A plugin's objects are named after the job, with or without a suffix of the plugin's name.
    const std::string_view job = is_pod ? JobOfPod(write.name) : JobOfObject(write.name);
    const auto it = open.find(std::string(job));
    if (it == open.end()) continue;
    Open& one = it->second;
    if (!std::exchange(one.has_any, true)) times.any[one.edit] = write.time - one.since;
    const bool is_plugins = !is_pod && write.resource != "podgroups";
    if (is_plugins && !std::exchange(one.has_plugin, true)) times.plugin[one.edit] = write.time - one.since;
    if (is_pod && !std::exchange(one.has_pod, true)) times.pod[one.edit] = write.time - one.since;
  }
  return times;
}

std::vector<absl::Duration> TimesToCount(const std::vector<LoggedWrite>& log, std::string_view changes) {
  struct Queue {
    std::vector<absl::Time> changed;
    size_t counted = 0;
  };
  std::unordered_map<std::string_view, Queue> queues;
  std::vector<absl::Duration> times;
  for (const LoggedWrite& write : log) {
    if (write.resource == "podgroups" && write.verb == "patch" && write.succeeded() && write.user_agent == changes) {
      queues[QueueOfGroup(write.name)].changed.push_back(write.time);
    } else if (IsStatusOfQueue(write)) {
      Queue& queue = queues[write.name];
      const size_t counts = std::min(static_cast<size_t>(write.running), queue.changed.size());
      for (; queue.counted < counts; ++queue.counted) times.push_back(write.time - queue.changed[queue.counted]);
    }
  }
  for (const auto& [name, queue] : queues) {
    times.insert(times.end(), queue.changed.size() - queue.counted, absl::InfiniteDuration());
  }
  return times;
}

StatusWrites StatusWritesOf(const std::vector<LoggedWrite>& log) {
  struct Queue {
    int writes = 0;
    absl::Time first, last;
  };
  std::unordered_map<std::string_view, Queue> queues;
  StatusWrites all;
  for (const LoggedWrite& write : log) {
    if (!IsStatusOfQueue(write)) continue;
    Queue& queue = queues[write.name];
    if (queue.writes++ == 0) {
      queue.first = write.time;
    } else {
      all.least = std::min(all.least, write.time - queue.last);
    }
    queue.last = write.time;
    const absl::Duration shared = queue.last - queue.first + absl::Seconds(1);
    all.most_per_second = std::max(all.most_per_second, queue.writes / absl::ToDoubleSeconds(shared));
    ++all.writes;
  }
  all.queues = static_cast<int>(queues.size());
  return all;
}

absl::Duration Percentile(std::vector<absl::Duration> values, double part) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(part * static_cast<double>(values.size())));
  return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

}  // namespace basalt::bench
