// Sends the jobs of cases/ past the two checks that do not depend on a definition: the API's check of a submission, and
// jobsvc's check of a stored job in a cluster whose definitions accept everything. manifests_test.cc has the third
// check, the definition's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "common/base/status.h"
#include "gateway/translate/decoder.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/api/testing.h"
#include "tests/crds/case.h"

namespace basalt::crds {
namespace {

using jobsvc::testing::JobRig;

// Decodes the manifest as the gateway does.
kube::v1::Job JobOf(const json::value& manifest) {
  json::value stored = manifest;
  json::object& metadata = stored.at("metadata").get_object();
  metadata["namespace"] = "default";
  metadata["uid"] = "u";
  auto decoded = gateway::Decoder(gateway::ObjectKind::kJob).DecodeObject(ToText(stored));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? decoded->object.job() : kube::v1::Job();
}

// Whether one of the lines is about the field of the case and contains `words`.
bool Says(const Case& one, std::string_view words, std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view field = line.substr(0, line.find(' '));
    if (field.ends_with(':')) field.remove_suffix(1);
    if (AreRelated(field, one.refused) && line.find(words) != std::string_view::npos) return true;
  }
  return false;
}

class JobDoors : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { rig_.Start(); }

  absl::StatusOr<job::v1::Job> Submit(const json::value& manifest) {
    auto read = jobsvc::ReadManifest(ToText(manifest), /*ns=*/"");
    if (!read.ok()) return read.status();
    std::optional<absl::StatusOr<job::v1::Job>> answer;
    api_.Submit(*std::move(read), /*dry_run=*/false, /*user_token=*/"",
                [&](absl::StatusOr<job::v1::Job> got) { answer = std::move(got); });
    rig_.Run();
    return answer.value_or(absl::InternalError("no answer"));
  }
  const kube::v1::JobStatus& StatusOf(const std::string& key) { return rig_.kube().job(key).status(); }
  size_t PodsOf(std::string_view job) {
    const auto& pods = rig_.kube().pods();
    return std::count_if(pods.begin(), pods.end(), [&](const auto& pod) { return pod.second.job_name() == job; });
  }
  std::string EventsOf(std::string_view reason) {
    std::string messages;
    for (const auto& [name, object] : rig_.kube().others()) {
      if (!name.starts_with("events/") || FindString(object, "reason") != reason) continue;
      messages += std::string(FindString(object, "message")) + "\n";
    }
    return messages;
  }

  JobRig rig_;
  jobsvc::testing::RigWorkers workers_{{&rig_}};
  jobsvc::JobApi api_{workers_, std::make_shared<watch::WatchHub>()};
};

TEST_P(JobDoors, ASubmissionNamesFieldAndRuleAndNothingIsSent) {
  const Case& one = GetParam();
  const auto answer = Submit(one.Changed(one.base));
  if (one.refused.empty() || !one.open.empty()) {
    EXPECT_TRUE(answer.ok()) << answer.status();
    return;
  }
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument) << answer.status();
  EXPECT_TRUE(Says(one, one.submitted.empty() ? one.Words() : one.submitted, ToStd(answer.status().message())))
      << "wanted " << one.refused << " … " << one.Words() << "\ngot " << answer.status();
  EXPECT_TRUE(rig_.kube().log().empty());
}

