#include "tests/coexistence/fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::coexistence {
namespace {

constexpr std::string_view kBefore = "2026-11-01T10:00:00Z";

json::value Parsed(const std::string& text) {
  absl::StatusOr<json::value> value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << value.status() << "\n" << text;
  return value.ok() ? *std::move(value) : json::value(json::object());
}

std::string UidOf(const json::value& object) { return cli::TextAt(object, {"metadata", "uid"}); }

std::string OwnerOf(const std::string& job, const std::string& uid) {
  return fmt::format(
      R"([{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"{}","uid":"{}","controller":true,
      "blockOwnerDeletion":true}}])",
      job, uid);
}

// A submitted volume has no claim name; upstream writes one beside the claim (job spec 9.9).
std::string VolumesOf(std::string_view claim) {
  return fmt::format(R"([{{"mountPath":"/data","volumeClaimName":"{}","volumeClaim":
      {{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"1Gi"}}}}}}}}])",
                     claim);
}

std::string SpecOf(const LeftJob& job) {
  const std::string plugins = job.plugins ? R"("plugins":{"svc":[],"ssh":[]},)" : "";
  const std::string volumes = job.claim.empty() ? "" : fmt::format(R"("volumes":{},)", VolumesOf(""));
  return fmt::format(
      R"({{"schedulerName":"volcano","queue":"default","maxRetry":3,"minAvailable":{0},{1}{2}"policies":{3},
      "tasks":[{{"name":"work","replicas":{0},"minAvailable":{0},"maxRetry":3,"template":{{"spec":{{
      "restartPolicy":"Never","containers":[{{"name":"main","image":"busybox",
      "resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}}]}})",
      job.replicas, plugins, volumes, job.policies);
}

// Follows job spec 10.
std::string PodOf(const LeftJob& job, const std::string& uid, const std::string& group, const LeftPod& pod) {
  const std::string keys = fmt::format(
      R"("volcano.sh/task-spec":"work","volcano.sh/task-index":"{}","volcano.sh/job-name":"{}",
      "volcano.sh/queue-name":"default")",
      pod.index, job.name);
  const std::string network =
      job.plugins ? fmt::format(R"("hostname":"{0}-work-{1}","subdomain":"{0}","volumes":[{{"name":"{0}-svc",
      "configMap":{{"name":"{0}-svc"}}}}],)",
                                job.name, pod.index)
                  : "";
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}-work-{1}","namespace":"default",
      "labels":{{{2},"volcano.sh/job-namespace":"default"}},
      "annotations":{{{2},"volcano.sh/job-version":"{3}","volcano.sh/job-retry-count":"{3}",
      "volcano.sh/template-uid":"{0}-work","scheduling.k8s.io/group-name":"{4}"}},"ownerReferences":{5}}},
      "spec":{{"schedulerName":"volcano","nodeName":"node-0","restartPolicy":"Never",{6}
      "containers":[{{"name":"main","image":"busybox","resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}})",
      job.name, pod.index, keys, pod.version, group, OwnerOf(job.name, uid), network);
}

// Follows job spec 9.8 and 9.10. The PodGroup kind has no status sub-resource, so the create carries the status.
std::string GroupOf(const LeftJob& job, const std::string& uid, const std::string& name) {
  return fmt::format(
      R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{{"name":"{0}",
      "namespace":"default","ownerReferences":{1}}},"spec":{{"minMember":{2},"minTaskMember":{{"work":{2}}},
      "queue":"default","minResources":{{"cpu":"{3}m","requests.cpu":"{3}m","pods":"{2}","count/pods":"{2}"}}}},
      "status":{{"phase":"{4}","conditions":[{{"type":"Scheduled","status":"True","transitionID":"7",
      "reason":"tasks in gang are ready to be scheduled","lastTransitionTime":"{5}"}}]}}}})",
      name, OwnerOf(job.name, uid), job.replicas, job.replicas * 100, job.group_phase, kBefore);
}

// Follows job spec 11.4 and 11.5.
void PlantObjects(Kubernetes& kube, const LeftJob& job, Planted& planted) {
  const std::string owner = OwnerOf(job.name, planted.uid);
  std::string hosts, config = "StrictHostKeyChecking no\\nUserKnownHostsFile /dev/null\\n";
  for (int i = 0; i < job.replicas; ++i) {
    hosts += fmt::format("{0}{1}-work-{2}.{1}", i == 0 ? "" : ",", job.name, i);
    config += fmt::format("Host {0}-work-{1}\\n  HostName {0}-work-{1}.{0}\\n  Port 22\\n", job.name, i);
  }
  std::string lines = hosts;
  for (size_t at = 0; (at = lines.find(',', at)) != std::string::npos;) lines.replace(at, 1, "\\n");
  const std::string both =
      fmt::format(R"({{"volcano.sh/job-name":"{}","volcano.sh/job-namespace":"default"}})", job.name);
  const auto meta = [&](const std::string& name) {
    return fmt::format(R"("metadata":{{"name":"{}","namespace":"default","ownerReferences":{}}})", name, owner);
  };
  const auto plant = [&](const std::string& path, const std::string& name, const std::string& text) {
    planted.uids[path + "/" + name] = UidOf(kube.Create(path, Parsed(text)));
  };
  plant("/api/v1/namespaces/default/configmaps", job.name + "-svc",
        fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap",{},"data":{{"work.host":"{}","VC_WORK_HOSTS":"{}",
        "VC_WORK_NUM":"{}"}}}})",
                    meta(job.name + "-svc"), lines, hosts, job.replicas));
  plant("/api/v1/namespaces/default/services", job.name,
        fmt::format(R"({{"apiVersion":"v1","kind":"Service",{},"spec":{{"clusterIP":"None","selector":{}}}}})",
                    meta(job.name), both));
  plant("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", job.name,
        fmt::format(R"({{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",{0},"spec":{{
        "podSelector":{{"matchLabels":{1}}},"ingress":[{{"from":[{{"podSelector":{{"matchLabels":{1}}}}}]}}],
        "policyTypes":["Ingress"]}}}})",
                    meta(job.name), both));
  plant("/api/v1/namespaces/default/secrets", job.name + "-ssh",
        fmt::format(R"({{"apiVersion":"v1","kind":"Secret",{},"stringData":{{"id_rsa":"PRIVATE","id_rsa.pub":"PUBLIC",
        "authorized_keys":"PUBLIC","config":"{}"}}}})",
                    meta(job.name + "-ssh"), config));
}

}  // namespace

