// Tests our definitions on a server: each case is accepted with its defaults, or refused with field and message.
// jobsvc's own check of the same job gives the same message. Only the real server evaluates rules; kubesim accepts an
// object that only a rule refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "common/kube/decode/decode_job.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/validate/validate.h"
#include "tests/conformance/harness.h"
#include "tests/crds/case.h"

namespace basalt::crds {
namespace {

using conformance::Answer;

constexpr std::string_view kNamespace = "default";

std::string ObjectPath(const json::value& manifest) {
  return fmt::format("{}/{}", CollectionOf(manifest, kNamespace), conformance::NameOf(manifest));
}

kube::v1::Job JobOf(const json::value& manifest) {
  const auto decoded = kube::DecodeStoredJob(ToText(manifest));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  if (!decoded.ok()) return {};
  EXPECT_TRUE(decoded->errors.empty()) << decoded->errors.front();
  return decoded->job;
}

std::vector<jobsvc::Violation> MemoryOf(const json::value& before, const json::value& after, bool update) {
  const kube::v1::Job job = JobOf(after);
  if (update) return jobsvc::ValidateUpdate(JobOf(before).spec(), job.spec());
  return jobsvc::ValidateJob(jobsvc::EffectiveSpec(job), job.meta().name(), kNamespace).violations;
}

class CrdCases : public testing::TestWithParam<Case> {
 protected:
  // Sets `sent_`, the object that the case sends, and `answer_`, the answer to its dry run.
  void Run() {
    const Case& one = GetParam();
    before_ = one.base;
    if (one.update) {
      const Answer made = conformance::Post(CollectionOf(before_, kNamespace), ToText(before_));
      ASSERT_EQ(made.status, 201) << made;
      before_ = made.json;
    }
    sent_ = one.Changed(before_);
    ASSERT_FALSE(HasFatalFailure());
    answer_ = one.update ? conformance::Put(ObjectPath(before_) + "?dryRun=All", ToText(sent_))
                         : conformance::Post(CollectionOf(one.base, kNamespace) + "?dryRun=All", ToText(sent_));
    if (one.update) conformance::Delete(ObjectPath(before_));
  }

  void ExpectRefused() {
    const Case& one = GetParam();
    EXPECT_EQ(answer_.status, 422) << answer_;
    const std::vector<std::string> causes = answer_.Causes();
    const bool named = std::any_of(causes.begin(), causes.end(), [&](const std::string& cause) {
      const size_t field = cause.find(' ');
      return cause.substr(field + 1).starts_with(one.refused + ":") && cause.find(one.says) != std::string::npos;
    });
    EXPECT_TRUE(named) << "wanted " << one.refused << ": … " << one.says << "\ngot "
                       << ::testing::PrintToString(causes);
  }

  void ExpectAccepted() {
    const Case& one = GetParam();
    EXPECT_TRUE(answer_.ok()) << answer_;
    for (const auto& [pointer, wanted] : one.stored) {
      const json::value* got = At(answer_.json, pointer);
      EXPECT_TRUE(got == nullptr ? wanted.is_null() : *got == wanted)
          << pointer << " is " << (got == nullptr ? "not there" : ToText(*got)) << ", wanted " << ToText(wanted);
    }
  }

