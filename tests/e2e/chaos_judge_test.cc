#include "tests/e2e/chaos_judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kOurs[] = "basalt-gateway/1 (jobsvc-0/a slot 1 epoch 1)";

Write Make(std::string verb, std::string resource, std::string name, std::string who = kOurs) {
  Write write;
  write.verb = std::move(verb);
  write.resource = std::move(resource);
  write.name = std::move(name);
  write.user_agent = std::move(who);
  write.status = 200;
  return write;
}

Write Pod(const std::string& verb, const std::string& name = "chaos-0-t0-0", const std::string& who = kOurs,
          int version = 0) {
  Write write = Make(verb, "pods", name, who);
  write.body =
      *ParseJson(fmt::format(R"({{"metadata":{{"annotations":{{"volcano.sh/job-version":"{}"}}}}}})", version));
  return write;
}

Write Status(const std::string& body) {
  Write write = Make("patch", "jobs", "chaos-0");
  write.subresource = "status";
  write.body = *ParseJson(body);
  return write;
}
Write Phase(const std::string& phase) {
  return Status(fmt::format(R"({{"status":{{"state":{{"phase":"{}"}}}}}})", phase));
}
Write Version(int version) { return Status(fmt::format(R"({{"status":{{"version":{}}}}})", version)); }

std::vector<ChaosJob> OneJob(const std::string& end = "Completed") {
  ChaosJob job;
  job.name = "chaos-0";
  job.pods = {"chaos-0-t0-0", "chaos-0-t0-1"};
  job.end = end;
  return {job};
}

