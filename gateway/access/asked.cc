#include "gateway/access/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/object_key.h"

namespace basalt::gateway {

Permission Refuse(RefusalReason why, absl::StatusCode code, std::string_view message) {
  return {why, MakeStatus(code, message)};
}

std::string What(const Ask& ask) {
  std::string plural(CutUtf8(ask.resource.plural(), 63));
  if (!ask.subresource.empty()) plural += fmt::format("/{}", CutUtf8(ask.subresource, 63));
  if (!ask.resource.group().empty()) plural += fmt::format(".{}", CutUtf8(ask.resource.group(), 63));
  return plural;
}

Permission NotOfThatKey(const Ask& ask) {
  return Refuse(RefusalReason::kObject, absl::StatusCode::kPermissionDenied,
                fmt::format("{} '{}' is not of '{}', for which it is asked", What(ask),
                            CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320), CutUtf8(ask.owner.key(), 320)));
}

Permission Elsewhere(const Ask& ask) {
  Permission permission = NotOfThatKey(ask);
  permission.is_elsewhere = true;
  return permission;
}

Permission NotKnown(const Ask& ask) {
  return Refuse(RefusalReason::kUnknown, absl::StatusCode::kUnavailable,
                fmt::format("whether {} '{}' is of '{}' is not known yet", What(ask),
                            CutUtf8(kube::ObjectKey(ask.ns, ask.name), 320), CutUtf8(ask.owner.key(), 320)));
}

Routed RoutedTo(const Ask& ask, std::string_view watch_prefix, std::string_view uid, const Cache& cache) {
  const v1::ServiceKind service = ask.owner.member().service();
  Routed routed = Routed::kNowhere;
  const std::vector<WatchInfo>& watches = cache.watches();
  for (size_t i = 0; i < watches.size() && !uid.empty(); ++i) {
    if (!watches[i].id.starts_with(watch_prefix)) continue;
    const ObjectId id = cache.Find(static_cast<WatchIndex>(i), uid);
    if (id == kNoObject) continue;
    if (cache.SlotOfId(id, service) != kNoSlot && cache.RoutingKeyOf(id, service) == ask.owner.key()) {
      return Routed::kHere;
    }
    routed = Routed::kElsewhere;
  }
  return routed;
}

Permission CheckRouted(const Ask& ask, std::string_view watch_prefix, bool named, const Cache& cache) {
  const std::string uid = ask.uid.empty() ? cache.UidOf(watch_prefix, ask.ns, ask.name) : std::string(ask.uid);
  switch (RoutedTo(ask, watch_prefix, uid, cache)) {
    case Routed::kHere:
      return {};
    case Routed::kElsewhere:
      // An object that holds a name which the job needs may be read.
      return ask.verb == kGet && named ? Permission() : Elsewhere(ask);
    case Routed::kNowhere:
      return named ? Permission() : NotKnown(ask);
  }
  return NotKnown(ask);
}

std::string_view SubjectOf(std::string_view event) { return event.substr(0, std::min(event.rfind('.'), event.size())); }

bool IsEventAbout(std::string_view name, std::string_view event) {
  const std::string_view subject = SubjectOf(event);
  if (subject.size() == event.size()) return false;
  return subject == name || (subject.size() >= kUncutName && name.starts_with(subject));
}

}  // namespace basalt::gateway