  json::value before_, sent_;
  Answer answer_;
};

TEST_P(CrdCases, TheServerAnswers) {
  const Case& one = GetParam();
  ASSERT_NO_FATAL_FAILURE(Run());
  // kubesim does not evaluate rules. With kubesim the suite itself refuses such a job (doors_test.cc).
  const bool evaluated = !one.by_rule || conformance::IsReal();
  if (one.IsRefusedByServer() && evaluated) {
    ExpectRefused();
  } else {
    ExpectAccepted();
  }
}

TEST_P(CrdCases, MemorySaysTheSame) {
  const Case& one = GetParam();
  if (FindString(one.base, "kind") != "Job") return;
  // jobsvc's table has no rule for an object that cannot be read; doors_test.cc tests such objects.
  if (one.memory == "decoder") return;
  const json::value sent = one.Changed(one.base);
  const std::vector<jobsvc::Violation> violations = MemoryOf(one.base, sent, one.update);
  if (one.refused.empty() || !one.open.empty()) {
    EXPECT_TRUE(violations.empty()) << violations.front().message;
    return;
  }
  std::string got;
  for (const jobsvc::Violation& violation : violations) got += violation.rule + ": " + violation.message + "\n";
  const bool said = std::any_of(violations.begin(), violations.end(), [&](const jobsvc::Violation& violation) {
    return AreRelated(violation.field, one.refused) && violation.rule == one.memory &&
           violation.message.find(one.Words()) != std::string::npos;
  });
  EXPECT_TRUE(said) << "wanted " << one.memory << " " << one.refused << " … " << one.Words() << "\ngot " << got;
}

INSTANTIATE_TEST_SUITE_P(Table, CrdCases, testing::ValuesIn(LoadCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Examples, CrdCases, testing::ValuesIn(LoadExamples(ExamplesFolder())), NameOf);
INSTANTIATE_TEST_SUITE_P(LiveExamples, CrdCases, testing::ValuesIn(LoadExamples(LiveExamplesFolder())), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CrdCases);

// The server limits the cost of rules, which depends on the object: here as many tasks as allowed, with long names.
TEST(CrdBounds, AJobOfAsManyTasksAsThereMayBeIsTakenAndChanged) {
  const json::value pod = *ParseJson(R"({"spec":{"containers":[{"name":"c","image":"i"}]}})");
  json::array tasks;
  for (int i = 0; i < 4000; ++i) {
    tasks.push_back(json::object{{"name", fmt::format("t{:049}", i)}, {"replicas", 1}, {"template", pod}});
  }
  json::value job = json::object{{"apiVersion", "batch.volcano.sh/v1alpha1"},
                                 {"kind", "Job"},
                                 {"metadata", json::object{{"name", "large"}, {"namespace", kNamespace}}},
                                 {"spec", json::object{{"schedulerName", "volcano"}, {"tasks", std::move(tasks)}}}};
  const Answer made = conformance::Post(CollectionOf(job, kNamespace), ToText(job));
  ASSERT_EQ(made.status, 201) << made;
  job = made.json;
  job.at("spec").at("tasks").at(3999).at("replicas") = 2;
  const Answer changed = conformance::Put(ObjectPath(job), ToText(job));
  EXPECT_TRUE(changed.ok()) << changed;
  conformance::Delete(ObjectPath(job));
}

// A template is kept as it is (U49 of the users' cases) by a create, a server-side apply and an update.
TEST(CrdTemplates, LabelsAndAnnotationsOfATemplateSurvive) {
  json::value job = *ParseJson(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"kept","namespace":"default"},)"
      R"("spec":{"schedulerName":"volcano","tasks":[{"name":"t","replicas":1,"template":{"metadata":{)"
      R"("labels":{"team":"a"},"annotations":{"sidecar.istio.io/inject":"false"}},)"
      R"("spec":{"containers":[{"name":"c","image":"i"}]}}}]}})");
  const json::value pod = job.at("spec").at("tasks").at(0).at("template");
  const auto kept = [&](const Answer& answer, int status) {
    EXPECT_EQ(answer.status, status) << answer;
    const json::value* const got = At(answer.json, "/spec/tasks/0/template");
    ASSERT_NE(got, nullptr) << answer;
    EXPECT_EQ(*got, pod);
  };
  kept(conformance::Post(CollectionOf(job, kNamespace), ToText(job)), 201);
  kept(conformance::Get(ObjectPath(job)), 200);
  conformance::Delete(ObjectPath(job));
  job.at("metadata").at("name") = "applied";
  const std::string apply = ObjectPath(job) + "?fieldManager=somebody";
  kept(conformance::Patch(apply, "application/apply-patch+yaml", ToText(job)), 201);
  job.at("spec").at("tasks").at(0).at("replicas") = 2;
  kept(conformance::Patch(apply, "application/apply-patch+yaml", ToText(job)), 200);
  conformance::Delete(ObjectPath(job));
}

TEST(LiveExamples, AreThere) {
  if (LoadExamples(LiveExamplesFolder()).empty()) {
    GTEST_SKIP() << "skipped: no example manifests at " << LiveExamplesFolder();
  }
}

}  // namespace
}  // namespace basalt::crds