// The job also runs as soon as it is corrected.
TEST_P(JobDoors, AStoredJobSaysItItselfAndHarmsNobody) {
  const Case& one = GetParam();
  const kube::v1::Job job = JobOf(one.Changed(one.base));
  const std::string key = "default/" + job.meta().name();
  rig_.kube().PutManifest(one.Changed(one.base));
  rig_.kube().PutJob(jobsvc::testing::MakeJob("other", 1, 2));
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(PodsOf("other"), 2u);
  if (!one.warned.empty()) {
    EXPECT_EQ(StatusOf(key).reason(), one.memory) << StatusOf(key).message();
    EXPECT_NE(StatusOf(key).message().find(one.warned + " " + one.says), std::string::npos) << StatusOf(key).message();
    EXPECT_EQ(EventsOf(one.memory), StatusOf(key).message() + "\n");
    EXPECT_EQ(PodsOf(job.meta().name()) > 0, one.memory == "SpecWarning");
    return;
  }
  if (one.refused.empty() || !one.open.empty()) {
    EXPECT_NE(StatusOf(key).reason(), "InvalidJob") << StatusOf(key).message();
    return;
  }
  EXPECT_EQ(StatusOf(key).phase(), jobsvc::testing::kPending);
  EXPECT_EQ(StatusOf(key).reason(), "InvalidJob");
  EXPECT_TRUE(one.first.empty() ? Says(one, one.Words(), StatusOf(key).message())
                                : StatusOf(key).message().starts_with(one.first))
      << "wanted " << one.refused << " … " << one.Words() << "\ngot " << StatusOf(key).message();
  EXPECT_EQ(EventsOf("InvalidJob"), StatusOf(key).message() + "\n");
  EXPECT_EQ(PodsOf(job.meta().name()), 0u);
  EXPECT_LE(rig_.kube().Count("patch", "jobs/status", job.meta().name()), 2);
  if (std::string_view(one.refused) == "metadata.name") return;  // A name cannot be edited.

  json::value good = one.base;
  good.at("metadata").as_object()["name"] = job.meta().name();
  rig_.kube().PutManifest(good);
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(StatusOf(key).reason(), "") << StatusOf(key).message();
  EXPECT_EQ(PodsOf(job.meta().name()), 6u);
  for (const auto& [name, group] : rig_.kube().groups()) {
    const int wanted = name.starts_with("default/other-") ? 2 : 6;
    EXPECT_EQ(group.spec().min_member(), wanted) << name << ": as the job is now";
  }
}

std::vector<Case> JobCases() {
  std::vector<Case> jobs;
  for (Case& one : LoadCases()) {
    if (!one.update && FindString(one.base, "kind") == "Job") jobs.push_back(std::move(one));
  }
  return jobs;
}

INSTANTIATE_TEST_SUITE_P(Table, JobDoors, ::testing::ValuesIn(JobCases()), NameOf);

// Runs the base of a case and edits the job while it runs.
class RunningJobs : public JobDoors {
 protected:
  void Edit(const json::value& to) {
    rig_.kube().PutManifest(to);
    rig_.Run(absl::Minutes(1));
  }
  std::set<std::string> Uids() {
    std::set<std::string> uids;
    for (const auto& [name, pod] : rig_.kube().pods()) uids.insert(pod.uid());
    return uids;
  }
};

