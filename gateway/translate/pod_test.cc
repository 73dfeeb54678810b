#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/testing/proto_text.h"
#include "gateway/translate/decoder.h"
#include "gateway/translate/sample_pod.h"

namespace basalt::gateway {
namespace {

Decoded Decode(const std::string& text) {
  absl::StatusOr<Decoded> decoded = Decoder(ObjectKind::kPod).DecodeObject(text);
  EXPECT_TRUE(decoded.ok()) << decoded.status() << "\n" << text;
  return decoded.ok() ? *std::move(decoded) : Decoded();
}

kube::v1::Pod WithStatus(const std::string& status) {
  return Decode(R"({"metadata":{"name":"p","uid":"u","labels":{"volcano.sh/job-name":"j"}},"status":)" + status + "}")
      .object.pod();
}

TEST(PodTest, AJobPodIsProjectedWithoutGrouping) {
  const Decoded decoded = Decode(std::string(kSamplePod));
  EXPECT_EQ(decoded.error, "");
  EXPECT_EQ(testing::TextOf(decoded.object.pod()),
            R"(namespace: "ml-team"
name: "train-worker-17"
uid: "5f0c8c1e-52a6-4c36-9ad1-3c1f2c6f0a11"
resource_version: 48151623
creation_ms: 1767366245000
phase: POD_PHASE_RUNNING
owner_uid: "0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7"
owner_kind: "Job"
owner_api_version: "batch.volcano.sh/v1alpha1"
scheduler_name: "volcano"
priority_class_name: "batch-high"
node_name: "gpu-node-0042"
group_name: "train-0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7"
job_name: "train"
task: "worker"
job_version: 4
index: 17
partition: 3
all_ready: true
restarts: 2
job_uid_label: "0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7"
)");
}

TEST(PodTest, APlainPodCarriesWhatGroupingNeeds) {
  const Decoded decoded = Decode(
      R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{"b":"2","a":"1"},"annotations":{"x":"y"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Other","name":"o","uid":"1"},)"
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"2","controller":true}],"finalizers":["f"]},)"
      R"("spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"} } , "env":[]},{"name":"d"}],)"
      R"("initContainers":[{"name":"i","restartPolicy":"Always","resources":{}}],"overhead":{"cpu":"10m"},)"
      R"("schedulerName":"volcano"}})");
  EXPECT_EQ(decoded.error, "");
  const kube::v1::Pod& pod = decoded.object.pod();
  EXPECT_EQ(pod.owner_kind(), "ReplicaSet");
  EXPECT_EQ(pod.owner_uid(), "2");
  EXPECT_TRUE(pod.finalizers());
  ASSERT_TRUE(pod.has_grouping());
  EXPECT_EQ(pod.grouping().owner_references_size(), 2);
  ASSERT_EQ(pod.grouping().labels_size(), 2);
  EXPECT_EQ(pod.grouping().labels(0).key(), "a");
  EXPECT_EQ(pod.grouping().annotations(0).value(), "y");
  EXPECT_EQ(pod.grouping().spec_json(),
            R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"} }},{"name":"d"}],)"
            R"("initContainers":[{"name":"i","restartPolicy":"Always","resources":{}}],"overhead":{"cpu":"10m"}})");
}

TEST(PodTest, GroupingDependsOnTheLabelAloneInAnyOrderOfMembers) {
  const std::string spec = R"("spec":{"containers":[{"name":"c"}]})";
  const std::string labelled = R"("metadata":{"name":"p","uid":"u","labels":{"volcano.sh/job-name":"j"}})";
  const std::string annotated = R"("metadata":{"name":"p","uid":"u","annotations":{"volcano.sh/job-name":"j"}})";
  for (const std::string& text : {"{" + spec + "," + labelled + "}", "{" + labelled + "," + spec + "}"}) {
    EXPECT_FALSE(Decode(text).object.pod().has_grouping()) << text;
  }
  for (const std::string& text : {"{" + spec + "," + annotated + "}", "{" + annotated + "," + spec + "}"}) {
    const kube::v1::Pod pod = Decode(text).object.pod();
    EXPECT_EQ(pod.grouping().spec_json(), R"({"containers":[{"name":"c"}]})") << text;
    EXPECT_EQ(pod.job_name(), "j");
  }
}

struct StatusCase {
  std::string_view what;
  std::string status;
  int exit_code;
  std::string_view reason;
  int64_t finished_ms;
  bool all_ready;
  int restarts;
};

