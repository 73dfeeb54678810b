#include "cli/preflight/checks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/preflight/report.h"
#include "common/base/status.h"

namespace basalt::cli {
namespace {

constexpr int64_t kNowMs = 1'800'000'000'000;  // 2027-01-15T08:00:00Z

// Answers GETs by their path alone. A review of access is denied for the verb and resource that the test forbids.
class ScriptedApi : public KubeApi {
 public:
  std::map<std::string, std::string> documents;
  std::string forbidden_verb, forbidden_resource;
  int review_status = 201;
  bool away = false;
  int reviews = 0;
  std::string reviewed_name;

  absl::StatusOr<KubeAnswer> Call(std::string method, std::string target, std::string body) override {
    if (away) return MakeStatus(absl::StatusCode::kUnavailable, "cannot connect");
    KubeAnswer answer;
    answer.now_ms = kNowMs;
    if (method == "POST") {
      ++reviews;
      const json::value review = *ParseJson(body);
      const json::value& wanted = *FindPath(review, {"spec", "resourceAttributes"});
      reviewed_name = FindString(wanted, "name");
      const bool denied =
          FindString(wanted, "verb") == forbidden_verb && FindString(wanted, "resource") == forbidden_resource;
      answer.status = review_status;
      answer.body = json::object{{"status", json::object{{"allowed", !denied}}}};
      return answer;
    }
    const auto found = documents.find(target.substr(0, target.find('?')));
    answer.status = found == documents.end() ? 404 : 200;
    if (found != documents.end()) answer.body = *ParseJson(found->second);
    return answer;
  }
};

Finding Of(const Findings& findings, std::string_view check) {
  for (const Finding& finding : findings) {
    if (finding.check == check) return finding;
  }
  ADD_FAILURE() << "no line about " << check;
  return {};
}

std::string Definition(std::string_view version, std::string_view properties) {
  return fmt::format(
      R"({{"metadata":{{"name":"jobs.batch.volcano.sh"}},"spec":{{"versions":[{{"name":"{}","served":true,
      "storage":true,"subresources":{{"status":{{}}}},"schema":{{"openAPIV3Schema":{{"properties":{}}}}}}}]}},
      "status":{{"conditions":[{{"type":"Established","status":"True"}}]}}}})",
      version, properties);
}

constexpr char kEverything[] = R"({"spec":{"x-kubernetes-preserve-unknown-fields":true},
    "status":{"properties":{"controlledResources":{},"state":{"properties":{"phase":{},"reason":{},"message":{}}},
    "conditions":{},"version":{},"retryCount":{},"taskStatusCount":{}}}})";

TEST(PreflightTest, ADefinitionIsJudgedByWhatItServesAndKeeps) {
  const auto check = [](const std::string& text) {
    const json::value definition = *ParseJson(text);
    return CheckDefinition("jobs.batch.volcano.sh", &definition);
  };
  EXPECT_EQ(CheckDefinition("jobs.batch.volcano.sh", nullptr).result, Result::kProblem);
  EXPECT_EQ(check(Definition("v1alpha1", kEverything)).result, Result::kOk);
  const Finding other = check(Definition("v2", kEverything));
  EXPECT_EQ(other.result, Result::kProblem);
  EXPECT_NE(other.what.find("v1alpha1 is not served"), std::string::npos) << other.what;
  std::string without = kEverything;
  without.erase(without.find(R"("controlledResources":{},)"), std::string_view(R"("controlledResources":{},)").size());
  const Finding drops = check(Definition("v1alpha1", without));
  EXPECT_EQ(drops.result, Result::kProblem);
  EXPECT_NE(drops.what.find("status.controlledResources"), std::string::npos) << drops.what;
  without = kEverything;
  without.erase(without.find(R"(,"message":{})"), std::string_view(R"(,"message":{})").size());
  EXPECT_EQ(check(Definition("v1alpha1", without)).result, Result::kWarning);
  std::string no_status = Definition("v1alpha1", kEverything);
  no_status.replace(no_status.find(R"("status":{})"), std::string_view(R"("status":{})").size(), R"("scale":{})");
  EXPECT_NE(check(no_status).what.find("no status sub-resource"), std::string::npos);
  std::string pending = Definition("v1alpha1", kEverything);
  pending.replace(pending.find(R"("True")"), 6, R"("False")");
  EXPECT_NE(check(pending).what.find("not established"), std::string::npos);
}

