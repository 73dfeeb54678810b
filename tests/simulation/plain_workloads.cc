#include "tests/simulation/plain_workloads.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "common/kube/names.h"
#include "kubesim/actors/workloads/child.h"

namespace basalt::simulation {
namespace {

// These streams are chosen so that the seeds that once violated an invariant have no workloads. Those seeds therefore
// remain the same runs.
constexpr uint64_t kStream = 0x4bfc'7724'4526'3acf;
constexpr uint64_t kRichStream = 0x7b1f'02d9'5a83'c64e;
constexpr uint64_t kLeftStream = 0xc9ab'd5b7'f9b2'3be2;
constexpr int64_t kMostPods = 4;
constexpr int kMostWorkloads = 3;

// The probes are in the order of Kind.
constexpr std::string_view kMadeProbes[] = {"Deployment made", "ReplicaSet made", "StatefulSet made",
                                            "ordered StatefulSet made", "batch Job made"};

std::string NameOf(int number) { return fmt::format("workload-{}", number); }

SeededRandom StreamOf(uint64_t seed) { return SeededRandom(seed ^ kStream); }

}  // namespace

std::vector<std::shared_ptr<const json::value>> ObjectsEverMade(const kubesim::ApiServer& api,
                                                                std::string_view resource, std::string_view group) {
  std::set<std::string> names;
  // The log does not have the objects that users create.
  for (int number = 0; number < kMostWorkloads; ++number) names.insert(NameOf(number));
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (request.verb == "create" && request.resource == resource && request.group == group &&
        request.subresource.empty()) {
      names.insert(request.name);
    }
  }
  const std::string whole = group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
  std::vector<std::shared_ptr<const json::value>> objects;
  for (const std::string& name : names) {
    if (auto object = api.Get(whole, "default", name); object != nullptr) objects.push_back(std::move(object));
  }
  return objects;
}

bool IsForKai(const json::value& pod) { return FindString(*Find(pod, "spec"), "schedulerName") == kube::kKaiScheduler; }

std::string_view GroupNamedBy(const json::value& pod) {
  const json::value* const annotations = FindPath(pod, {"metadata", "annotations"});
  if (annotations == nullptr) return {};
  return FindString(*annotations, IsForKai(pod) ? kube::kKaiGroupNameKey : kube::kGroupNameKey);
}

PlainWorkloads::PlainWorkloads(uint64_t seed, SimSuite& suite, Probes& probes)
    : random_(StreamOf(seed)), left_(seed ^ kLeftStream), leaves_(AreLeftIn(seed)), suite_(suite), probes_(probes) {
  random_.Next();  // AreIn() uses the first number of the stream.
}

bool PlainWorkloads::AreIn(uint64_t seed) { return StreamOf(seed).OneIn(3); }

bool PlainWorkloads::AreRichIn(uint64_t seed) {
  return AreIn(seed) && SeededRandom(seed ^ kStream ^ kRichStream).OneIn(2);
}

bool PlainWorkloads::AreLeftIn(uint64_t seed) { return AreIn(seed) && SeededRandom(seed ^ kLeftStream).OneIn(3); }

void PlainWorkloads::Begin() {
  const int count = 1 + static_cast<int>(random_.Uniform(kMostWorkloads));
  for (int number = 0; number < count; ++number) {
    const Workload workload = Plan(number);
    After(absl::ZeroDuration(), absl::Seconds(20), [this, workload, manifest = Manifest(workload)] {
      // A probe of its kind is hit only if the workload was created.
      if (suite_.CreateObject(manifest).empty()) return;
      probes_.Hit(kMadeProbes[static_cast<size_t>(workload.kind)]);
      ActLater(workload);
    });
  }
}

PlainWorkloads::Workload PlainWorkloads::Plan(int number) {
  Workload workload;
  workload.kind = static_cast<Kind>(random_.Uniform(5));
  workload.name = NameOf(number);
  workload.is_for_kai = random_.OneIn(2);
  if (workload.is_for_kai) probes_.Hit("workload for KAI");
  const std::string plural = workload.kind == Kind::kDeployment   ? "deployments"
                             : workload.kind == Kind::kReplicaSet ? "replicasets"
                             : workload.kind == Kind::kJob        ? "jobs"
                                                                  : "statefulsets";
  const std::string group = workload.kind == Kind::kJob ? "batch" : "apps";
  workload.resource = fmt::format("{}.{}", plural, group);
  workload.path = fmt::format("/apis/{}/v1/namespaces/default/{}/{}", group, plural, workload.name);
  return workload;
}

