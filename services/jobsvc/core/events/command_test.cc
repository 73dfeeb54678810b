#include "services/jobsvc/core/events/command.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/json.h"
#include "common/kube/names.h"

namespace basalt::jobsvc {
namespace {

kube::v1::Job JobOf(const std::string& uid) {
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_("ns");
  job.mutable_meta()->set_name("train");
  job.mutable_meta()->set_uid(uid);
  return job;
}

kube::v1::Command CommandWith(const std::string& annotation) {
  kube::v1::Command command;
  auto* entry = command.mutable_meta()->add_annotations();
  entry->set_key(std::string(kube::kCommandTargetKey));
  entry->set_value(annotation);
  return command;
}

TEST(CommandTest, IsWrittenAsVcctlWritesItAndItsTargetComesBack) {
  for (const CommandTarget& target :
       {CommandTarget{}, CommandTarget{.task = "t"}, CommandTarget{.task = "t", .partition = 0},
        CommandTarget{.task = "t", .partition = 3}, CommandTarget{.task = "t", .pod = "p", .pod_uid = "u"}}) {
    const json::value command = *ParseJson(CommandJson(JobOf("7"), "c", "RestartTask", target));
    EXPECT_EQ(FindString(command, "apiVersion"), "bus.volcano.sh/v1alpha1");
    EXPECT_EQ(FindString(command, "kind"), "Command");
    EXPECT_EQ(FindString(command, "action"), "RestartTask");
    EXPECT_EQ(FindString(*Find(command, "target"), "uid"), "7");
    EXPECT_EQ(FindString(*Find(command, "target"), "kind"), "Job");
    EXPECT_EQ(*Find(command, "target"), Find(*Find(command, "metadata"), "ownerReferences")->as_array().at(0));
    const json::value* annotations = Find(*Find(command, "metadata"), "annotations");
    ASSERT_EQ(annotations == nullptr, target == CommandTarget{});
    const std::string text =
        annotations == nullptr ? "" : std::string(FindString(*annotations, kube::kCommandTargetKey));
    EXPECT_EQ(TargetOf(CommandWith(text)), target) << text;
  }
}

TEST(CommandTest, ATargetThatCannotBeReadIsNone) {
  for (const char* text : {"", "t", "[]", "{", "7", R"({"task":7})"}) {
    EXPECT_EQ(TargetOf(CommandWith(text)), CommandTarget{}) << text;
  }
  EXPECT_EQ(TargetOf(CommandWith(R"({"task":"t","partition":"x"})")).partition, -1) << "of no partition at all";
}

TEST(CommandTest, OneRequestHasOneName) {
  const CommandTarget target{.task = "t"};
  EXPECT_EQ(CommandName(JobOf("7"), "AbortJob", {}, "a"), CommandName(JobOf("7"), "AbortJob", {}, "a"));
  std::set<std::string> names;
  for (const char* uid : {"7", "8"}) {
    for (const char* action : {"AbortJob", "ResumeJob"}) {
      for (const char* id : {"a", "b"}) {
        names.insert(CommandName(JobOf(uid), action, {}, id));
        names.insert(CommandName(JobOf(uid), action, target, id));
      }
    }
  }
  EXPECT_EQ(names.size(), 16u);
  EXPECT_TRUE(names.begin()->starts_with("train-abortjob-")) << *names.begin();
}

}  // namespace
}  // namespace basalt::jobsvc