TEST(PreflightTest, AListOfControllersSwitchesOnWhatItNames) {
  constexpr std::string_view kDefault = "*,-sharding-controller";
  EXPECT_TRUE(SwitchesOn(kDefault, "job-controller"));
  EXPECT_FALSE(SwitchesOn(kDefault, "sharding-controller"));
  EXPECT_FALSE(SwitchesOn("*,-job-controller", "job-controller"));
  EXPECT_TRUE(SwitchesOn("*,-job-controller", "gc-controller"));
  EXPECT_FALSE(SwitchesOn("queue-controller", "job-controller"));
  EXPECT_TRUE(SwitchesOn("queue-controller,+job-controller", "job-controller"));
}

TEST(PreflightTest, RivalsFollowFromTheFlagsHoweverTheyAreWritten) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Rivals({"--logtostderr"}), (Texts{"job-controller", "gc-controller", "pg-controller", "queue-controller"}));
  EXPECT_EQ(Rivals({"--controllers=*,-job-controller,-gc-controller"}), (Texts{"pg-controller", "queue-controller"}));
  EXPECT_EQ(Rivals({"--controllers", "jobflow-controller"}), Texts{});
  EXPECT_EQ(Rivals({"/bin/sh", "-c", "/vc-controller-manager --controllers=\"queue-controller\" -v=4"}),
            Texts{"queue-controller"});
}

std::string Deployments(std::string_view arguments, int replicas = 1) {
  return fmt::format(R"({{"items":[{{"metadata":{{"namespace":"volcano-system","name":"volcano-controllers"}},
      "spec":{{"replicas":{},"template":{{"spec":{{"containers":[
      {{"image":"docker.io:5000/volcanosh/vc-controller-manager:v1.15@sha256:00","args":{}}}]}}}}}}}}]}})",
                     replicas, arguments);
}

std::string Leases(std::string_view renewed) {
  return fmt::format(R"({{"items":[{{"metadata":{{"namespace":"volcano-system","name":"vc-controller-manager"}},
      "spec":{{"holderIdentity":"node-7_abc","leaseDurationSeconds":15,"renewTime":"{}"}}}}]}})",
                     renewed);
}

constexpr char kDeployments[] = "/apis/apps/v1/deployments";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";
constexpr char kFresh[] = "2027-01-15T07:59:50.000000Z";
constexpr char kOld[] = "2027-01-15T07:59:40.000000Z";

Findings Controllers(const std::string& deployments, const std::string& leases) {
  ScriptedApi api;
  api.documents = {{kDeployments, deployments}, {kLeases, leases}};
  Findings findings;
  EXPECT_TRUE(CheckControllers(api, findings).ok());
  return findings;
}

TEST(PreflightTest, AnotherControllerIsFoundByItsDeploymentAndItsLease) {
  const std::string none = R"({"items":[]})";
  const std::string deployment = "Deployment volcano-system/volcano-controllers";
  const std::string lease = "Lease volcano-system/vc-controller-manager";
  EXPECT_EQ(Of(Controllers(none, none), "other controllers").result, Result::kOk);
  const Finding on = Of(Controllers(Deployments("[]"), none), deployment);
  EXPECT_EQ(on.result, Result::kProblem);
  EXPECT_NE(on.what.find("jobsvc, pgsvc, queuesvc would act on the same objects"), std::string::npos) << on.what;
  EXPECT_NE(on.cure.find("-job-controller"), std::string::npos);
  EXPECT_EQ(Of(Controllers(Deployments("[]", 0), none), deployment).result, Result::kOk);
  const std::string off =
      Deployments(R"(["--controllers=*,-job-controller,-gc-controller,-pg-controller,-queue-controller"])");
  EXPECT_EQ(Of(Controllers(off, Leases(kFresh)), deployment).result, Result::kOk);
  EXPECT_EQ(Of(Controllers(off, Leases(kFresh)), lease).result, Result::kOk);
  const std::string queues = Deployments(R"(["--controllers=*,-job-controller,-gc-controller,-pg-controller"])");
  EXPECT_EQ(Of(Controllers(queues, none), deployment).result, Result::kWarning);
  const Finding held = Of(Controllers(none, Leases(kFresh)), lease);
  EXPECT_EQ(held.result, Result::kProblem);
  EXPECT_NE(held.what.find("node-7_abc renews it"), std::string::npos) << held.what;
  EXPECT_EQ(Of(Controllers(none, Leases(kOld)), lease).result, Result::kOk);
}

