#include "gateway/server/unreadable.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/json.h"
#include "common/kube/names.h"
#include "common/kube/text.h"
#include "common/obs/log.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

constexpr size_t kMaxTold = 2000;
constexpr size_t kMaxName = 253;
constexpr size_t kMaxMessage = 1024;  // The API server refuses longer notes.

struct KindName {
  std::string_view api_version, kind;
};

KindName KindNameOf(const kube::v1::Object& object) {
  switch (object.kind_case()) {
    case kube::v1::Object::kPodGroup:
      return {kube::kSchedulingApiVersion, "PodGroup"};
    case kube::v1::Object::kQueue:
      return {kube::kSchedulingApiVersion, "Queue"};
    case kube::v1::Object::kCommand:
      return {kube::kCommandApiVersion, "Command"};
    case kube::v1::Object::kPod:
      return {"v1", "Pod"};
    case kube::v1::Object::kPriorityClass:
      return {"scheduling.k8s.io/v1", "PriorityClass"};
    default:
      return {};
  }
}

uint64_t Fnv64(std::string_view text, uint64_t hash) {
  for (const unsigned char c : text) hash = (hash * 0x100000001b3) ^ c;
  return hash;
}

std::string EventName(const ObjectRef& ref, std::string_view error) {
  const uint64_t hash = Fnv64(error, Fnv64(ref.uid, 0xcbf29ce484222325));
  std::string name(ref.name.substr(0, kMaxName - 17));
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return fmt::format("{}.{:016x}", name, hash);
}

}  // namespace

std::string FieldOf(std::string_view error) {
  std::string_view path = error.substr(0, error.find(':'));
  path = path.substr(0, path.find('['));
  const size_t first = path.find('.');
  if (first != std::string_view::npos) path = path.substr(0, path.find('.', first + 1));
  return path.empty() ? "object" : std::string(path);
}

void Unreadable::Tell(const std::string& watch, const Decoded& decoded) {
  metrics_
      .GetCounter("gateway_undecodable_total", "Objects seen with a field that could not be read.",
                  {{"watch", watch}, {"field", FieldOf(decoded.error)}})
      .Add();
  const ObjectRef ref = RefOf(decoded.object);
  const std::string name = EventName(ref, decoded.error);
  if (told_.contains(name)) return;
  if (told_.size() >= kMaxTold) told_.clear();
  told_.insert(name);
  obs::LogWarning("object has fields that cannot be read",
                  {{"watch", watch}, {"object", KeyOf(ref.ns, ref.name)}, {"why", decoded.error}});
  const KindName kind = KindNameOf(decoded.object);
  if (kind.kind.empty() || ref.uid.empty()) return;
  // Of what has no namespace the Events stand in this one.
  const std::string ns = ref.ns.empty() ? "default" : std::string(ref.ns);
  const std::string now = kube::FormatTime(absl::ToUnixMillis(kube_.ApiNow()));
  json::object event{{"apiVersion", "v1"}, {"kind", "Event"}, {"type", "Warning"}, {"reason", "Unreadable"}};
  event["metadata"] = json::object{{"namespace", ns}, {"name", name}};
  json::object involved{{"apiVersion", json::string(kind.api_version.data(), kind.api_version.size())},
                        {"kind", json::string(kind.kind.data(), kind.kind.size())},
                        {"name", json::string(ref.name.data(), ref.name.size())},
                        {"uid", json::string(ref.uid.data(), ref.uid.size())}};
  if (!ref.ns.empty()) involved["namespace"] = ns;
  event["involvedObject"] = std::move(involved);
  event["message"] = fmt::format("taken as if it were not there: {}", decoded.error).substr(0, kMaxMessage);
  event["source"] = json::object{{"component", "basalt-gateway"}};
  event["firstTimestamp"] = now;
  event["lastTimestamp"] = now;
  event["count"] = 1;
  v1::WriteRequest request;
  request.mutable_resource()->set_version("v1");
  request.mutable_resource()->set_plural("events");
  request.set_namespace_(ns);
  request.set_name(name);
  request.mutable_create()->set_body(ToText(event));
  kube_.Write(std::move(request), [](const absl::StatusOr<v1::WriteResponse>&) {});
}

}  // namespace basalt::gateway
