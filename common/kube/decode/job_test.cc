#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/kube/decode/decode_job.h"
#include "common/testing/proto_text.h"

namespace basalt::kube {
namespace {

kube::v1::Job Decode(const std::string& text) {
  absl::StatusOr<DecodedJob> decoded = DecodeStoredJob(text);
  EXPECT_TRUE(decoded.ok()) << decoded.status() << "\n" << text;
  if (!decoded.ok()) return {};
  // Put the errors into the message as the gateway does.
  for (const std::string& error : decoded->errors) {
    *decoded->job.mutable_decode_error() += (decoded->job.decode_error().empty() ? "" : "; ") + error;
  }
  return decoded->job;
}

kube::v1::Job WithSpec(const std::string& spec) {
  return Decode(R"({"metadata":{"name":"j","namespace":"n","uid":"u","resourceVersion":"1"},"spec":)" + spec + "}");
}

TEST(JobTest, ReadsEveryFieldOfTheSpec) {
  const kube::v1::Job job = WithSpec(
      R"({"schedulerName":"volcano","minAvailable":3,"queue":"q","maxRetry":5,"ttlSecondsAfterFinished":0,)"
      R"("priorityClassName":"pc","minSuccess":1,"runningEstimate":"1h","networkTopology":{"mode":"soft",)"
      R"("highestTierAllowed":2},"plugins":{"svc":["--publish-not-ready-addresses=true"],"env":[],"ssh":null},)"
      R"("volumes":[{"mountPath":"/d","volumeClaimName":"c","volumeClaim":{"accessModes":["RWO"], "x":1} }],)"
      R"("policies":[{"event":"PodEvicted","events":["PodFailed","PodEvicted"],"action":"RestartJob","timeout":"1m30s"},)"
      R"({"exitCode":3,"action":"AbortJob"}],"tasks":[{"name":"t","replicas":2,"minAvailable":1,"maxRetry":-1,)"
      R"("topologyPolicy":"restricted","dependsOn":{"name":["a","b"],"iteration":"any"},)"
      R"("partitionPolicy":{"totalPartitions":2,"partitionSize":1,"minPartitions":1,"networkTopology":{"mode":"hard"}},)"
      R"("policies":[{"event":"TaskCompleted","action":"CompleteJob"}],)"
      R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"unknownField":[1,2,{"x":"}"}]} }}]})");
  EXPECT_EQ(job.decode_error(), "");
  EXPECT_EQ(testing::TextOf(job.spec()), R"(scheduler_name: "volcano"
min_available: 3
volumes {
  mount_path: "/d"
  volume_claim_name: "c"
  volume_claim_json: "{\"accessModes\":[\"RWO\"], \"x\":1}"
}
tasks {
  name: "t"
  replicas: 2
  min_available: 1
  template_json: "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"unknownField\":[1,2,{\"x\":\"}\"}]} }"
  policies {
    action: "CompleteJob"
    events: "TaskCompleted"
  }
  topology_policy: "restricted"
  max_retry: -1
  depends_on {
    names: "a"
    names: "b"
    iteration: "any"
  }
  partition_policy {
    total_partitions: 2
    partition_size: 1
    min_partitions: 1
    network_topology {
      mode: "hard"
    }
  }
}
policies {
  action: "RestartJob"
  events: "PodFailed"
  events: "PodEvicted"
  timeout_ms: 90000
}
policies {
  action: "AbortJob"
  exit_code: 3
}
plugins {
  name: "env"
}
plugins {
  name: "ssh"
}
plugins {
  name: "svc"
  arguments: "--publish-not-ready-addresses=true"
}
running_estimate: "1h"
queue: "q"
max_retry: 5
ttl_seconds_after_finished: 0
priority_class_name: "pc"
min_success: 1
network_topology {
  mode: "soft"
  highest_tier_allowed: 2
}
)");
}