TEST(PreflightTest, KaisPodGrouperIsFoundByItsLease) {
  const auto of = [](const char* renewed) {
    std::string leases = Leases(renewed);
    leases.replace(leases.find("vc-controller-manager"), 21, "54dff599.kai.scheduler");
    return Of(Controllers(R"({"items":[]})", leases), "Lease volcano-system/54dff599.kai.scheduler");
  };
  EXPECT_EQ(of(kOld).result, Result::kOk);
  const Finding active = of(kFresh);
  EXPECT_EQ(active.result, Result::kWarning);
  EXPECT_NE(active.cure.find("--kai_scheduler_name"), std::string::npos) << active.cure;
}

TEST(PreflightTest, EachRightIsAskedForAndAMissingOneIsNamed) {
  ScriptedApi api;
  Findings findings;
  ASSERT_TRUE(CheckRights(api, GatewayRights(), "system:serviceaccount:s:a", findings).ok());
  EXPECT_GT(api.reviews, 40);
  for (const Finding& finding : findings) EXPECT_EQ(finding.result, Result::kOk) << finding.check;
  findings.clear();
  api.forbidden_verb = "watch";
  api.forbidden_resource = "jobs";
  ASSERT_TRUE(CheckRights(api, GatewayRights(), "system:serviceaccount:s:a", findings).ok());
  const Finding missing = Of(findings, "right to jobs.batch.volcano.sh");
  EXPECT_EQ(missing.result, Result::kProblem);
  EXPECT_EQ(missing.what, "system:serviceaccount:s:a may not watch");
  findings.clear();
  api.review_status = 403;
  ASSERT_TRUE(CheckRights(api, GatewayRights(), "system:serviceaccount:s:a", findings).ok());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().result, Result::kUnchecked);
}

TEST(PreflightTest, TheRightToSetFinalizersOfOwnersIsAskedForAndItsWantIsAWarning) {
  ScriptedApi api;
  api.forbidden_verb = "update";
  api.forbidden_resource = "jobs";
  Findings findings;
  ASSERT_TRUE(CheckOwnerReferenceRights(api, "system:serviceaccount:s:a", findings).ok());
  const Finding missing = Of(findings, "right to jobs/finalizers.batch.volcano.sh");
  EXPECT_EQ(missing.result, Result::kWarning);
  EXPECT_NE(missing.what.find("may not update: where admission plugin"), std::string::npos) << missing.what;
  EXPECT_EQ(missing.cure, "kubectl apply -f deploy/rbac/owner-references");
  EXPECT_EQ(Of(findings, "right to pods/finalizers").result, Result::kOk);
}

TEST(PreflightTest, ARightOnOneObjectIsAskedForByItsName) {
  const auto rights = ReadRights(
      "kind: Role\nmetadata: {namespace: team}\nrules: [{apiGroups: [g], resources: [leases], resourceNames: [one], "
      "verbs: [get]}]\n");
  ASSERT_TRUE(rights.ok()) << rights.status();
  ASSERT_EQ(rights->size(), 1u);
  EXPECT_EQ(rights->front().name, "one");
  ScriptedApi api;
  Findings findings;
  ASSERT_TRUE(CheckRights(api, *rights, "a", findings).ok());
  EXPECT_EQ(api.reviewed_name, "one");
  EXPECT_EQ(Of(findings, "right to leases.g one in team").result, Result::kOk);
}

