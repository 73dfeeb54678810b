#include <gtest/gtest.h>

#include <functional>

#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/semantic_json.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobSpec;

struct Row {
  std::string name;
  std::function<void(JobSpec&)> change;
  std::string wanted;  // Empty if the change is allowed.
};

class ValidateUpdateTest : public testing::TestWithParam<Row> {};

JobSpec Stored() {
  JobSpec spec =
      TestJob("j", {{"a", 2, R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1000m"}}}]}})"},
                    {"b", 4}})
          .spec();
  spec.set_min_available(6);
  spec.set_queue("q");
  spec.mutable_tasks(0)->set_min_available(2);
  kube::v1::PartitionPolicy* policy = spec.mutable_tasks(1)->mutable_partition_policy();
  policy->set_total_partitions(2);
  policy->set_partition_size(2);
  for (const char* claim : {"", R"({"resources":{"requests":{"storage":"1Gi"}}})"}) {
    kube::v1::VolumeSpec* volume = spec.add_volumes();
    volume->set_mount_path("/v");
    volume->set_volume_claim_name("claim");
    volume->set_volume_claim_json(claim);
  }
  return spec;
}

TEST_P(ValidateUpdateTest, NamesRuleKindAndField) {
  JobSpec after = Stored();
  GetParam().change(after);
  std::string got;
  for (const Violation& violation : ValidateUpdate(Stored(), after)) {
    EXPECT_TRUE(got.empty());
    got = violation.rule + " " + std::string(ViolationKindName(violation.kind)) + " " + violation.field;
  }
  EXPECT_EQ(got, GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ValidateUpdateTest,
    testing::Values(
        Row{"Nothing", [](JobSpec&) {}, ""},
        Row{"Scaling",
            [](JobSpec& s) {
              s.mutable_tasks(0)->set_replicas(9);
              s.mutable_tasks(0)->clear_min_available();
              s.set_min_available(1);
              s.set_priority_class_name("high");
            },
            ""},
        Row{"ToZero",
            [](JobSpec& s) {
              s.mutable_tasks(0)->set_replicas(0);
              s.mutable_tasks(0)->set_min_available(0);
              s.set_min_available(0);
            },
            ""},
        Row{"U1Replicas", [](JobSpec& s) { s.mutable_tasks(0)->set_replicas(-1); },
            "U1 INVALID spec.tasks[0].replicas"},
        Row{"U1MinimumAboveReplicas", [](JobSpec& s) { s.mutable_tasks(0)->set_min_available(3); },
            "U1 INVALID spec.tasks[0].minAvailable"},
        Row{"U1MinimumNegative", [](JobSpec& s) { s.mutable_tasks(0)->set_min_available(-1); },
            "U1 INVALID spec.tasks[0].minAvailable"},
        Row{"U1PartitionedTasksDoNotScale", [](JobSpec& s) { s.mutable_tasks(1)->set_replicas(6); },
            "U1 INVALID spec.tasks[1].partitionPolicy"},
        Row{"U2", [](JobSpec& s) { s.set_min_available(7); }, "U2 INVALID spec.minAvailable"},
        Row{"U2Negative", [](JobSpec& s) { s.set_min_available(-1); }, "U2 INVALID spec.minAvailable"},
        Row{"U3",
            [](JobSpec& s) {
              s.mutable_network_topology()->set_highest_tier_allowed(1);
              s.mutable_network_topology()->set_highest_tier_name("rack");
            },
            "U3 CONFLICT spec.networkTopology"},
        Row{"U4", [](JobSpec& s) { s.add_tasks(); }, "U4 IMMUTABLE spec.tasks"},
        Row{"U5Queue", [](JobSpec& s) { s.set_queue("r"); }, "U5 IMMUTABLE spec.queue"},
        Row{"U5MinSuccess", [](JobSpec& s) { s.set_min_success(1); }, "U5 IMMUTABLE spec.minSuccess"},
        Row{"U5Ttl", [](JobSpec& s) { s.set_ttl_seconds_after_finished(0); },
            "U5 IMMUTABLE spec.ttlSecondsAfterFinished"},
        Row{"U5Policies", [](JobSpec& s) { s.add_policies(); }, "U5 IMMUTABLE spec.policies"},
        Row{"U5Plugins", [](JobSpec& s) { s.add_plugins()->set_name("svc"); }, "U5 IMMUTABLE spec.plugins"},
        Row{"U5TaskName", [](JobSpec& s) { s.mutable_tasks(1)->set_name("c"); }, "U5 IMMUTABLE spec.tasks[1].name"},
        Row{"U5Template",
            [](JobSpec& s) { s.mutable_tasks(0)->set_template_json(R"({"spec":{"containers":[{"name":"d"}]}})"); },
            "U5 IMMUTABLE spec.tasks[0].template"},
        Row{"U5SameTemplateInOtherWords",
            [](JobSpec& s) {
              s.mutable_tasks(0)->set_template_json(
                  R"({"metadata":{"creationTimestamp":null},"spec":{"containers":[{"resources":{"limits":{},"requests":{"cpu":1}},"name":"c","env":[]}]}})");
            },
            ""},
        Row{"U5ClaimNameWithAClaim", [](JobSpec& s) { s.mutable_volumes(1)->set_volume_claim_name("made-up"); }, ""},
        Row{"U5ClaimNameWithoutOne", [](JobSpec& s) { s.mutable_volumes(0)->set_volume_claim_name("other"); },
            "U5 IMMUTABLE spec.volumes[0].volumeClaimName"},
        Row{"U5SameClaimInOtherWords",
            [](JobSpec& s) {
              s.mutable_volumes(1)->set_volume_claim_json(R"({"resources":{"requests":{"storage":"1024Mi"}}})");
            },
            ""},
        Row{"U5ZeroMaxRetryIsAbsent", [](JobSpec& s) { s.set_max_retry(0); }, ""}),
    [](const auto& row) { return row.param.name; });

TEST(SemanticJsonTest, EqualityIsByMeaning) {
  struct Pair {
    std::string a;
    std::string b;
    bool equal;
  };
  for (const Pair& pair : {
           Pair{R"({"requests":{"cpu":"1"}})", R"({"requests":{"cpu":"1000m"}})", true},
           Pair{R"({"requests":{"cpu":"1"}})", R"({"requests":{"cpu":"2"}})", false},
           Pair{R"({"x":{"cpu":"1"}})", R"({"x":{"cpu":"1000m"}})", false},
           Pair{R"({"labels":{}})", R"({})", true},
           Pair{R"({"labels":null})", R"({})", true},
           Pair{R"({"env":[]})", R"({})", true},
           Pair{R"({"emptyDir":{}})", R"({})", false},
           Pair{R"({"emptyDir":{"sizeLimit":"1Gi"}})", R"({"emptyDir":{"sizeLimit":"1024Mi"}})", true},
           Pair{R"([1,2])", R"([2,1])", false},
           Pair{R"({"a":1})", R"({"a":1,"b":2})", false},
       }) {
    EXPECT_EQ(SemanticallyEqualTexts(pair.a, pair.b), pair.equal) << pair.a << " " << pair.b;
    EXPECT_EQ(SemanticallyEqualTexts(pair.b, pair.a), pair.equal) << pair.b << " " << pair.a;
  }
  EXPECT_TRUE(SemanticallyEqualTexts("{", "{"));
  EXPECT_FALSE(SemanticallyEqualTexts("{", "{}"));
}

}  // namespace
}  // namespace basalt::jobsvc