std::string StatusOf(const std::vector<std::string>& phases, const std::string& more) {
  std::string conditions;
  for (const std::string& phase : phases) {
    conditions +=
        fmt::format(R"({}{{"status":"{}","lastTransitionTime":"{}"}})", conditions.empty() ? "" : ",", phase, kBefore);
  }
  return fmt::format(R"({{"state":{{"phase":"{}","lastTransitionTime":"{}"}},"conditions":[{}]{}{}}})", phases.back(),
                     kBefore, conditions, more.empty() ? "" : ",", more);
}

Planted Plant(Kubernetes& kube, const LeftJob& job) {
  Planted planted;
  planted.uid = UidOf(kube.Create(
      JobPath(), Parsed(fmt::format(R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}",
      "namespace":"default"}},"spec":{}}})",
                                    job.name, SpecOf(job)))));
  const std::string group = job.group == LeftGroup::kOld ? job.name : fmt::format("{}-{}", job.name, planted.uid);
  if (job.group != LeftGroup::kNone) {
    planted.group = group;
    planted.group_uid = UidOf(kube.Create(GroupPath(), Parsed(GroupOf(job, planted.uid, group))));
  }
  if (job.plugins) PlantObjects(kube, job, planted);
  if (!job.claim.empty()) {
    kube.Merge(JobPath(job.name), Parsed(fmt::format(R"({{"spec":{{"volumes":{}}}}})", VolumesOf(job.claim))));
    const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    planted.uids[claims + "/" + job.claim] = UidOf(kube.Create(
        claims, Parsed(fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}",
        "namespace":"default","ownerReferences":{}}},"spec":{{"accessModes":["ReadWriteOnce"],
        "resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
                                   job.claim, OwnerOf(job.name, planted.uid)))));
  }
  for (const LeftPod& pod : job.pods) {
    const std::string name = fmt::format("{}-work-{}", job.name, pod.index);
    planted.uids[PodPath(name)] = UidOf(kube.Create(PodPath(), Parsed(PodOf(job, planted.uid, group, pod))));
    if (!pod.phase.empty()) kube.SetPodPhase(name, pod.phase, pod.phase == "Failed" ? 1 : 0);
    if (pod.deleting) kube.Delete(PodPath(name), false);
  }
  kube.Merge(JobPath(job.name) + "/status", json::object{{"status", Parsed(job.status)}});
  return planted;
}

void PlantQueues(Kubernetes& kube) {
  const std::string queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
  for (const char* name : {"root", "default"}) {
    kube.Create(queues, Parsed(fmt::format(R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue",
        "metadata":{{"name":"{}"}},"spec":{{"weight":1,"reclaimable":true{}}}}})",
                                           name, name == std::string_view("root") ? "" : R"(,"parent":"root")")));
    kube.Merge(fmt::format("{}/{}/status", queues, name), Parsed(R"({"status":{"state":"Open"}})"));
  }
}

std::string PlantPlainPod(Kubernetes& kube, const std::string& name) {
  const auto pod = [&](const std::string& metadata) {
    return Parsed(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"{}}},"spec":{{
        "schedulerName":"volcano","nodeName":"node-0","containers":[{{"name":"main","image":"busybox"}}]}}}})",
                              name, metadata));
  };
  const std::string uid = UidOf(kube.Create(PodPath(), pod("")));
  const std::string group = "podgroup-" + uid;
  kube.Create(GroupPath(), Parsed(fmt::format(R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup",
      "metadata":{{"name":"{}","ownerReferences":[{{"apiVersion":"v1","kind":"Pod","name":"{}","uid":"{}",
      "controller":true,"blockOwnerDeletion":true}}]}},"spec":{{"minMember":1,"queue":"default",
      "minResources":{{"pods":"1","count/pods":"1"}}}},"status":{{"phase":"Running"}}}})",
                                              group, name, uid)));
  kube.Merge(
      PodPath(name),
      json::object{{"metadata", json::object{{"annotations", json::object{{"scheduling.k8s.io/group-name", group}}}}}});
  kube.SetPodPhase(name, "Running");
  return group;
}

void PlantCommand(Kubernetes& kube, const std::string& job, const std::string& uid, const std::string& action) {
  const std::string owner = OwnerOf(job, uid);
  kube.Create("/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands",
              Parsed(fmt::format(R"({{"apiVersion":"bus.volcano.sh/v1alpha1","kind":"Command","metadata":{{
              "generateName":"{}-{}-","namespace":"default","ownerReferences":{}}},"action":"{}","target":{}}})",
                                 job, action == "ResumeJob" ? "resumejob" : "abortjob", owner, action,
                                 owner.substr(1, owner.size() - 2))));
}

}  // namespace basalt::coexistence
