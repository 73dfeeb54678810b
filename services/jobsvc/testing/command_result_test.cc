// The result of a command is recorded where it is decided: history has it whenever the process dies, and also after a
// commit that was given up and took effect all the same.
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

// Returns the record of the only command that was carried out or answered.
HistoryRecord RecordOfCommand(JobRig& rig) {
  const auto history = HistoryStore(rig.store()).Read(SlotOf(kKey), rig.kube().job(kKey).meta().uid());
  HistoryRecord record;
  int count = 0;
  for (const HistoryRecord& entry : *history) {
    if (entry.event() != "CommandIssued") continue;
    record = entry;
    ++count;
  }
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(record.committed());
  return record;
}

void StartRunning(JobRig& rig) {
  rig.StartRunning(MakeJob("j", 1, 2));
  ASSERT_EQ(rig.PhaseOf(kKey), kRunning);
}

// The process dies at `point` after the command. Returns the number of points.
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
  EXPECT_EQ(RecordOfCommand(rig).result(), result) << action << " point " << point;
  return rig.points();
}

TEST(CommandResultTest, HistoryHasTheResultWhereverTheProcessDies) {
  for (const auto& [action, result] : {std::pair("AbortJob", HistoryRecord::RESULT_CARRIED_OUT),
                                       std::pair("ResumeJob", HistoryRecord::RESULT_NOTHING_TO_DO),
                                       std::pair("Nonsense", HistoryRecord::RESULT_REFUSED)}) {
    const int points = Live(0, action, result);
    ASSERT_GT(points, 4);
    for (int point = 1; point <= points; ++point) Live(point, action, result);
  }
}

// The commit that took effect was decided by a process that is gone, on another state than this process has observed.
// `fate` is the fate of the write that this process intends instead.
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
  return RecordOfCommand(rig);
}

TEST(CommandResultTest, TheResultIsThatOfTheWriteThatTookEffect) {
  constexpr char kKill[] = R"({"cause":"CommandIssued command ask","action":"ResumeJob","version":0,"retain":"soft"})";
  EXPECT_TRUE(
      RecordedLate("ResumeJob", "", Fate::kLostRequest).outcome().starts_with("nothing to do: the job is Running"))
      << "the same was meant";
  // The write is still intended, or was dropped and is not intended again yet.
  for (const Fate fate : {Fate::kLostRequest, Fate::kNotSent}) {
    HistoryRecord record = RecordedLate("ResumeJob", kKill, fate);
    EXPECT_EQ(record.result(), HistoryRecord::RESULT_CARRIED_OUT);
    EXPECT_TRUE(record.outcome().starts_with("read back from Kubernetes")) << record.outcome();
    EXPECT_EQ(record.subject(), "command ask");
    record = RecordedLate("AbortJob", "", fate);
    EXPECT_EQ(record.result(), HistoryRecord::RESULT_NOTHING_TO_DO);
    EXPECT_EQ(record.outcome(), "nothing was done; Kubernetes does not tell why");
    EXPECT_EQ(record.action(), "AbortJob");
    record = RecordedLate("Nonsense", "", fate);
    EXPECT_EQ(record.result(), HistoryRecord::RESULT_REFUSED);
    EXPECT_EQ(record.outcome(), "Nonsense is refused: there is no such action");
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
