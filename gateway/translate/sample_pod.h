#pragma once

// A pod of a Volcano Job as an API server sends it, about 4.6 KB.
#include <string_view>

namespace basalt::gateway {

inline constexpr std::string_view kSamplePod =
    R"json({"kind":"Pod","apiVersion":"v1","metadata":{"name":"train-worker-17","namespace":"ml-team","uid":"5f)json"
    R"json(0c8c1e-52a6-4c36-9ad1-3c1f2c6f0a11","resourceVersion":"48151623","creationTimestamp":"2026-01-02T15:)json"
    R"json(04:05Z","labels":{"basalt.dev/job-uid":"0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7","volcano.sh/job-name":)json"
    R"json("train","volcano.sh/job-namespace":"ml-team","volcano.sh/partition-id":"3","volcano.sh/queue-name":")json"
    R"json(research","volcano.sh/task-index":"17","volcano.sh/task-spec":"worker"},"annotations":{"scheduling.k)json"
    R"json(8s.io/group-name":"train-0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7","volcano.sh/job-name":"train","volcan)json"
    R"json(o.sh/job-retry-count":"0","volcano.sh/job-version":"4","volcano.sh/queue-name":"research","volcano.s)json"
    R"json(h/task-index":"17","volcano.sh/task-spec":"worker","volcano.sh/template-uid":"train-worker"},"ownerR)json"
    R"json(eferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"train","uid":"0d7c1a52-8f)json"
    R"json(1b-4f0e-a3a5-94a0f0d2b1c7","controller":true,"blockOwnerDeletion":true}],"managedFields":[{"manager")json"
    R"json(:"basalt","operation":"Update","apiVersion":"v1","time":"2026-01-02T15:04:05Z","fieldsType":"FieldsV)json"
    R"json(1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:scheduling.k8s.io/group-name":{},"f:volcano.)json"
    R"json(sh/job-name":{},"f:volcano.sh/job-version":{},"f:volcano.sh/task-index":{},"f:volcano.sh/task-spec":)json"
    R"json({}},"f:labels":{".":{},"f:volcano.sh/job-name":{},"f:volcano.sh/task-spec":{}},"f:ownerReferences":{)json"
    R"json(".":{},"k:{\"uid\":\"0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7\"}":{}}},"f:spec":{"f:containers":{"k:{\"n)json"
    R"json(ame\":\"main\"}":{".":{},"f:command":{},"f:env":{".":{},"k:{\"name\":\"VC_TASK_INDEX\"}":{".":{},"f:)json"
    R"json(name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:req)json"
    R"json(uests":{".":{},"f:cpu":{},"f:memory":{}}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":)json"
    R"json({}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-01-02T15:04:09Z","fie)json"
    R"json(ldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:stat)json"
    R"json(us":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}},"subres)json"
    R"json(ource":"status"}]},"spec":{"volumes":[{"name":"kube-api-access-x7x2k","projected":{"sources":[{"serv)json"
    R"json(iceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt",)json"
    R"json("items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef")json"
    R"json(:{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name)json"
    R"json(":"main","image":"registry.example.com/ml/train:2026.01","command":["python","-m","train","--epochs=)json"
    R"json(90","--data=/data"],"env":[{"name":"VC_TASK_INDEX","value":"17"},{"name":"VK_TASK_INDEX","value":"17)json"
    R"json("},{"name":"VC_WORKER_NUM","value":"64"},{"name":"NCCL_DEBUG","value":"INFO"}],"resources":{"limits")json"
    R"json(:{"cpu":"8","memory":"64Gi","nvidia.com/gpu":"1"},"requests":{"cpu":"8","memory":"64Gi","nvidia.com/)json"
    R"json(gpu":"1"}},"volumeMounts":[{"name":"kube-api-access-x7x2k","readOnly":true,"mountPath":"/var/run/sec)json"
    R"json(rets/kubernetes.io/serviceaccount"}],"terminationMessagePath":"/dev/termination-log","terminationMes)json"
    R"json(sagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Never","terminationGracePerio)json"
    R"json(dSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","n)json"
    R"json(odeName":"gpu-node-0042","securityContext":{},"hostname":"train-worker-17","subdomain":"train","sche)json"
    R"json(dulerName":"volcano","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effec)json"
    R"json(t":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists",)json"
    R"json("effect":"NoExecute","tolerationSeconds":300}],"priorityClassName":"batch-high","priority":1000,"ena)json"
    R"json(bleServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","condit)json"
    R"json(ions":[{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T1)json"
    R"json(5:04:06Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T15:)json"
    R"json(04:09Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-0)json"
    R"json(1-02T15:04:09Z"},{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2)json"
    R"json(026-01-02T15:04:06Z"}],"hostIP":"10.11.12.13","hostIPs":[{"ip":"10.11.12.13"}],"podIP":"10.244.7.19")json"
    R"json(,"podIPs":[{"ip":"10.244.7.19"}],"startTime":"2026-01-02T15:04:06Z","containerStatuses":[{"name":"ma)json"
    R"json(in","state":{"running":{"startedAt":"2026-01-02T15:04:08Z"}},"lastState":{},"ready":true,"restartCou)json"
    R"json(nt":2,"image":"registry.example.com/ml/train:2026.01","imageID":"registry.example.com/ml/train@sha25)json"
    R"json(6:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","containerID":"containerd://4bf5)json"
    R"json(122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a","started":true}],"qosClass":"Guarantee)json"
    R"json(d"}})json";

}  // namespace basalt::gateway
