// What became of a command is recorded where it is decided: it is told whenever the process dies, and after a commit
// that was given up and took effect all the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using storage::v1::HistoryRecord;

constexpr char kKey[] = "default/j";

// Of the only command that was carried out or answered.
HistoryRecord Told(JobRig& rig) {
  const auto history = HistoryStore(rig.store()).Read(SlotOf(kKey), rig.kube().job(kKey).meta().uid());
  HistoryRecord told;
  int count = 0;
  for (const HistoryRecord& entry : *history) {
    if (entry.event() != "CommandIssued") continue;
    told = entry;
    ++count;
  }
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(told.committed());
  return told;
}

void StartRunning(JobRig& rig) {
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  ASSERT_EQ(rig.PhaseOf(kKey), kRunning);
}

// The process dies at `point` from the command on. Returns how many there are.
int Live(int point, const char* action, HistoryRecord::Result result) {
  JobRig rig;
  StartRunning(rig);
  rig.ClearPoints();
  rig.KillAt(point);
  rig.kube().PutCommand("default", "ask", action, "j");
  for (int second = 0; second < 30; ++second) {
    rig.Run(absl::Seconds(1));
    if (!rig.alive()) rig.Start();
  }
  EXPECT_EQ(Told(rig).result(), result) << action << " point " << point;
  return rig.points();
}

TEST(CommandResultTest, IsToldWhereverTheProcessDies) {
  for (const auto& [action, result] : {std::pair("AbortJob", HistoryRecord::RESULT_CARRIED_OUT),
                                       std::pair("ResumeJob", HistoryRecord::RESULT_NOTHING_TO_DO),
                                       std::pair("Nonsense", HistoryRecord::RESULT_REFUSED)}) {
    const int points = Live(0, action, result);
    ASSERT_GT(points, 4);
    for (int point = 1; point <= points; ++point) Live(point, action, result);
  }
}

// What took effect was decided by a process that is no more, on another state than this one has seen. `fate`: of what
// this one means to write instead.
HistoryRecord RecordedLate(const char* action, const char* kill, Fate fate) {
  JobRig rig;
  StartRunning(rig);
  rig.unknown_after = absl::Minutes(1);
  rig.fate = [fate](const gateway::v1::WriteRequest& request) {
    return request.subresource() == "status" ? fate : Fate::kNormal;
  };
  rig.kube().PutCommand("default", "ask", action, "j");
  rig.Run(absl::Seconds(1));
  json::object own =
      ParseJson(*FindResource(rig.kube().job(kKey).status(), std::string(kube::kControlledStateKey)))->as_object();
  own["seq"] = own["seq"].as_int64() + 1;
  own["nonce"] = "late";
  own["command"] = rig.kube().commands().begin()->second.meta().uid();
  if (*kill != '\0') own["kill"] = ParseJson(kill).value();
  json::object body;
  body["status"] = {{"controlledResources", {{std::string(kube::kControlledStateKey), ToText(own)}}}};
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_plural("jobs");
  request.set_subresource("status");
  request.set_namespace_("default");
  request.set_name("j");
  request.mutable_patch()->set_body(ToText(body));
  EXPECT_EQ(rig.kube().Write(request).error().code(), 0);
  rig.fate = nullptr;
  rig.Run(absl::Seconds(20));
  return Told(rig);
}

TEST(CommandResultTest, IsWhatTookEffectAndNotWhatIsMeantSince) {
  constexpr char kKill[] = R"({"cause":"CommandIssued command ask","action":"ResumeJob","version":0,"retain":"soft"})";
  EXPECT_TRUE(
      RecordedLate("ResumeJob", "", Fate::kLostRequest).outcome().starts_with("nothing to do: the job is Running"))
      << "the same was meant";
  // It is meant still, or was dropped and is not meant again yet.
  for (const Fate fate : {Fate::kLostRequest, Fate::kNotSent}) {
    HistoryRecord told = RecordedLate("ResumeJob", kKill, fate);
    EXPECT_EQ(told.result(), HistoryRecord::RESULT_CARRIED_OUT);
    EXPECT_TRUE(told.outcome().starts_with("read back from Kubernetes")) << told.outcome();
    EXPECT_EQ(told.subject(), "command ask");
    told = RecordedLate("AbortJob", "", fate);
    EXPECT_EQ(told.result(), HistoryRecord::RESULT_NOTHING_TO_DO);
    EXPECT_EQ(told.outcome(), "nothing was done; Kubernetes does not tell why");
    EXPECT_EQ(told.action(), "AbortJob");
    told = RecordedLate("Nonsense", "", fate);
    EXPECT_EQ(told.result(), HistoryRecord::RESULT_REFUSED);
    EXPECT_EQ(told.outcome(), "Nonsense is refused: there is no such action");
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
