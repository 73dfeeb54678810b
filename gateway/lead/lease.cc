#include "gateway/lead/lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/text.h"

namespace basalt::gateway {
namespace {

absl::Status Malformed(std::string_view what) {
  return Invalid(fmt::format("the lease cannot be understood: {}", what));
}

// Returns a text member; the empty text if it is absent or null.
absl::StatusOr<std::string> Text(const json::value& object, std::string_view name) {
  const json::value* found = Find(object, name);
  if (found == nullptr || found->is_null()) return std::string();
  if (!found->is_string()) return Malformed(fmt::format("{} is no text", name));
  return std::string(found->get_string());
}

absl::StatusOr<int64_t> Number(const json::value& object, std::string_view name) {
  const json::value* found = Find(object, name);
  if (found == nullptr || found->is_null()) return 0;
  if (!found->is_int64()) return Malformed(fmt::format("{} is no whole number", name));
  return found->get_int64();
}

int64_t WholeSeconds(absl::Duration duration) { return absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))); }

void SetWait(json::object& annotations, absl::Duration wait) {
  annotations.erase(kWaitAnnotation);
  if (wait > absl::ZeroDuration()) annotations[kWaitAnnotation] = kube::FormatGoDuration(wait);
}

// Returns a copy with the claim's holder in it.
json::value Claimed(const json::value& object, const LeaseClaim& claim) {
  json::value next = object;
  json::object& root = next.as_object();
  json::object& spec = ObjectIn(root, "spec");
  spec["holderIdentity"] = claim.identity;
  spec["leaseDurationSeconds"] = WholeSeconds(claim.duration);
  spec["renewTime"] = RenewTime(claim.now);
  json::object& annotations = ObjectIn(ObjectIn(root, "metadata"), "annotations");
  annotations[kAddressAnnotation] = claim.address;
  SetWait(annotations, claim.wait);
  return next;
}

}  // namespace

std::string IdentityOf(const Holder& holder) {
  return fmt::format("{}{}/{}", kHolderPrefix, holder.replica, holder.incarnation);
}

std::optional<Holder> ParseIdentity(std::string_view identity) {
  if (!identity.starts_with(kHolderPrefix)) return std::nullopt;
  const std::string_view rest = identity.substr(kHolderPrefix.size());
  const size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size()) return std::nullopt;
  return Holder{std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
}

absl::StatusOr<Lease> ParseLease(std::string_view body) {
  absl::StatusOr<json::value> parsed = ParseJson(body);
  if (!parsed.ok()) return Malformed(ToStd(parsed.status().message()));
  if (FindString(*parsed, "kind") != "Lease") return Malformed("its kind is not Lease");
  const json::value* metadata = Find(*parsed, "metadata");
  if (metadata == nullptr || FindString(*metadata, "resourceVersion").empty()) {
    return Malformed("it has no metadata.resourceVersion");
  }
  const json::value* spec = Find(*parsed, "spec");
  if (spec != nullptr && !spec->is_object() && !spec->is_null()) return Malformed("spec is no object");
  Lease lease;
  if (spec != nullptr) {
    BASALT_ASSIGN_OR_RETURN(lease.identity, Text(*spec, "holderIdentity"));
    BASALT_ASSIGN_OR_RETURN(lease.renewed, Text(*spec, "renewTime"));
    BASALT_ASSIGN_OR_RETURN(const int64_t seconds, Number(*spec, "leaseDurationSeconds"));
    BASALT_ASSIGN_OR_RETURN(lease.transitions, Number(*spec, "leaseTransitions"));
    if (seconds > 0) lease.duration = absl::Seconds(seconds);
  }
  if (const json::value* annotations = Find(*metadata, "annotations"); annotations != nullptr) {
    lease.address = FindString(*annotations, kAddressAnnotation);
    // An unreadable text was written by a person. Nobody owes more than the whole duration.
    const std::string_view wait = FindString(*annotations, kWaitAnnotation);
    if (!wait.empty())
      lease.wait =
          std::clamp(kube::ParseGoDuration(wait).value_or(lease.duration), absl::ZeroDuration(), lease.duration);
  }
  lease.mark = fmt::format("{} {}", FindString(*metadata, "uid"), spec == nullptr ? "" : ToText(*spec));
  lease.object = *std::move(parsed);
  return lease;
}

std::string RenewTime(absl::Time now) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", now, absl::UTCTimeZone()); }

std::string NewLease(std::string_view ns, std::string_view name, const LeaseClaim& claim) {
  json::value lease = Claimed(
      {{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}, {"metadata", {{"namespace", ns}, {"name", name}}}},
      claim);
  json::object& spec = ObjectIn(lease.as_object(), "spec");
  spec["acquireTime"] = RenewTime(claim.now);
  spec["leaseTransitions"] = 0;
  return ToText(lease);
}

std::string TakenLease(const Lease& lease, const LeaseClaim& claim) {
  json::value next = Claimed(lease.object, claim);
  json::object& spec = ObjectIn(next.as_object(), "spec");
  spec["acquireTime"] = RenewTime(claim.now);
  // The server's field has 32 bits.
  spec["leaseTransitions"] = lease.transitions < 0 || lease.transitions >= INT32_MAX ? 0 : lease.transitions + 1;
  return ToText(next);
}

std::string RenewedLease(const Lease& lease, const LeaseClaim& claim) { return ToText(Claimed(lease.object, claim)); }

std::string ReleasedLease(const Lease& lease, absl::Time now, absl::Duration wait) {
  json::value next = lease.object;
  json::object& root = next.as_object();
  json::object& spec = ObjectIn(root, "spec");
  spec["holderIdentity"] = "";
  spec["renewTime"] = RenewTime(now);
  json::object& annotations = ObjectIn(ObjectIn(root, "metadata"), "annotations");
  annotations.erase(kAddressAnnotation);
  SetWait(annotations, wait);
  return ToText(next);
}

}  // namespace basalt::gateway