// The rules are those of job spec 14, S4 to S6.
TEST(JobTest, WordsOfDocumentsForUsersAreThoseOfTheWire) {
  const kube::v1::Job job = WithSpec(
      R"({"policies":[{"event":"Any"},{"event":"*","events":["JobUnknown","Any","PodFailed"]},{"events":["any"]}],)"
      R"("tasks":[{"policies":[{"event":"JobUnknown"}],"dependsOn":{"iteration":"IterationAny"}},)"
      R"({"dependsOn":{"iteration":"IterationAll"}},{"dependsOn":{"iteration":"iterationany"}}]})");
  EXPECT_EQ(job.decode_error(), "");
  const auto events = [](const kube::v1::LifecyclePolicy& policy) {
    return std::vector<std::string>(policy.events().begin(), policy.events().end());
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(events(job.spec().policies(0)), Words{"*"});
  EXPECT_EQ(events(job.spec().policies(1)), (Words{"Unknown", "*", "PodFailed"}));
  EXPECT_EQ(events(job.spec().policies(2)), Words{"any"}) << "is no word of anybody's";
  EXPECT_EQ(events(job.spec().tasks(0).policies(0)), Words{"Unknown"});
  EXPECT_EQ(job.spec().tasks(0).depends_on().iteration(), "any");
  EXPECT_EQ(job.spec().tasks(1).depends_on().iteration(), "all");
  EXPECT_EQ(job.spec().tasks(2).depends_on().iteration(), "iterationany");
}

TEST(JobTest, ReadsEveryFieldOfTheStatus) {
  const kube::v1::Job job = Decode(
      R"({"metadata":{"name":"j","uid":"u"},"status":{"state":{"phase":"Running","reason":"r","message":"m",)"
      R"("lastTransitionTime":"1970-01-01T00:00:05Z"},"minAvailable":3,"taskStatusCount":{"w":{"phase":{"Running":2,)"
      R"("Failed":1}},"m":{"phase":null}},"pending":1,"running":2,"succeeded":3,"failed":4,"terminating":5,"unknown":6,)"
      R"("version":7,"retryCount":8,"runningDuration":"3s","controlledResources":{"plugin-svc":"svc","basalt":"{}"},)"
      R"("conditions":[{"status":"Pending","lastTransitionTime":"1970-01-01T00:00:01Z"},)"
      R"({"status":"Running","lastTransitionTime":null}]}})");
  EXPECT_EQ(job.decode_error(), "");
  EXPECT_EQ(testing::TextOf(job.status()), R"(phase: JOB_PHASE_RUNNING
reason: "r"
message: "m"
last_transition_ms: 5000
min_available: 3
task_status_count {
  task: "m"
  counts {
  }
}
task_status_count {
  task: "w"
  counts {
    running: 2
    failed: 1
  }
}
counts {
  pending: 1
  running: 2
  succeeded: 3
  failed: 4
  unknown: 6
  terminating: 5
}
version: 7
retry_count: 8
running_duration: "3s"
controlled_resources {
  key: "basalt"
  value: "{}"
}
controlled_resources {
  key: "plugin-svc"
  value: "svc"
}
conditions {
  phase: JOB_PHASE_PENDING
  last_transition_ms: 1000
}
conditions {
  phase: JOB_PHASE_RUNNING
}
)");
}

TEST(JobTest, ReadsTheMetadataSortedAndUnique) {
  const kube::v1::Job job =
      Decode(R"({"metadata":{"name":"j","namespace":"n","uid":"u","resourceVersion":"42","generation":3,)"
             R"("creationTimestamp":"1970-01-01T00:00:01Z","deletionTimestamp":"1970-01-01T00:00:02Z",)"
             R"("labels":{"b":"1","a":"2","b":"3"},"annotations":{"x\u0041":"line\nbreak"}}})");
  EXPECT_EQ(testing::TextOf(job.meta()), R"(namespace: "n"
name: "j"
uid: "u"
resource_version: 42
generation: 3
creation_ms: 1000
deletion_ms: 2000
labels {
  key: "a"
  value: "2"
}
labels {
  key: "b"
  value: "3"
}
annotations {
  key: "xA"
  value: "line\nbreak"
}
)");
}

struct ErrorCase {
  std::string spec;
  std::string_view error;
};

TEST(JobTest, AnUnreadableFieldIsNamedAndNeverLosesTheJob) {
  const std::vector<ErrorCase> cases = {
      {"5", "spec: expected an object, found a number"},
      {R"({"minAvailable":"3"})", "spec.minAvailable: expected a number, found a string"},
      {R"({"minAvailable":1.5})", "spec.minAvailable: expected a whole number"},
      {R"({"minAvailable":3000000000})", "spec.minAvailable: 3000000000 is not between -2147483648 and 2147483647"},
      {R"({"minAvailable":99999999999999999999})", "spec.minAvailable: expected a whole number"},
      {R"({"tasks":{}})", "spec.tasks: expected a list, found an object"},
      {R"({"tasks":[{"name":"a"},{"template":[]}]})", "spec.tasks[1].template: expected an object, found a list"},
      {R"({"tasks":[true]})", "spec.tasks[0]: expected an object, found a boolean"},
      {R"({"policies":[{"timeout":"soon"}]})",
       "spec.policies[0].timeout: 'soon' is not a duration: each part is a number and a unit"},
      {R"({"policies":[{"timeout":5}]})", "spec.policies[0].timeout: expected a string, found a number"},
      {R"({"plugins":{"svc":"x"}})", "spec.plugins.svc: expected a list, found a string"},
      {R"({"volumes":[{"mountPath":{}}]})", "spec.volumes[0].mountPath: expected a string, found an object"},
      {R"({"tasks":[{"dependsOn":{"name":"a"}}]})", "spec.tasks[0].dependsOn.name: expected a list, found a string"},
  };
  for (const ErrorCase& c : cases) {
    const kube::v1::Job job = WithSpec(c.spec);
    EXPECT_EQ(job.decode_error(), c.error) << c.spec;
    EXPECT_EQ(job.meta().name(), "j") << c.spec;
    EXPECT_EQ(job.meta().resource_version(), 1) << c.spec;
  }
}

TEST(JobTest, FieldsAfterAnErrorAreStillRead) {
  const kube::v1::Job job = WithSpec(
      R"({"minAvailable":{"deep":[1,{"x":2}]},"tasks":[{"replicas":"x","name":"t"}],"queue":"q","maxRetry":2.0})");
  EXPECT_EQ(job.spec().queue(), "q");
  EXPECT_EQ(job.spec().max_retry(), 2);
  EXPECT_EQ(job.spec().tasks(0).name(), "t");
  EXPECT_NE(job.decode_error(), "");
}

TEST(JobTest, NullIsAbsent) {
  const kube::v1::Job job = WithSpec(
      R"({"minAvailable":null,"tasks":null,"policies":null,"plugins":null,"networkTopology":null,"queue":null,)"
      R"("volumes":[{"volumeClaim":null}],"minSuccess":null})");
  EXPECT_EQ(job.decode_error(), "");
  EXPECT_FALSE(job.spec().has_min_available());
  EXPECT_FALSE(job.spec().has_network_topology());
  EXPECT_EQ(job.spec().volumes(0).volume_claim_json(), "");
}

TEST(JobTest, AnUnknownPhaseIsAnError) {
  const kube::v1::Job job = Decode(R"({"metadata":{"name":"j","uid":"u"},"status":{"state":{"phase":"Sleeping"}}})");
  EXPECT_EQ(job.decode_error(), "status.state.phase: 'Sleeping' is not a phase");
}

TEST(JobTest, AShortTimeoutStaysATimeout) {
  EXPECT_EQ(WithSpec(R"({"policies":[{"timeout":"1us"}]})").spec().policies(0).timeout_ms(), 1);
  EXPECT_EQ(WithSpec(R"({"policies":[{"timeout":"0s"}]})").spec().policies(0).timeout_ms(), 0);
  EXPECT_FALSE(WithSpec(R"({"policies":[{"timeout":null}]})").spec().policies(0).has_timeout_ms());
}

TEST(JobTest, AForeignTextInAMessageIsCutBetweenCharactersAndHasNoControlCharacters) {
  std::string phase = "\\u001b[2J";
  for (int i = 0; i < 100; ++i) phase += "é";
  const kube::v1::Job job =
      Decode(R"({"metadata":{"name":"j","uid":"u"},"status":{"state":{"phase":")" + phase + R"("}}})");
  EXPECT_EQ(job.decode_error().substr(0, 29), "status.state.phase: '?[2Jéé");
  // Protobuf would refuse a message with half a character on its way from the gateway to a service.
  kube::v1::Job received;
  EXPECT_TRUE(received.ParseFromString(job.SerializeAsString()));
}

TEST(WrittenJobTest, AFieldThatDoesNotExistIsNamedWhereItStands) {
  const auto decoded = DecodeWrittenJob(
      R"({"kind":"Job","apiVersion":"a/b","owner":1,"metadata":{"name":"j","anything":true},"spec":{"replicas":1,)"
      R"("networkTopology":{"tier":1},"volumes":[{"path":"/"}],"policies":[{"acton":"x"}],"plugins":{"any":[]},)"
      R"("tasks":[{"name":"t","dependsOn":{"names":[]},"partitionPolicy":{"size":1,"networkTopology":null},)"
      R"("networkTopology":null,"template":{"spec":{"anything":1}}}]}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->kind, "Job");
  EXPECT_EQ(decoded->api_version, "a/b");
  const std::vector<std::string> paths = {"owner",
                                          "spec.replicas",
                                          "spec.networkTopology.tier",
                                          "spec.volumes[0].path",
                                          "spec.policies[0].acton",
                                          "spec.tasks[0].dependsOn.names",
                                          "spec.tasks[0].partitionPolicy.size",
                                          "spec.tasks[0].networkTopology"};
  ASSERT_EQ(decoded->errors.size(), paths.size());
  for (size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(decoded->errors[i], paths[i] + ": there is no such field");
}

TEST(WrittenJobTest, ANullInAListIsAnErrorAndElsewhereIsAbsent) {
  const auto decoded = DecodeWrittenJob(R"({"spec":{"tasks":[null,{"name":"t","policies":[null]}],"queue":null}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->errors, (std::vector<std::string>{"spec.tasks[0]: must not be null",
                                                       "spec.tasks[1].policies[0]: must not be null"}));
}

TEST(WrittenJobTest, ManyErrorsAreToldUpToABound) {
  std::string spec;
  for (int i = 0; i < 100; ++i) spec += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":1";
  const auto decoded = DecodeWrittenJob("{\"spec\":{" + spec + "}}");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->errors.size(), 20u);
}

TEST(WrittenJobTest, ATextThatIsNoObjectIsRefused) {
  for (const char* text : {"", "5", "[]", "{", "null", R"("text")", "{\"spec\":\"\xff\"}"}) {
    EXPECT_EQ(DecodeWrittenJob(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace basalt::kube