TEST(PreflightTest, ThePluginsRolesAreSaidToBeBoundWhereTheyAre) {
  ScriptedApi api;
  api.documents["/apis/rbac.authorization.k8s.io/v1/rolebindings"] =
      R"({"items":[{"metadata":{"namespace":"lab","name":"a"},"roleRef":{"name":"basalt-gateway-ssh"}},)"
      R"({"metadata":{"namespace":"team","name":"b"},"roleRef":{"name":"basalt-gateway-ssh"}},)"
      R"({"metadata":{"namespace":"team","name":"c"},"roleRef":{"name":"view"}}]})";
  Findings findings;
  ASSERT_TRUE(CheckPluginRights(api, findings).ok());
  EXPECT_EQ(Of(findings, "rights of plugin ssh").what, "bound in lab, team");
  const Finding missing = Of(findings, "rights of plugin svc");
  EXPECT_EQ(missing.result, Result::kWarning);
  EXPECT_NE(missing.cure.find("deploy/rbac/plugins/svc.yaml"), std::string::npos) << missing.cure;
  EXPECT_EQ(PluginRights().size(), 4u);
}

TEST(PreflightTest, AWebhookTakesWhatItsRulesName) {
  const Right patch{"batch.volcano.sh", "jobs", "", {"get", "patch"}};
  const Right status{"batch.volcano.sh", "jobs/status", "", {"patch"}};
  const Right removal{"", "pods", "", {"deletecollection"}};
  struct Row {
    const char* rule;
    bool patch, status, removal;
  };
  const Row rows[] = {
      {R"({"apiGroups":["batch.volcano.sh"],"resources":["jobs"],"operations":["UPDATE"]})", true, false, false},
      {R"({"apiGroups":["batch.volcano.sh"],"resources":["jobs"],"operations":["CREATE"]})", false, false, false},
      {R"({"apiGroups":["*"],"resources":["*/*"],"operations":["*"]})", true, true, true},
      {R"({"apiGroups":["*"],"resources":["*"],"operations":["DELETE"]})", false, false, true},
      {R"({"apiGroups":["batch.volcano.sh"],"resources":["jobs/*"],"operations":["UPDATE"]})", false, true, false},
      {R"({"apiGroups":["batch.volcano.sh"],"resources":["*/status"],"operations":["UPDATE"]})", false, true, false},
      {R"({"apiGroups":[""],"resources":["pods"],"operations":["CREATE"]})", false, false, false},
  };
  for (const Row& row : rows) {
    const json::value webhook = *ParseJson(fmt::format(R"({{"rules":[{}]}})", row.rule));
    EXPECT_EQ(Takes(webhook, patch), row.patch) << row.rule;
    EXPECT_EQ(Takes(webhook, status), row.status) << row.rule;
    EXPECT_EQ(Takes(webhook, removal), row.removal) << row.rule;
  }
}

constexpr char kSlices[] = "/apis/discovery.k8s.io/v1/namespaces/volcano-system/endpointslices";

TEST(PreflightTest, AWebhookThatNobodyAnswersIsAProblemWhereItFailsTheWrite) {
  struct Row {
    const char* policy;
    const char* slices;
    Result result;
  };
  const char* ready = R"({"items":[{"endpoints":[{"conditions":{"ready":true}}]}]})";
  const char* starting = R"({"items":[{"endpoints":[{"conditions":{"ready":false}}]}]})";
  const char* none = R"({"items":[]})";
  const Row rows[] = {{"Fail", ready, Result::kOk},
                      {"Fail", starting, Result::kProblem},
                      {"Fail", none, Result::kProblem},
                      {"Ignore", none, Result::kWarning}};
  for (const Row& row : rows) {
    ScriptedApi api;
    api.documents["/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"] = none;
    api.documents["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"] = fmt::format(
        R"({{"items":[{{"metadata":{{"name":"jobs"}},"webhooks":[{{"name":"validatejob.volcano.sh","failurePolicy":"{}",
        "clientConfig":{{"service":{{"namespace":"volcano-system","name":"admission"}}}},
        "rules":[{{"apiGroups":["batch.volcano.sh"],"resources":["jobs"],"operations":["CREATE"]}}]}}]}}]}})",
        row.policy);
    api.documents[kSlices] = row.slices;
    Findings findings;
    ASSERT_TRUE(CheckWebhooks(api, GatewayRights(), findings).ok());
    EXPECT_EQ(Of(findings, "webhook validatejob.volcano.sh").result, row.result) << row.policy << row.slices;
  }
}