TEST(PodTest, TheExitIsTakenFromAllTerminatedContainers) {
  const auto ended = [](int code, std::string_view reason, int second) {
    return R"({"ready":false,"restartCount":1,"state":{"terminated":{"exitCode":)" + std::to_string(code) +
           R"(,"reason":")" + std::string(reason) + R"(","finishedAt":"1970-01-01T00:00:0)" + std::to_string(second) +
           R"(Z"}}})";
  };
  const std::string ready = R"({"ready":true,"restartCount":0,"state":{"running":{}}})";
  const std::vector<StatusCase> cases = {
      {"no containers yet", R"({"phase":"Pending"})", 0, "", 0, false, 0},
      {"null lists", R"({"containerStatuses":null,"initContainerStatuses":null})", 0, "", 0, false, 0},
      {"one that failed", R"({"containerStatuses":[)" + ended(3, "Error", 4) + "]}", 3, "Error", 4000, false, 1},
      {"a sidecar that ended well comes first",
       R"({"containerStatuses":[)" + ended(0, "Completed", 5) + "," + ended(7, "OOMKilled", 4) + "]}", 7, "OOMKilled",
       5000, false, 2},
      {"the first of two failures",
       R"({"containerStatuses":[)" + ended(2, "Error", 1) + "," + ended(9, "Error", 2) + "]}", 2, "Error", 2000, false,
       2},
      {"an init container that failed",
       R"({"initContainerStatuses":[)" + ended(5, "Error", 3) + R"(],"containerStatuses":[{"ready":false}]})", 5,
       "Error", 3000, false, 1},
      {"a container proper goes before an init one",
       R"({"initContainerStatuses":[)" + ended(5, "Error", 3) + R"(],"containerStatuses":[)" + ended(6, "X", 2) + "]}",
       6, "X", 3000, false, 2},
      {"the pod's own reason wins", R"({"reason":"Evicted","containerStatuses":[)" + ended(137, "Error", 1) + "]}", 137,
       "Evicted", 1000, false, 1},
      {"one that waits",
       R"({"containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}},)"
       R"({"state":{"waiting":{"reason":"ImagePullBackOff","message":"m"}}}]})",
       0, "ImagePullBackOff", 0, false, 0},
      {"an init container that waits, while the others wait for it",
       R"({"initContainerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull"}}}],)"
       R"("containerStatuses":[{"state":{"waiting":{"reason":"PodInitializing"}}}]})",
       0, "ErrImagePull", 0, false, 0},
      {"what failed goes before what waits",
       R"({"containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}},)" + ended(4, "Error", 1) + "]}", 4,
       "Error", 1000, false, 1},
      {"all ready", R"({"containerStatuses":[)" + ready + "," + ready + "]}", 0, "", 0, true, 0},
      {"one not ready", R"({"containerStatuses":[)" + ready + R"(,{"ready":false}]})", 0, "", 0, false, 0},
      {"the last state does not count",
       R"({"containerStatuses":[{"ready":true,"restartCount":4,"state":{"running":{}},)"
       R"("lastState":{"terminated":{"exitCode":3,"finishedAt":"1970-01-01T00:00:09Z"}}}]})",
       0, "", 0, true, 4},
  };
  for (const StatusCase& c : cases) {
    const kube::v1::Pod pod = WithStatus(c.status);
    EXPECT_EQ(pod.exit_code(), c.exit_code) << c.what;
    EXPECT_EQ(pod.reason(), c.reason) << c.what;
    EXPECT_EQ(pod.finished_ms(), c.finished_ms) << c.what;
    EXPECT_EQ(pod.all_ready(), c.all_ready) << c.what;
    EXPECT_EQ(pod.restarts(), c.restarts) << c.what;
  }
}

TEST(PodTest, HowAContainerEndedBeforeItsRestartIsToldApart) {
  const auto was = [](int code) {
    return R"({"restartCount":1,"state":{"running":{}},"lastState":{"terminated":{"exitCode":)" + std::to_string(code) +
           "}}}";
  };
  const std::pair<std::string, int> rows[] = {
      {R"({"containerStatuses":[)" + was(0) + "," + was(3) + "," + was(4) + "]}", 3},
      {R"({"initContainerStatuses":[)" + was(5) + R"(],"containerStatuses":[)" + was(6) + "]}", 6},
      {R"({"initContainerStatuses":[)" + was(5) + "]}", 5},
      {R"({"containerStatuses":[{"lastState":{}},{"lastState":null}]})", 0},
  };
  for (const auto& [status, code] : rows) {
    EXPECT_EQ(WithStatus(status).last_exit_code(), code) << status;
    EXPECT_EQ(WithStatus(status).exit_code(), 0) << status;
  }
}