TEST_P(RunningJobs, AreNotHarmedByAnEditAndGoOnWhenItIsPutRight) {
  const Case& one = GetParam();
  enum class Restart { kNone, kOnItsDisk, kOnAnEmptyDisk };
  for (const Restart restart : {Restart::kNone, Restart::kOnItsDisk, Restart::kOnAnEmptyDisk}) {
    SCOPED_TRACE(static_cast<int>(restart));
    rig_.kube().PutManifest(one.base);
    rig_.Run();
    rig_.kube().SetAllPods(jobsvc::testing::kPodRunning);
    rig_.Run(absl::Minutes(1));
    ASSERT_EQ(StatusOf("default/j").phase(), jobsvc::testing::kRunning);
    const std::set<std::string> uids = Uids();
    const int groups = rig_.kube().Count("create", "podgroups");

    Edit(one.Changed(one.base));
    if (restart != Restart::kNone) {
      rig_.Kill();
      if (restart == Restart::kOnAnEmptyDisk) rig_.LoseDisk();
      rig_.Start();
      rig_.Run(absl::Minutes(1));
    }
    EXPECT_EQ(StatusOf("default/j").phase(), jobsvc::testing::kRunning);
    // The X rules are ours alone. They do not stop a job that another controller may have started.
    const bool goes_on = one.memory.starts_with('X');
    EXPECT_EQ(StatusOf("default/j").reason(), goes_on ? "" : "InvalidJob");
    if (!goes_on) {
      EXPECT_TRUE(Says(one, one.Words(), StatusOf("default/j").message()))
          << "wanted " << one.refused << " … " << one.Words() << "\ngot " << StatusOf("default/j").message();
      EXPECT_NE(EventsOf("InvalidJob").find(StatusOf("default/j").message()), std::string::npos);
      EXPECT_EQ(Uids(), uids);
    }
    Edit(one.base);
    EXPECT_EQ(StatusOf("default/j").reason(), "") << StatusOf("default/j").message();
    EXPECT_EQ(Uids(), uids);
    EXPECT_EQ(rig_.kube().Count("create", "podgroups"), groups);
    rig_.kube().SetAllPods(jobsvc::testing::kPodSucceeded);
    rig_.Run(absl::Minutes(1));
    EXPECT_EQ(StatusOf("default/j").phase(), jobsvc::testing::kCompleted);
    EXPECT_EQ(StatusOf("default/j").retry_count(), 0);
    rig_.kube().DeleteJob("default/j");
    rig_.Run(absl::Minutes(1));
  }
}

// Returns the cases that an edit can make: an edit changes no name. X1, X5 and X7 are waived for a job that has run, so
// that such an edit makes other pods.
std::vector<Case> EditCases() {
  std::vector<Case> edits;
  for (Case& one : JobCases()) {
    const bool renamed = std::any_of(one.set.begin(), one.set.end(),
                                     [](const auto& change) { return change.first == "/metadata/name"; });
    const bool waived = one.memory == "X1" || one.memory == "X5" || one.memory == "X7";
    if (!one.refused.empty() && one.open.empty() && !renamed && !waived) edits.push_back(std::move(one));
  }
  return edits;
}

INSTANTIATE_TEST_SUITE_P(Table, RunningJobs, ::testing::ValuesIn(EditCases()), NameOf);

// Updates a stored job past the definitions. jobsvc refuses a spec that breaks U1 to U3, as it refuses other specs. It
// follows a spec that breaks U4 or U5, with a warning.
class UpdatedJobs : public RunningJobs {
 protected:
  // Makes the claims that the job expects to exist.
  void MakeClaims(const kube::v1::Job& job) {
    for (const kube::v1::VolumeSpec& volume : job.spec().volumes()) {
      if (volume.volume_claim_name().empty() || !volume.volume_claim_json().empty()) continue;
      gateway::v1::WriteRequest request;
      request.mutable_resource()->set_plural("persistentvolumeclaims");
      request.set_namespace_("default");
      request.set_name(volume.volume_claim_name());
      request.mutable_create()->set_body(fmt::format(R"({{"metadata":{{"name":"{}"}}}})", volume.volume_claim_name()));
      ASSERT_EQ(rig_.kube().Write(request).error().code(), 0);
    }
  }
};