TEST(PreflightTest, WithoutAdmissionPoliciesItSaysWhatIsToldAfterwards) {
  const std::string api_path = "/apis/admissionregistration.k8s.io/v1";
  ScriptedApi api;
  Findings old;
  ASSERT_TRUE(CheckAdmission(api, old).ok());
  api.documents[api_path] = R"({"resources":[{"name":"validatingadmissionpolicies"}]})";
  api.documents[api_path + "/validatingadmissionpolicies"] =
      R"({"items":[{"metadata":{"name":"jobs.basalt.dev"}},{"metadata":{"name":"jobs-new.basalt.dev"}}]})";
  // A policy without a binding has no effect.
  api.documents[api_path + "/validatingadmissionpolicybindings"] =
      R"({"items":[{"spec":{"policyName":"jobs.basalt.dev"}}]})";
  Findings between;
  ASSERT_TRUE(CheckAdmission(api, between).ok());
  api.documents[api_path] =
      R"({"resources":[{"name":"validatingadmissionpolicies"},{"name":"mutatingadmissionpolicies"}]})";
  api.documents[api_path + "/mutatingadmissionpolicies"] =
      R"({"items":[{"metadata":{"name":"jobs-defaults.basalt.dev"}},
      {"metadata":{"name":"jobs-defaults-kept.basalt.dev"}},
      {"metadata":{"name":"podgroups-queue.basalt.dev"}},{"metadata":{"name":"queues-defaults.basalt.dev"}},
      {"metadata":{"name":"queues-hierarchy.basalt.dev"}}]})";
  api.documents[api_path + "/mutatingadmissionpolicybindings"] =
      R"({"items":[{"spec":{"policyName":"jobs-defaults.basalt.dev"}},
      {"spec":{"policyName":"jobs-defaults-kept.basalt.dev"}},{"spec":{"policyName":"podgroups-queue.basalt.dev"}},
      {"spec":{"policyName":"queues-defaults.basalt.dev"}},{"spec":{"policyName":"queues-hierarchy.basalt.dev"}}]})";
  Findings all;
  ASSERT_TRUE(CheckAdmission(api, all).ok());

  const auto what = [](const Findings& findings, std::string_view check) {
    const Finding finding = Of(findings, check);
    EXPECT_EQ(finding.result, Result::kOk);
    return finding.what;
  };
  EXPECT_EQ(what(old, "validatingadmissionpolicies"),
            "not served in v1, which is so from Kubernetes 1.30; what the definitions do not refuse is refused by "
            "basaltctl, and of kubectl told afterwards: in the status of the job, as an Event");
  EXPECT_EQ(what(old, "mutatingadmissionpolicies"),
            "not served in v1, which is so from Kubernetes 1.36; defaults are not stored: jobs run by them all the "
            "same, and kubectl does not show them");
  EXPECT_TRUE(what(between, "validatingadmissionpolicies").starts_with("jobs-new.basalt.dev, "));
  EXPECT_EQ(Of(between, "validatingadmissionpolicies").cure, "kubectl apply -f deploy/admission");
  EXPECT_TRUE(what(between, "mutatingadmissionpolicies").starts_with("not served in v1"));
  EXPECT_EQ(what(all, "mutatingadmissionpolicies"), "those of deploy/admission are there");
}

