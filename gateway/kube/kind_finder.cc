#include "gateway/kube/kind_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "gateway/kube/refusal.h"

namespace basalt::gateway {
namespace {

// A bound against an answer without end: the core group's document, a large one, has some 15 KB.
constexpr size_t kMostOfDiscovery = 4 << 20;
// How many versions of a group one look asks about, the preferred one first. Kubernetes' own groups have had up to
// five.
constexpr size_t kMostVersions = 32;

// Returns the list of that name in a document; null if there is none.
const json::array* ListIn(const absl::StatusOr<json::value>& document, std::string_view name) {
  const json::value* const list = document.ok() && document->is_object() ? Find(*document, name) : nullptr;
  return list != nullptr && list->is_array() ? &list->get_array() : nullptr;
}

// A resource that names no verbs may have any of them.
bool HasVerb(const json::value& resource, std::string_view verb) {
  const json::value* const verbs = Find(resource, "verbs");
  if (verbs == nullptr || !verbs->is_array()) return true;
  const json::array& list = verbs->get_array();
  return std::any_of(list.begin(), list.end(),
                     [verb](const json::value& one) { return one.is_string() && one.get_string() == verb; });
}

}  // namespace

std::vector<std::string> VersionsIn(const http::Response& response) {
  std::vector<std::string> versions;
  if (response.status != 200) return versions;
  const absl::StatusOr<json::value> group = ParseJson(response.body);
  const json::array* const list = ListIn(group, "versions");
  if (list == nullptr) return versions;
  for (const json::value& version : *list) {
    const std::string_view name = version.is_object() ? FindString(version, "version") : std::string_view();
    if (!name.empty()) versions.emplace_back(name);
  }
  return versions;
}

std::optional<ServedKind> KindIn(const http::Response& response, const WantedKind& wanted) {
  if (response.status != 200) return std::nullopt;
  const absl::StatusOr<json::value> document = ParseJson(response.body);
  const json::array* const list = ListIn(document, "resources");
  if (list == nullptr) return std::nullopt;
  for (const json::value& resource : *list) {
    if (!resource.is_object()) continue;
    const std::string_view plural = FindString(resource, "name");
    if (plural.find('/') != std::string_view::npos) continue;  // A subresource, of whatever kind.
    if (wanted.plural.empty() ? FindString(resource, "kind") != wanted.kind : plural != wanted.plural) continue;
    const json::value* const namespaced = Find(resource, "namespaced");
    const bool is_cluster_scoped = namespaced != nullptr && namespaced->is_bool() && !namespaced->get_bool();
    return ServedKind{.plural = std::string(plural),
                      .is_namespaced = !is_cluster_scoped,
                      .is_watchable = HasVerb(resource, "list") && HasVerb(resource, "watch")};
  }
  return ServedKind();
}

KindFinder::KindFinder(const Shared& shared, WantedKind wanted, bool absent, KindFound found)
    : shared_(shared), wanted_(std::move(wanted)), found_(std::move(found)), reported_absent_(absent) {
  if (absent) {
    OnAbsent();
  } else {
    Look();
  }
}

KindFinder::~KindFinder() { shared_.loop.Cancel(timer_); }

void KindFinder::Look() {
  next_ = 0;
  if (!wanted_.group.empty() && wanted_.version.empty()) {
    return Ask(fmt::format("/apis/{}", wanted_.group), &KindFinder::OnGroup);
  }
  versions_ = {wanted_.version.empty() ? "v1" : wanted_.version};
  AskVersion();
}

void KindFinder::LookAfter(absl::Duration delay) {
  timer_ = shared_.loop.RunAfter(delay, [this] {
    timer_ = kNoTimer;
    Look();
  });
}

void KindFinder::Ask(std::string target, Heard heard) {
  http::Request request;
  request.target = std::move(target);
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "basalt-gateway"}};
  call_ = http::Fetch(
      shared_.client, std::move(request),
      [this, heard](absl::StatusOr<http::Response> answer) { OnAnswer(answer, heard); }, kMostOfDiscovery);
}

void KindFinder::OnAnswer(const absl::StatusOr<http::Response>& answer, Heard heard) {
  if (!answer.ok()) return OnFailure(std::string(ToStd(answer.status().message())));
  if (answer->status == 200 || answer->status == 404) return (this->*heard)(*answer);
  const v1::KubeError refusal = ReadRefusal(*answer);
  OnFailure(refusal.message(), std::min(absl::Milliseconds(refusal.retry_after_ms()), kLongestPause));
}

void KindFinder::OnGroup(const http::Response& answer) {
  if (answer.status == 404) return OnAbsent();
  versions_ = VersionsIn(answer);
  if (versions_.empty()) return OnFailure("the answer names no version of the group");
  if (versions_.size() > kMostVersions) versions_.resize(kMostVersions);
  AskVersion();
}

void KindFinder::AskVersion() {
  if (next_ == versions_.size()) return OnAbsent();
  const std::string& version = versions_[next_];
  Ask(wanted_.group.empty() ? fmt::format("/api/{}", version) : fmt::format("/apis/{}/{}", wanted_.group, version),
      &KindFinder::OnVersion);
}

void KindFinder::OnVersion(const http::Response& answer) {
  std::optional<ServedKind> served = answer.status == 404 ? ServedKind() : KindIn(answer, wanted_);
  if (!served.has_value()) return OnFailure("the answer is no list of kinds");
  if (!served->plural.empty()) {
    served->version = versions_[next_];
    return found_(*served);
  }
  ++next_;
  AskVersion();
}

void KindFinder::OnAbsent() {
  back_off_.Reset();
  LookAfter(shared_.slow_retry * (0.5 + shared_.random.Unit()));
  if (!std::exchange(reported_absent_, true)) found_({});
}

void KindFinder::OnFailure(std::string why, absl::Duration at_least) {
  LookAfter(std::max(back_off_.Next(shared_.random), at_least));
  obs::LogWarning("whether a kind is served is not known, asking again",
                  {{"group", wanted_.group},
                   {"kind", wanted_.plural.empty() ? wanted_.kind : wanted_.plural},
                   {"why", std::move(why)}});
}

}  // namespace basalt::gateway