bool PlainWorkloads::IsThere(const Workload& workload) const {
  return suite_.api().Get(workload.resource, "default", workload.name) != nullptr;
}

int64_t PlainWorkloads::MostTogether(const Workload& workload) const {
  return workload.kind == Kind::kOrderedStatefulSet || workload.kind == Kind::kJob ? 1 : 2;
}

std::string PlainWorkloads::Manifest(const Workload& workload) {
  const int64_t replicas = 2 + static_cast<int64_t>(random_.Uniform(kMostPods - 1));
  const bool is_job = workload.kind == Kind::kJob;
  const char* const duration = is_job && random_.OneIn(2) ? "5s" : "10h";
  json::object annotations;
  if (random_.OneIn(2)) annotations[kube::kGroupMinMemberKey] = fmt::to_string(MostTogether(workload));
  json::object pod{
      {"schedulerName", workload.is_for_kai ? kube::kKaiScheduler : kube::kDefaultScheduler},
      {"terminationGracePeriodSeconds", random_.OneIn(2) ? 0 : 2},
      {"containers",
       json::array{json::object{
           {"name", "c"}, {"image", "i"}, {"resources", json::object{{"requests", json::object{{"cpu", "100m"}}}}}}}}};
  if (is_job) pod["restartPolicy"] = "Never";
  json::object spec{
      {"template", json::object{{"metadata", json::object{{"labels", json::object{{"app", workload.name}}},
                                                          {"annotations",
                                                           json::object{{"kubesim.basalt.dev/duration", duration}}}}},
                                {"spec", std::move(pod)}}}};
  std::string kind = "StatefulSet";
  if (is_job) {
    kind = "Job";
    spec["parallelism"] = replicas;
    spec["completions"] = replicas;
  } else {
    spec["replicas"] = replicas;
    spec["selector"] = json::object{{"matchLabels", json::object{{"app", workload.name}}}};
  }
  if (workload.kind == Kind::kReplicaSet) kind = "ReplicaSet";
  if (workload.kind == Kind::kStatefulSet) spec["podManagementPolicy"] = "Parallel";
  if (workload.kind == Kind::kDeployment) kind = "Deployment";
  return ToText(json::object{
      {"apiVersion", is_job ? "batch/v1" : "apps/v1"},
      {"kind", kind},
      {"metadata",
       json::object{{"name", workload.name}, {"namespace", "default"}, {"annotations", std::move(annotations)}}},
      {"spec", std::move(spec)}});
}

void PlainWorkloads::ActLater(const Workload& workload) {
  const uint64_t times = random_.Uniform(6);
  for (uint64_t i = 0; i < times; ++i) {
    After(absl::Milliseconds(200), absl::Seconds(35), [this, workload] { Act(workload, random_.Uniform(14)); });
  }
  if (random_.OneIn(6)) {
    After(absl::Seconds(5), absl::Seconds(38), [this, workload] { Delete(workload); });
  }
  if (!leaves_) return;
  const absl::Duration at = absl::Seconds(5) + absl::Seconds(15) * left_.Unit();
  if (workload.kind == Kind::kJob) {
    suite_.time().RunAfter(at, [this, workload] { Suspend(workload, true); });
    const absl::Duration pause = absl::Seconds(15) * left_.Unit();
    if (!left_.OneIn(3)) suite_.time().RunAfter(at + pause, [this, workload] { Suspend(workload, false); });
  } else if (workload.kind != Kind::kDeployment && left_.OneIn(2)) {
    // The pods of a Deployment would keep their ReplicaSet.
    suite_.time().RunAfter(at, [this, workload] { LeavePods(workload); });
  }
}

void PlainWorkloads::Suspend(const Workload& workload, bool suspends) {
  if (!IsThere(workload)) return;
  probes_.Hit(suspends ? "batch Job suspended" : "batch Job resumed");
  Patch(workload, "replace", "/spec/suspend", suspends ? "true" : "false");
}

// Deletes the workload as `kubectl delete --cascade=orphan` does.
void PlainWorkloads::LeavePods(const Workload& workload) {
  const auto object = suite_.api().Get(workload.resource, "default", workload.name);
  if (object == nullptr) return;
  probes_.Hit("workload deleted whose pods stay");
  suite_.DeleteObject(workload.path, actors::MetaText(*object, "uid"), "Orphan");
}

