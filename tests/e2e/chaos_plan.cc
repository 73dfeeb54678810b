#include "tests/e2e/chaos_plan.h"

#include <fmt/format.h>

namespace basalt::e2e {
namespace {

uint64_t PickPods(Random& random) {
  const uint64_t dice = random.Uniform(20);
  if (dice == 0) return 40 + random.Uniform(61);
  return dice < 6 ? 6 + random.Uniform(15) : 1 + random.Uniform(5);
}

ChaosKind PickKind(Random& random) {
  switch (random.Uniform(10)) {
    case 0:
      return ChaosKind::kFails;
    case 1:
      return ChaosKind::kOnFailure;
    case 2:
      return ChaosKind::kRestarts;
    case 3:
    case 4:
      return ChaosKind::kDeleted;
    default:
      return ChaosKind::kPlain;
  }
}

const char* EndOf(ChaosKind kind) {
  switch (kind) {
    case ChaosKind::kPlain:
      return "Completed";
    case ChaosKind::kOnFailure:
      return "Terminated";
    case ChaosKind::kFails:
    case ChaosKind::kRestarts:
      return "Failed";
    case ChaosKind::kDeleted:
      break;
  }
  return "";
}

const char* PoliciesOf(ChaosKind kind) {
  if (kind == ChaosKind::kOnFailure) return R"("policies":[{"event":"PodFailed","action":"TerminateJob"}],)";
  if (kind == ChaosKind::kRestarts) return R"("policies":[{"event":"PodFailed","action":"RestartJob"}],"maxRetry":2,)";
  return "";
}

}  // namespace

ChaosJob PlanChaosJob(Random& random, int number) {
  ChaosJob job;
  job.name = fmt::format("chaos-{}", number);
  job.kind = PickKind(random);
  job.end = EndOf(job.kind);
  const uint64_t pods = PickPods(random);
  const uint64_t tasks = std::min<uint64_t>(pods, 1 + random.Uniform(3));
  std::string list;
  for (uint64_t task = 0; task < tasks; ++task) {
    const uint64_t replicas = pods / tasks + (task < pods % tasks ? 1 : 0);
    const bool fails = job.kind == ChaosKind::kRestarts ||
                       (task == 0 && (job.kind == ChaosKind::kFails || job.kind == ChaosKind::kOnFailure));
    const uint64_t seconds = job.kind == ChaosKind::kDeleted ? 3600 : 1 + random.Uniform(8);
    list += fmt::format(
        R"({}{{"name":"t{}","replicas":{},"template":{{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c",)"
        R"("image":"i","command":["sh","-c","sleep {}; exit {}"],"resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}}}})",
        task > 0 ? "," : "", task, replicas, seconds, fails ? 3 : 0);
    for (uint64_t i = 0; i < replicas; ++i) job.pods.push_back(fmt::format("{}-t{}-{}", job.name, task, i));
  }
  job.manifest = fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"default",{}{}{}"tasks":[{}]}}}})",
      job.name, PoliciesOf(job.kind), job.kind == ChaosKind::kRestarts ? R"("minAvailable":1,)" : "",
      random.OneIn(3) ? R"("plugins":{"env":[],"svc":[]},)" : "", list);
  return job;
}

}  // namespace basalt::e2e
