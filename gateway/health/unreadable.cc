#include "gateway/health/unreadable.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/event.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

constexpr size_t kMaxReported = 2000;

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
    case kube::v1::Object::kKaiPodGroup:
      return {"scheduling.run.ai/v2alpha2", kube::kKaiPodGroups.name};
    case kube::v1::Object::kKaiQueue:
      return {"scheduling.run.ai/v2", kube::kKaiQueues.name};
    case kube::v1::Object::kWorkload:
      return {object.workload().api_version(), object.workload().kind()};
    default:
      return {};
  }
}

}  // namespace

std::string FieldOf(std::string_view error) {
  std::string_view path = error.substr(0, error.find(':'));
  path = path.substr(0, path.find('['));
  const size_t first = path.find('.');
  if (first != std::string_view::npos) path = path.substr(0, path.find('.', first + 1));
  return path.empty() ? "object" : std::string(path);
}

void Unreadable::Report(const std::string& watch, const Decoded& decoded) {
  metrics_
      .GetCounter("basalt_gateway_undecodable_total", "Objects seen with a field that could not be read.",
                  {{"watch", watch}, {"field", FieldOf(decoded.error)}})
      .Add();
  const ObjectRef ref = RefOf(decoded.object);
  const KindName kind = KindNameOf(decoded.object);
  const kube::Event event{.api_version = kind.api_version,
                          .kind = kind.kind,
                          .ns = std::string(ref.ns),
                          .name = std::string(ref.name),
                          .uid = std::string(ref.uid),
                          .warning = true,
                          .reason = "Unreadable",
                          .message = fmt::format("taken as if it were not there: {}", decoded.error),
                          .component = "basalt-gateway"};
  const std::string name = kube::NameOf(event);
  if (reported_.contains(name)) return;
  if (reported_.size() >= kMaxReported) reported_.clear();
  reported_.insert(name);
  obs::LogWarning("object has fields that cannot be read",
                  {{"watch", watch}, {"object", kube::ObjectKey(ref.ns, ref.name)}, {"why", decoded.error}});
  if (kind.kind.empty() || ref.uid.empty()) return;
  v1::WriteRequest request = kube::WriteOf(kube::kEvents, kube::NamespaceOf(event), name);
  request.mutable_create()->set_body(kube::BodyOf(event, absl::ToUnixMillis(kube_.ApiNow())));
  Forget(decoded);
  Send(std::string(ref.uid), request);
}

void Unreadable::Send(const std::string& uid, const v1::WriteRequest& request) {
  kube_.Write(request, /*job_uid=*/"", [this, uid, request](const absl::StatusOr<v1::WriteResponse>& answer) {
    if (answer.ok() || absl::IsInvalidArgument(answer.status()) || waiting_.size() >= kMaxReported) return;
    waiting_.insert_or_assign(uid, request);
  });
}

void Unreadable::LogWaiting() {
  for (const auto& [uid, request] : std::exchange(waiting_, {})) Send(uid, request);
}

void Unreadable::Forget(const Decoded& decoded) {
  if (waiting_.empty()) return;
  const auto found = waiting_.find(RefOf(decoded.object).uid);
  if (found != waiting_.end()) waiting_.erase(found);
}

}  // namespace basalt::gateway