TEST(PodTest, ADisruptionIsReadWhereItsConditionHolds) {
  const auto condition = [](std::string_view type, std::string_view rest) {
    return R"({"type":")" + std::string(type) + R"(",)" + std::string(rest) + "}";
  };
  const std::string at = R"("lastTransitionTime":"1970-01-01T00:00:04Z")";
  struct Row {
    std::string conditions;
    std::string_view reason;
    int64_t since_ms;
  };
  const Row rows[] = {
      {"[]", "", 0},
      {"null", "", 0},
      {"[" + condition("Ready", R"("status":"True","reason":"R",)" + at) + "]", "", 0},
      {"[" + condition("DisruptionTarget", R"("status":"False","reason":"R",)" + at) + "]", "", 0},
      {"[" + condition("DisruptionTarget", at + R"(,"reason":"PreemptionByScheduler","status":"True")") + "," +
           condition("Ready", R"("status":"True","reason":"R","lastTransitionTime":null)") + "]",
       "PreemptionByScheduler", 4000},
      {"[" + condition("DisruptionTarget", R"("status":"True","lastTransitionTime":null)") + "]", "Unknown", 0},
  };
  for (const Row& row : rows) {
    const kube::v1::Pod pod = WithStatus(R"({"phase":"Failed","conditions":)" + row.conditions + "}");
    EXPECT_EQ(pod.disruption_reason(), row.reason) << row.conditions;
    EXPECT_EQ(pod.disruption_ms(), row.since_ms) << row.conditions;
  }
}

// This also holds after a later request has cut the grace period short: Kubernetes then moves both.
TEST(PodTest, WhenItsDeletionWasAskedForIsTheGracePeriodBeforeItsTimestamp) {
  const auto deletion_ms = [](const std::string& meta) {
    return Decode(R"({"metadata":{"name":"p","uid":"u")" + meta + "}}").object.pod().deletion_ms();
  };
  const std::string at = R"(,"deletionTimestamp":"1970-01-01T00:00:43Z")";
  EXPECT_EQ(deletion_ms(""), 0);
  EXPECT_EQ(deletion_ms(at), 43'000);
  EXPECT_EQ(deletion_ms(at + R"(,"deletionGracePeriodSeconds":0)"), 43'000);
  EXPECT_EQ(deletion_ms(at + R"(,"deletionGracePeriodSeconds":30)"), 13'000);
  // The pod is being deleted, whatever the numbers are.
  EXPECT_GT(deletion_ms(at + R"(,"deletionGracePeriodSeconds":43)"), 0);
  EXPECT_GT(deletion_ms(at + R"(,"deletionGracePeriodSeconds":9223372036854775807)"), 0);
}

TEST(PodTest, JobMarksThatAreNoNumbersAreAbsent) {
  const kube::v1::Pod pod =
      Decode(R"({"metadata":{"name":"p","uid":"u","labels":{"volcano.sh/job-name":"","volcano.sh/partition-id":"x"},)"
             R"("annotations":{"volcano.sh/job-name":"j","volcano.sh/job-version":"99999999999",)"
             R"("volcano.sh/task-index":"","volcano.sh/controller-out-of-sync":"false"}}})")
          .object.pod();
  EXPECT_EQ(pod.job_name(), "j");
  EXPECT_FALSE(pod.has_job_version());
  EXPECT_FALSE(pod.has_index());
  EXPECT_EQ(pod.partition(), 0);
  EXPECT_TRUE(pod.out_of_sync()) << "mere presence counts";
}

TEST(PodTest, WrongTypesAreNamedAndTheRestIsRead) {
  const Decoded decoded =
      Decode(R"({"metadata":{"name":"p","uid":"u","labels":[],"resourceVersion":"x","ownerReferences":[5]},)"
             R"("spec":"no","status":{"phase":"Done","containerStatuses":[{"restartCount":"2"}]}})");
  EXPECT_EQ(decoded.object.pod().name(), "p");
  EXPECT_EQ(decoded.error,
            "metadata.labels: expected an object, found a list; metadata.resourceVersion: expected a decimal number; "
            "metadata.ownerReferences[0]: expected an object, found a number; "
            "spec: expected an object, found a string");
}

}  // namespace
}  // namespace basalt::gateway