// Deletes the workload with all its objects, as kubectl does. A request without options would leave the pods of a Job.
void PlainWorkloads::Delete(const Workload& workload) {
  const auto object = suite_.api().Get(workload.resource, "default", workload.name);
  if (object == nullptr) return;
  probes_.Hit("workload deleted");
  suite_.DeleteObject(workload.path, actors::MetaText(*object, "uid"), "Background");
}

void PlainWorkloads::Act(const Workload& workload, uint64_t what) {
  if (what < 4) return Scale(workload);
  if (what < 6) return Annotate(workload);
  if (what < 9) return Roll(workload);
  if (what < 12) return DisturbPods(workload, /*deletes=*/what < 11);
  DeleteGroup(workload);
}

void PlainWorkloads::Patch(const Workload& workload, std::string_view operation, std::string_view path,
                           std::string_view value) {
  suite_.PatchObject(workload.path, fmt::format(R"([{{"op":"{}","path":"{}","value":{}}}])", operation, path, value));
}

void PlainWorkloads::Scale(const Workload& workload) {
  if (!ScalesAndRolls(workload) || !IsThere(workload)) return;
  const int64_t replicas = random_.OneIn(3) ? 0 : 2 + static_cast<int64_t>(random_.Uniform(kMostPods - 1));
  if (replicas == 0) probes_.Hit("workload scaled to zero");
  Patch(workload, "replace", "/spec/replicas", fmt::to_string(replicas));
}

void PlainWorkloads::Annotate(const Workload& workload) {
  const int64_t together = 1 + static_cast<int64_t>(random_.Uniform(static_cast<uint64_t>(MostTogether(workload))));
  Patch(workload, "add", "/metadata/annotations",
        fmt::format(R"({{"{}":"{}","volcano.sh/tier":"{}"}})", kube::kGroupMinMemberKey, together, random_.Uniform(3)));
}

void PlainWorkloads::Roll(const Workload& workload) {
  // A ReplicaSet without a Deployment does not roll its pods, and a Job's template cannot be edited.
  if (!ScalesAndRolls(workload) || workload.kind == Kind::kReplicaSet || !IsThere(workload)) return;
  probes_.Hit("workload rolled");
  Patch(workload, "replace", "/spec/template/spec/containers/0/resources/requests/cpu",
        fmt::format(R"("{}00m")", 1 + random_.Uniform(4)));
}

std::vector<std::shared_ptr<const json::value>> PlainWorkloads::PodsOf(const Workload& workload) const {
  auto pods = ObjectsEverMade(suite_.api(), "pods", "");
  std::erase_if(pods, [&workload](const auto& pod) {
    const json::value* const labels = FindPath(*pod, {"metadata", "labels"});
    return labels == nullptr || FindString(*labels, "app") != workload.name;
  });
  return pods;
}

void PlainWorkloads::DisturbPods(const Workload& workload, bool deletes) {
  for (const auto& pod : PodsOf(workload)) {
    if (random_.OneIn(2)) continue;
    const std::string path = fmt::format("/api/v1/namespaces/default/pods/{}", actors::MetaText(*pod, "name"));
    if (deletes) return suite_.DeleteObject(path);
    if (GroupNamedBy(*pod).empty()) continue;
    probes_.Hit("link to a group removed by a user");
    const std::string_view key = IsForKai(*pod) ? "pod-group-name" : "scheduling.k8s.io~1group-name";
    return suite_.PatchObject(path, fmt::format(R"([{{"op":"remove","path":"/metadata/annotations/{}"}}])", key));
  }
}

void PlainWorkloads::DeleteGroup(const Workload& workload) {
  for (const auto& pod : PodsOf(workload)) {
    const std::string_view group = GroupNamedBy(*pod);
    if (group.empty()) continue;
    probes_.Hit("group deleted by a user");
    return suite_.DeleteObject(
        fmt::format("/apis/{}/namespaces/default/podgroups/{}",
                    IsForKai(*pod) ? "scheduling.run.ai/v2alpha2" : "scheduling.volcano.sh/v1beta1", group));
  }
}

void PlainWorkloads::After(absl::Duration least, absl::Duration most, std::function<void()> then) {
  suite_.time().RunAfter(least + (most - least) * random_.Unit(), std::move(then));
}

}  // namespace basalt::simulation