TEST_P(UpdatedJobs, SayWhatTheyShouldNotHaveBeenChangedTo) {
  const Case& one = GetParam();
  MakeClaims(JobOf(one.base));
  rig_.kube().PutManifest(one.base);
  rig_.Run();
  rig_.kube().SetAllPods(jobsvc::testing::kPodRunning);
  rig_.Run(absl::Minutes(1));
  ASSERT_EQ(StatusOf("default/j").phase(), jobsvc::testing::kRunning);
  const std::string before = EventsOf("SpecWarning");
  Edit(one.Changed(one.base));
  const std::string warning = EventsOf("SpecWarning").substr(before.size());
  const bool is_fixed = one.memory == "U4" || one.memory == "U5";
  if (is_fixed) {
    EXPECT_TRUE(Says(one, one.Words(), warning))
        << "wanted " << one.refused << " … " << one.Words() << "\ngot " << warning;
    EXPECT_NE(warning.find("change it back, or delete the job and submit it again"), std::string::npos) << warning;
    EXPECT_EQ(StatusOf("default/j").message().find("cannot be changed"), std::string::npos) << "in the Event alone";
  } else {
    EXPECT_TRUE(warning.empty() || !one.refused.empty()) << warning;
    EXPECT_EQ(StatusOf("default/j").reason() == "InvalidJob", !one.refused.empty()) << StatusOf("default/j").message();
    EXPECT_TRUE(one.refused.empty() || Says(one, one.Words(), StatusOf("default/j").message()))
        << "wanted " << one.refused << " … " << one.Words() << "\ngot " << StatusOf("default/j").message();
  }
  const std::string warnings = EventsOf("SpecWarning");
  Edit(one.base);
  EXPECT_EQ(EventsOf("SpecWarning"), warnings) << "it was changed back";
}

std::vector<Case> UpdateCases() {
  std::vector<Case> updates;
  for (Case& one : LoadCases()) {
    if (one.update && one.open.empty() && FindString(one.base, "kind") == "Job") updates.push_back(std::move(one));
  }
  return updates;
}

INSTANTIATE_TEST_SUITE_P(Table, UpdatedJobs, ::testing::ValuesIn(UpdateCases()), NameOf);

// Returns the rules of section 2 without a case in the table, each with the reason.
const std::map<std::string, std::string>& WithoutCase() {
  static const auto& reasons = *new std::map<std::string, std::string>{
      {"C16a", "of another object: only a submission asks for the queue, and a stored job waits for it"},
      {"C16b", "the same"},
      {"C16d", "the same"},
      {"S7", "there is no namespace of such a name"},
  };
  return reasons;
}

std::set<std::string> RulesOfSection2() {
  std::set<std::string> rules = {"C16a", "C16b", "C16c", "C16d", "C17"};
  const auto add = [&](char letter, int first, int last) {
    for (int i = first; i <= last; ++i) rules.insert(fmt::format("{}{}", letter, i));
  };
  add('C', 1, 15);
  add('P', 1, 8);
  add('V', 1, 5);
  add('U', 1, 5);
  add('X', 1, 8);
  add('S', 1, 7);
  return rules;
}

// Returns the rules that the case is about. A P or V rule also counts for C6, C13 or C15, which are lists of rules.
std::set<std::string> RulesOf(const Case& one) {
  std::set<std::string> rules = {one.memory};
  if (one.memory.starts_with('P')) rules.insert(one.refused.starts_with("spec.policies") ? "C13" : "C6");
  if (one.memory.starts_with('V')) rules.insert("C15");
  if (!one.warned.empty()) rules = {one.name.substr(one.name.find('/') + 1, 2)};
  return rules;
}

// Whatever breaks a rule of section 2 is refused by at least one of the checks.
TEST(JobDoorsTable, EveryRuleHasACaseAtEachDoorOrAReason) {
  std::set<std::string> at_server, at_ours;
  for (const Case& one : LoadCases()) {
    if (FindString(one.base, "kind") != "Job" || (one.refused.empty() && one.warned.empty())) continue;
    EXPECT_TRUE(one.open.empty() || one.beyond.empty()) << one.name << " is let in by all";
    EXPECT_NE(one.memory.empty(), one.open.empty()) << one.name << " has neither rule nor reason, or both";
    for (const std::string& rule : RulesOf(one)) {
      at_server.insert(rule);
      if (one.open.empty()) at_ours.insert(rule);
    }
  }
  for (const std::string& rule : RulesOfSection2()) {
    EXPECT_EQ(at_server.contains(rule) && at_ours.contains(rule), !WithoutCase().contains(rule)) << rule;
  }
}

}  // namespace
}  // namespace basalt::crds
