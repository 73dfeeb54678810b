#include "tests/bench/jobs/collection.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/base/json.h"
#include "common/kube/names.h"

namespace basalt::bench {
namespace {

actors::InformerOptions Options(std::string_view path) {
  actors::InformerOptions options;
  options.path = path;
  options.user_agent = "bench";
  return options;
}

std::string PhaseOf(const json::value& object) {
  const json::value* phase = FindPath(object, {"status", "state", "phase"});
  if (phase == nullptr) phase = FindPath(object, {"status", "phase"});
  if (phase == nullptr) phase = FindPath(object, {"status", "state"});
  return phase != nullptr && phase->is_string() ? std::string(phase->get_string()) : std::string();
}

bool NamesGroup(const json::value& metadata) {
  const json::value* const annotations = Find(metadata, "annotations");
  return annotations != nullptr && (!FindString(*annotations, kube::kGroupNameKey).empty() ||
                                    !FindString(*annotations, kube::kKaiGroupNameKey).empty());
}

}  // namespace

Collection::Collection(Loop& loop, http::Client& client, Random& random, std::string_view path)
    : last_change_(absl::Now()), informer_(loop, client, random, Options(path)) {
  informer_.Listen(*this);
  informer_.Start();
}

int Collection::In(std::string_view phase) const {
  const auto found = phases_.find(std::string(phase));
  return found == phases_.end() ? 0 : found->second;
}

std::string Collection::UidOf(std::string_view name) const {
  const auto found = objects_.find(std::string(name));
  return found == objects_.end() ? std::string() : found->second.uid;
}

void Collection::OnObject(const json::value& object) {
  last_change_ = absl::Now();
  const json::value* const metadata = Find(object, "metadata");
  if (metadata == nullptr) return;
  const auto [at, fresh] = objects_.try_emplace(std::string(FindString(*metadata, "name")));
  std::string phase = PhaseOf(object);
  const bool moved = fresh || phase != at->second.phase;
  ++phases_[phase];
  if (!fresh) --phases_[at->second.phase];
  const bool is_grouped = NamesGroup(*metadata);
  grouped_ += (is_grouped ? 1 : 0) - (at->second.is_grouped ? 1 : 0);
  at->second = {std::string(FindString(*metadata, "uid")), std::move(phase), is_grouped};
  if (moved && on_phase_) on_phase_(at->first, at->second.phase);
}

void Collection::OnGone(const actors::ObjectName& gone) {
  last_change_ = absl::Now();
  const auto found = objects_.find(gone.name);
  if (found == objects_.end()) return;
  --phases_[found->second.phase];
  if (found->second.is_grouped) --grouped_;
  objects_.erase(found);
}

}  // namespace basalt::bench
