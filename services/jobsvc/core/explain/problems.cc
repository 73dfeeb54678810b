#include "services/jobsvc/core/explain/problems.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"

namespace basalt::jobsvc {

namespace {

// Twice the longest pause between two tries: a cause that was not observed for so long gives way to another one.
constexpr absl::Duration kLasts = absl::Minutes(1);
constexpr size_t kMostCauses = 32;
constexpr size_t kMostSubjects = 1000;

// In the order in which a job needs the objects of these problems.
constexpr std::array<std::string_view, 9> kReasons = {"PluginError",   "PVCError",        kQueueError,
                                                      "PodGroupError", "FailedCreate",    "FailedDelete",
                                                      "CommandError",  "ForwardingError", "TTLError"};

std::string Without(std::string text, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) text.erase(at, name.size());
  }
  return text;
}

// Keeps the text before the first colon, which names the subject. Behind it, a word with a digit is a number with its
// unit, or part of an id.
std::string WithoutNumbers(std::string_view text) {
  std::string result(text.substr(0, text.find(':')));
  for (size_t i = result.size(); i < text.size();) {
    size_t end = i;
    bool has_digit = false;
    while (end < text.size() && absl::ascii_isalnum(text[end])) has_digit |= absl::ascii_isdigit(text[end++]);
    if (end == i) ++end;
    result += has_digit ? std::string_view("#") : text.substr(i, end - i);
    i = end;
  }
  return result;
}

}  // namespace

// Keeps the cause that the status shows. Otherwise the message would change by itself and be written again and again.
void Problems::Lasting::ForgetOldest() {
  auto oldest = causes.end();
  for (auto it = causes.begin(); it != causes.end(); ++it) {
    if (it->first != shown && (oldest == causes.end() || it->second.seen < oldest->second.seen)) oldest = it;
  }
  if (oldest != causes.end()) causes.erase(oldest);
}

bool Problems::Report(Problem problem, std::initializer_list<std::string_view> names, absl::Time now,
                      absl::Duration interval, std::optional<absl::Time> known_since) {
  const auto [known, begins] = by_reason_.try_emplace(problem.words.reason);
  Lasting& lasting = known->second;
  if (lasting.subjects.size() >= kMostSubjects && !lasting.subjects.contains(problem.subject)) lasting.subjects.clear();
  const auto [of, first] = lasting.subjects.try_emplace(problem.subject);
  if (first) of->second.since_ms = absl::ToUnixMillis(begins ? known_since.value_or(now) : now);
  of->second.newest = problem;
  std::string exact = Without(problem.words.message, names);
  std::string alike = WithoutNumbers(exact);
  if (lasting.causes.size() >= kMostCauses && !lasting.causes.contains(alike)) lasting.ForgetOldest();
  const auto [at, is_new] = lasting.causes.try_emplace(alike);
  Cause& cause = at->second;
  const bool reports = is_new || (cause.exact != exact && now >= cause.reported + interval);
  cause.seen = now;
  if (reports) {
    cause.problem = problem;
    cause.exact = std::move(exact);
    cause.reported = now;
  }
  const auto shown = lasting.causes.find(lasting.shown);
  if (shown == lasting.causes.end() || now > shown->second.seen + kLasts) lasting.shown = std::move(alike);
  lasting.newest = std::move(problem);
  return reports;
}

bool Problems::End(std::string_view reason) {
  const auto at = by_reason_.find(reason);
  if (at == by_reason_.end()) return false;
  by_reason_.erase(at);
  return true;
}

bool Problems::End(std::string_view reason, std::string_view subject) {
  const auto at = by_reason_.find(reason);
  if (at == by_reason_.end()) return false;
  Lasting& lasting = at->second;
  if (const auto of = lasting.subjects.find(subject); of != lasting.subjects.end()) lasting.subjects.erase(of);
  const auto is_over = [subject](const auto& cause) { return cause.second.problem.subject == subject; };
  if (std::erase_if(lasting.causes, is_over) == 0) return false;
  if (lasting.causes.empty()) {
    by_reason_.erase(at);
    return true;
  }
  const auto by = [&causes = lasting.causes](absl::Time Cause::*time) {
    return std::minmax_element(causes.begin(), causes.end(), [time](const auto& one, const auto& other) {
      return one.second.*time < other.second.*time;
    });
  };
  if (!lasting.causes.contains(lasting.shown)) lasting.shown = by(&Cause::reported).first->first;
  if (lasting.newest.subject == subject) lasting.newest = by(&Cause::seen).second->second.problem;
  return true;
}

const Problem* Problems::Find(std::string_view reason) const {
  const auto at = by_reason_.find(reason);
  return at == by_reason_.end() ? nullptr : &at->second.newest;
}

const Problems::Subject* Problems::Of(std::string_view reason, std::string_view subject) const {
  const auto at = by_reason_.find(reason);
  if (at == by_reason_.end()) return nullptr;
  const auto of = at->second.subjects.find(subject);
  return of == at->second.subjects.end() ? nullptr : &of->second;
}

const Problem* Problems::Find(std::string_view reason, std::string_view subject) const {
  const Subject* const of = Of(reason, subject);
  return of == nullptr ? nullptr : &of->newest;
}

std::vector<const Problem*> Problems::FindAll(std::string_view reason) const {
  std::vector<const Problem*> found;
  const auto at = by_reason_.find(reason);
  if (at == by_reason_.end()) return found;
  for (const auto& [subject, of] : at->second.subjects) found.push_back(&of.newest);
  return found;
}

int64_t Problems::SinceMs(std::string_view reason, std::string_view subject) const {
  const Subject* const of = Of(reason, subject);
  return of == nullptr ? 0 : of->since_ms;
}

const StatusMessage& Problems::Reported() const {
  static const StatusMessage none;
  for (const std::string_view reason : kReasons) {
    const auto at = by_reason_.find(reason);
    if (at != by_reason_.end()) return at->second.causes.at(at->second.shown).problem.words;
  }
  return none;
}

}  // namespace basalt::jobsvc
