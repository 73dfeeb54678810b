#include "common/kube/command.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::kube {
namespace {

TEST(CommandTest, TheSameFactsHaveTheSameName) {
  const std::string name = CommandName("research", "CloseQueue", "u/CloseQueue/1");
  EXPECT_EQ(name, CommandName("research", "CloseQueue", "u/CloseQueue/1"));
  EXPECT_NE(name, CommandName("research", "CloseQueue", "u/CloseQueue/2"));
  EXPECT_EQ(name.substr(0, 20), "research-closequeue-");
  EXPECT_EQ(name.size(), 36U);
}

TEST(CommandTest, ALongNameIsCut) {
  const std::string name = CommandName(std::string(199, 'a') + ".b" + std::string(52, 'c'), "OpenQueue", "f");
  EXPECT_EQ(name.substr(0, 210), std::string(199, 'a') + "-openqueue-");
  EXPECT_LE(name.size(), 253U);
}

TEST(CommandTest, TheTargetOwnsTheCommand) {
  const json::object command = CommandObject(
      "default", "c", "OpenQueue", ControllerReference("scheduling.volcano.sh/v1beta1", "Queue", "q", "u", false));
  EXPECT_EQ(ToText(command),
            R"({"apiVersion":"bus.volcano.sh/v1alpha1","kind":"Command","metadata":{"name":"c","namespace":"default",)"
            R"("ownerReferences":[{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","name":"q","uid":"u",)"
            R"("controller":true}]},"action":"OpenQueue",)"
            R"("target":{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","name":"q","uid":"u",)"
            R"("controller":true}})");
}

TEST(CommandTest, AnOwnerWhoseDeletionIsBlockedIsReferredToSo) {
  EXPECT_EQ(ToText(ControllerReference("batch.volcano.sh/v1alpha1", "Job", "j", "u", true)),
            R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"u","controller":true,)"
            R"("blockOwnerDeletion":true})");
}

}  // namespace
}  // namespace basalt::kube