TEST(ChaosJudgeTest, NothingIsMadeOrRemovedWithoutAReason) {
  Write refused = Pod("create");
  refused.status = 409;
  struct Row {
    const char* what;
    std::vector<Write> log;
    std::vector<std::string> violations;
  };
  const Row rows[] = {
      {"once each", {Pod("create"), Pod("create", "chaos-0-t0-1")}, {}},
      {"what was refused made nothing", {Pod("create"), refused}, {}},
      {"twice", {Pod("create"), Pod("create")}, {"pod chaos-0-t0-0 was made 2 times, 1 were called for"}},
      {"after a full kill", {Pod("create"), Version(1), Pod("create", "chaos-0-t0-0", kOurs, 1)}, {}},
      {"after the user deleted it", {Pod("create"), Pod("delete", "chaos-0-t0-0", "test"), Pod("create")}, {}},
      {"for a version to come",
       {Pod("create", "chaos-0-t0-0", kOurs, 1)},
       {"pod chaos-0-t0-0 was made for version 1 of its job, which has 0"}},
      {"of no job", {Pod("create", "chaos-0-t9-0")}, {"pod chaos-0-t9-0 is called for by no job"}},
      {"of others", {Pod("create", "web-0", "kubectl")}, {}},
      {"deleted while it runs",
       {Pod("create"), Phase("Running"), Pod("delete")},
       {"pod chaos-0-t0-0 of version 0 was deleted while its job was 'Running' of version 0"}},
      {"deleted when it ended", {Pod("create"), Phase("Completed"), Pod("delete")}, {}},
      {"deleted as stale", {Pod("create"), Phase("Running"), Version(1), Pod("delete")}, {}},
      {"deleted with its job", {Pod("create"), Make("delete", "jobs", "chaos-0", "test"), Pod("delete")}, {}},
      {"a version twice", {Version(1), Version(1)}, {"chaos-0: version 1 after 1"}},
      {"a version left out", {Version(2)}, {"chaos-0: version 2 after 0"}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> violations;
    JudgeLog(OneJob(), row.log, violations);
    EXPECT_EQ(violations, row.violations) << row.what;
  }
}

TEST(ChaosJudgeTest, ASlotHasOneWriterInAnEpoch) {
  const auto by = [](const char* who) { return Make("patch", "jobs", "x", fmt::format("basalt-gateway/1 ({})", who)); };
  size_t attributed = 0;
  std::vector<std::string> violations;
  JudgeOwners({by("jobsvc-0/a slot 7 epoch 3"), by("jobsvc-0/a slot 7 epoch 3"), by("jobsvc-1/b slot 7 epoch 4"),
               by("pgsvc-0/c slot 7 epoch 3"), by("jobsvc-1/b slot 8 epoch 3"),
               Make("create", "pods", "p", "basalt-gateway/1")},
              attributed, violations);
  EXPECT_THAT(violations, IsEmpty());
  EXPECT_EQ(attributed, 5u);
  JudgeOwners({by("jobsvc-0/a slot 7 epoch 3"), by("jobsvc-0/b slot 7 epoch 3")}, attributed, violations);
  EXPECT_THAT(violations,
              ElementsAre("slot 7 of jobsvc was written by jobsvc-0/a and by jobsvc-0/b in epoch 3 (patch jobs x)"));
}

TEST(ChaosJudgeTest, NoWriteOfAnOlderEpochComesAfterOneOfANewer) {
  const auto at = [](int second, const char* who, int status = 200) {
    Write write = Make("patch", "jobs", "x", fmt::format("basalt-gateway/1 ({})", who));
    write.time = absl::FromUnixSeconds(second);
    write.status = status;
    return write;
  };
  std::vector<std::string> violations;
  JudgeEpochs(
      {at(1, "jobsvc-0/a slot 7 epoch 3"), at(2, "jobsvc-1/b slot 7 epoch 4"), at(3, "jobsvc-1/b slot 7 epoch 4"),
       at(4, "jobsvc-0/a slot 8 epoch 3"), at(5, "pgsvc-0/c slot 7 epoch 3"), at(6, "jobsvc-0/a slot 7 epoch 3", 409),
       at(0, "jobsvc-0/a slot 7 epoch 2")},
      violations);
  EXPECT_THAT(violations, IsEmpty());
  JudgeEpochs({at(9, "jobsvc-0/a slot 7 epoch 3"), at(2, "jobsvc-1/b slot 7 epoch 4")}, violations);
  EXPECT_THAT(violations, ElementsAre("patch jobs x by jobsvc-0 in epoch 3 came after a write in epoch 4 of slot 7"));
}

json::value List(const std::string& items) { return *ParseJson(fmt::format(R"({{"items":[{}]}})", items)); }
std::string Job(const std::string& phase, int succeeded) {
  return fmt::format(R"({{"metadata":{{"name":"chaos-0"}},"status":{{"state":{{"phase":"{}"}},"succeeded":{}}}}})",
                     phase, succeeded);
}
std::string PodIn(const std::string& name, const std::string& phase) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"{}"}}}})", name, phase);
}

