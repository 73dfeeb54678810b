#include "tests/simulation/story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {
namespace {

constexpr size_t kMostBytes = 400;  // The most bytes of a body that a line has.

struct Line {
  absl::Time time;
  std::string text;
};

std::string WhoOf(const kubesim::LoggedRequest& request) {
  const std::optional<e2e::Writer> writer = e2e::WriterOf(request.user_agent);
  if (writer) return fmt::format("{} (slot {}, epoch {})", writer->replica, writer->slot, writer->epoch);
  const size_t slash = request.user_agent.find('/');
  return request.user_agent.substr(0, slash);
}

// Returns the members of a job's status that change and our own state in it, without the plugins' objects.
std::string StatusWords(const kubesim::LoggedRequest& request) {
  const json::value* status = FindPath(request.body, {"status"});
  if (status == nullptr || !status->is_object()) return "";
  std::string words(PhaseOf(request));
  for (const auto& [name, value] : status->as_object()) {
    if (value.is_number() || value.is_null()) words += fmt::format(" {}={}", std::string(name), ToText(value));
  }
  json::value own = OwnStateIn(request);
  if (!own.is_object()) return words;
  own.as_object().erase("objects");
  return words + " " + ToText(own);
}

std::string WordsOf(const kubesim::LoggedRequest& request) {
  const json::value& body = request.body;
  if (request.resource == "jobs" && request.subresource == "status") return StatusWords(request);
  if (request.resource == "events") {
    return fmt::format("{}: {}", FindString(body, "reason"), FindString(body, "message"));
  }
  if (request.resource == "pods" && request.verb == "create") return "";
  const json::value* status = FindPath(body, {"status"});
  const std::string_view phase =
      status != nullptr && status->is_object() ? FindString(*status, "phase") : std::string_view();
  if (!phase.empty() && (request.resource == "pods" || request.resource == "podgroups")) return std::string(phase);
  return body.is_null() ? std::string() : ToText(body);
}

bool IsHousekeeping(const kubesim::LoggedRequest& request) {
  const bool reads = request.verb == "list" || request.verb == "watch" || request.verb == "get";
  const bool of_scheduler = request.resource == "events" && request.user_agent.starts_with("kubesim");
  const bool leads = request.resource == "leases" || request.name.ends_with("-assignment");
  return reads || of_scheduler || leads || request.resource == "nodes";
}

std::string TextOf(const kubesim::LoggedRequest& request) {
  const std::string what = request.subresource.empty() ? std::string(request.resource)
                                                       : fmt::format("{}/{}", request.resource, request.subresource);
  return fmt::format("{} {} {} {} -> {}{}{} {}", WhoOf(request), request.verb, what, request.name, request.status,
                     request.dropped_request ? ", the request was lost" : "",
                     request.dropped_answer ? ", the answer was lost" : "",
                     std::string(Excerpt(WordsOf(request), kMostBytes)));
}

void AddDecisions(SimSuite& suite, const PlannedJob& job, std::vector<Line>& lines) {
  std::set<std::pair<int64_t, int64_t>> numbers;
  for (const std::string& host : suite.EverStarted("jobsvc")) {
    const std::unique_ptr<kv::KvStore> store = kv::OpenMemKv(suite.disk(host));
    const auto history = jobsvc::HistoryStore(*store).Read(SlotOf("default/" + job.name), job.uid);
    if (!history.ok()) continue;
    for (const storage::v1::HistoryRecord& entry : *history) {
      if (!numbers.emplace(entry.sequence(), entry.generation()).second) continue;
      lines.push_back({absl::FromUnixMillis(entry.time_ms()),
                       fmt::format("== decision {} about {}: {} {}, {}: {}: {}{}", entry.sequence(), job.name,
                                   entry.event(), entry.subject(), entry.rule(), entry.action(), entry.outcome(),
                                   entry.committed() ? "" : " (not committed)")});
    }
  }
}

}  // namespace

std::vector<std::string> StoryOf(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time begin) {
  std::vector<std::string> story;
  for (const PlannedJob& job : jobs) {
    story.push_back(
        fmt::format("{} ({}) is to end as {}: {}", job.name, job.uid, fmt::join(job.ends, " or "), job.manifest));
  }
  std::vector<Line> lines;
  for (const SimSuite::Event& event : suite.events()) lines.push_back({event.time, "## " + event.what});
  for (const kubesim::LoggedRequest& request : suite.api().log()) {
    if (!IsHousekeeping(request)) lines.push_back({request.time, TextOf(request)});
  }
  for (const PlannedJob& job : jobs) AddDecisions(suite, job, lines);
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.time < b.time; });
  for (const Line& line : lines) {
    story.push_back(fmt::format("{:>9.3f} {}", absl::ToDoubleSeconds(line.time - begin), line.text));
  }
  return story;
}

}  // namespace basalt::simulation