TEST(PreflightTest, AllThatWouldBeTakenOverIsCounted) {
  ScriptedApi api;
  api.documents["/apis/batch.volcano.sh/v1alpha1/jobs"] = R"({"items":[
      {"metadata":{"namespace":"a","name":"x","uid":"1"},"status":{"state":{"phase":"Running"}}},
      {"metadata":{"namespace":"a","name":"y"},"status":{"state":{"phase":"Running"},"controlledResources":{"basalt":"{}"}}},
      {"metadata":{"namespace":"a","name":"t"},
        "spec":{"tasks":[{"policies":[{"event":"PodFailed","action":"AbortJob","timeout":"5m"}]}]}},
      {"metadata":{"namespace":"b","name":"z"},"spec":{"tasks":"none"}}]})";
  api.documents["/apis/scheduling.volcano.sh/v1beta1/podgroups"] = R"({"items":[
      {"metadata":{"name":"x-1","ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"x",
        "uid":"1","controller":true}]}},
      {"metadata":{"name":"y","ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"y",
        "uid":"2","controller":true}]}},
      {"metadata":{"name":"podgroup-77"}},{"metadata":{"name":"by-hand"}}]})";
  api.documents["/api/v1/pods"] = R"({"items":[
      {"metadata":{"namespace":"a","name":"p"},"status":{"phase":"Pending"}},
      {"metadata":{"namespace":"a","name":"done"},"status":{"phase":"Succeeded"}},
      {"metadata":{"name":"bound","annotations":{"scheduling.k8s.io/group-name":"podgroup-77"}}},
      {"metadata":{"name":"x-t-0","labels":{"volcano.sh/job-name":"x"}}}]})";
  Findings findings;
  ASSERT_TRUE(CheckTakeOver(api, {}, findings).ok());
  EXPECT_EQ(Of(findings, "jobs").what, "4 would be taken over as they are: 2 Running, 2 new; 1 were Basalt's before");
  const Finding unreadable = Of(findings, "jobs that cannot be read");
  EXPECT_EQ(unreadable.result, Result::kWarning);
  EXPECT_NE(unreadable.what.find("b/z: spec.tasks"), std::string::npos) << unreadable.what;
  EXPECT_EQ(Of(findings, "PodGroups").what,
            "kept as they are: 1 of jobs, 1 of jobs under their old name, 1 of others, 1 of plain pods");
  EXPECT_EQ(Of(findings, "plain pods").what, "1 have a group; 1 would get one: a/p");
}

TEST(PreflightTest, AServerThatDoesNotAnswerIsAnErrorAndNoFinding) {
  ScriptedApi api;
  api.away = true;
  EXPECT_EQ(Preflight(api, {}).status().code(), absl::StatusCode::kUnavailable);
}

TEST(PreflightTest, TheExitCodeTellsProblemsFromWhatCouldNotBeChecked) {
  const Finding ok{"a", Result::kOk, "", ""};
  const Finding warning{"b", Result::kWarning, "", ""};
  const Finding problem{"c", Result::kProblem, "bad\x1b[31m", "mend it"};
  const Finding unchecked{"d", Result::kUnchecked, "", ""};
  EXPECT_EQ(ExitCodeOf({ok, warning}), 0);
  EXPECT_EQ(ExitCodeOf({ok, problem, unchecked}), 1);
  EXPECT_EQ(ExitCodeOf({ok, unchecked}), 2);
  const std::string text = FormatFindings({ok, problem, unchecked}, "");
  EXPECT_EQ(text,
            "ok         a: \n"
            "problem    c: bad?[31m\n"
            "           -> mend it\n"
            "unchecked  d: \n"
            "1 to be cured before Basalt is started, 1 not checked.\n");
  const json::value all = *ParseJson(FormatFindings({ok, problem}, "json"));
  EXPECT_EQ(FindInt(all, "problems"), 1);
  EXPECT_EQ(FindPath(all, {"checks"})->get_array().size(), 2u);
}

}  // namespace
}  // namespace basalt::cli