TEST(ChaosJudgeTest, InTheEndPhasesAndCountsAreRightAndNothingIsLeft) {
  const std::string both = PodIn("chaos-0-t0-0", "Succeeded") + "," + PodIn("chaos-0-t0-1", "Succeeded");
  const std::vector<Write> removed = {Pod("delete", "chaos-0-t0-1", "test")};
  Write succeeds = Pod("patch", "chaos-0-t0-1", "kubesim-actor");
  succeeds.subresource = "status";
  succeeds.body = *ParseJson(R"({"status":{"phase":"Succeeded"}})");
  const std::vector<Write> killed_too_late = {succeeds, Pod("delete", "chaos-0-t0-1")};
  const std::vector<Write> killed = {Pod("delete", "chaos-0-t0-1"), succeeds};
  struct Row {
    const char* what;
    std::string end, jobs, pods, groups;
    std::vector<Write> log;
    std::vector<std::string> violations;
  };
  const Row rows[] = {
      {"well", "Completed", Job("Completed", 2), both, "", {}, {}},
      {"another phase", "Completed", Job("Running", 2), both, "", {}, {"chaos-0 is 'Running', not Completed"}},
      {"gone", "Completed", "", "", "", {}, {"chaos-0 is gone"}},
      {"miscounted",
       "Completed",
       Job("Completed", 1),
       both,
       "",
       {},
       {"chaos-0: status.succeeded is 1, there are 2 such pods"}},
      {"remembered", "Completed", Job("Completed", 2), PodIn("chaos-0-t0-0", "Succeeded"), "", removed, {}},
      {"not remembered, for it may not have been seen",
       "Completed",
       Job("Completed", 1),
       PodIn("chaos-0-t0-0", "Succeeded"),
       "",
       removed,
       {}},
      {"killed when it had just succeeded",
       "Terminated",
       Job("Terminated", 2),
       PodIn("chaos-0-t0-0", "Succeeded"),
       "",
       killed_too_late,
       {}},
      {"killed, and counted all the same",
       "Terminated",
       Job("Terminated", 2),
       PodIn("chaos-0-t0-0", "Succeeded"),
       "",
       killed,
       {"chaos-0: status.succeeded is 2, there are 1 such pods"}},
      {"more than there were",
       "Completed",
       Job("Completed", 2),
       PodIn("chaos-0-t0-0", "Succeeded"),
       "",
       {},
       {"chaos-0: status.succeeded is 2, there are 1 such pods"}},
      {"deleted", "", "", "", "", {}, {}},
      {"deleted and there", "", Job("Running", 0), "", "", {}, {"chaos-0 was deleted and is still there"}},
      {"its pod is left",
       "",
       "",
       PodIn("chaos-0-t0-1", "Running"),
       "",
       {},
       {"pod chaos-0-t0-1 is left of a deleted job"}},
      {"its group is left",
       "Completed",
       Job("Completed", 2),
       both,
       PodIn("chaos-0-uid", "Running"),
       {},
       {"chaos-0: PodGroup chaos-0-uid is left"}},
      {"another's group", "Completed", Job("Completed", 2), both, PodIn("chaos-00-uid", ""), {}, {}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> violations;
    JudgeEnd(OneJob(row.end), row.log, List(row.jobs), List(row.pods), List(row.groups), violations);
    EXPECT_EQ(violations, row.violations) << row.what;
  }
}

TEST(ChaosJudgeTest, PhaseChangesAreThoseThatWereCarriedOut) {
  Write refused = Phase("Failed");
  refused.status = 409;
  EXPECT_THAT(
      PhaseChanges({Phase("Pending"), Phase("Running"), refused, Phase("Running"), Phase("Completed")}, "chaos-0"),
      ElementsAre(">Pending", "Pending>Running", "Running>Completed"));
  EXPECT_THAT(PhaseChanges({Phase("Pending")}, "chaos-1"), IsEmpty());
}

TEST(ChaosJudgeTest, APhaseOfUnknownOutcomeCountsWhereTheHistoryHasIt) {
  for (const int status : {0, 499, 500, 504}) {
    Write lost = Phase("Running");
    lost.status = status;
    const std::vector<Write> log = {Phase("Pending"), lost, Phase("Completed")};
    EXPECT_THAT(PhaseChanges(log, "chaos-0", {">Pending", "Pending>Running", "Running>Completed"}),
                ElementsAre(">Pending", "Pending>Running", "Running>Completed"))
        << status;
    EXPECT_THAT(PhaseChanges(log, "chaos-0", {">Pending", "Pending>Completed"}),
                ElementsAre(">Pending", "Pending>Completed"))
        << status;
    EXPECT_THAT(PhaseChanges(log, "chaos-0"), ElementsAre(">Pending", "Pending>Completed")) << status;
  }
}

TEST(ChaosPlanTest, ASeedAlwaysGivesTheSameJobsOfManyKinds) {
  SeededRandom one(7), other(7);
  std::map<ChaosKind, int> kinds;
  for (int number = 0; number < 200; ++number) {
    const ChaosJob job = PlanChaosJob(one, number);
    EXPECT_EQ(job.manifest, PlanChaosJob(other, number).manifest);
    EXPECT_TRUE(ParseJson(job.manifest).ok()) << job.manifest;
    EXPECT_GE(job.pods.size(), 1u);
    EXPECT_LE(job.pods.size(), 100u);
    ++kinds[job.kind];
  }
  EXPECT_EQ(kinds.size(), 5u);
}

}  // namespace
}  // namespace basalt::e2e
