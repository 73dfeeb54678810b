#pragma once

// The queue controller in the rig of common/testing/controller_rig, and what users and pgsvc do beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/runtime/testing/shown_records.h"
#include "common/testing/controller_rig/controller_rig.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc::testing {

using basalt::testing::RigKube;

class QueueRig : public basalt::testing::ControllerRig {
 public:
  QueueRig()
      : ControllerRig({.service = gateway::v1::SERVICE_KIND_QUEUE, .controller = [this](runtime::Context& context) {
                         auto made = std::make_unique<QueueController>(context, nullptr, QueueControllerOptions());
                         made->publisher().SetListener([this](const runtime::ShownChange& change) {
                           if (change.kind == runtime::ShownChange::Kind::kGone) told_gone.push_back(change.key);
                         });
                         return made;
                       }}) {}
  ~QueueRig() override { Shutdown(); }

  QueueController& controller() { return static_cast<QueueController&>(any_controller()); }

  std::vector<std::string> told_gone;  // Of all processes: the names of what clients that watch were told to be gone.

  // A member of the queue as it is stored: an object; empty where there is none.
  json::value MemberOf(std::string_view queue, std::string_view member) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kQueues), "", queue);
    const json::value* found = stored == nullptr ? nullptr : Find(*stored, member);
    return found == nullptr ? json::object() : *found;
  }
  std::string UidOfGroup(std::string_view group) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kPodGroups), "default", group);
    return std::string(FindString(stored->at("metadata"), "uid"));
  }
  // "Open>Closed command default/c; …": what is remembered of the queue.
  std::string HistoryOf(const std::string& queue) {
    const auto entries =
        controller().records().EntriesOf(queue, std::string(FindString(MemberOf(queue, "metadata"), "uid")));
    if (!entries.ok()) return entries.status().ToString();
    std::string text;
    for (const storage::v1::QueueHistoryRecord& entry : *entries) {
      text += fmt::format("{}>{} {}; ", entry.from_state(), entry.to_state(), entry.cause());
    }
    return text;
  }
  // The messages of the Events about the queue that have this reason, as they were created.
  std::vector<std::string> EventsOf(std::string_view queue, std::string_view reason) {
    std::vector<std::string> messages;
    for (const RigKube::Logged& entry : server().log()) {
      if (entry.plural != "events" || entry.verb != "create") continue;
      const auto stored = server().server().Get("events", "default", entry.name);
      if (stored == nullptr || FindString(stored->at("involvedObject"), "name") != queue) continue;
      if (FindString(*stored, "reason") == reason) messages.emplace_back(FindString(*stored, "message"));
    }
    return messages;
  }
  // How often the history of the queue tells that it was made.
  int TimesMade(const std::string& queue) {
    const auto entries =
        controller().records().EntriesOf(queue, std::string(FindString(MemberOf(queue, "metadata"), "uid")));
    EXPECT_TRUE(entries.ok()) << entries.status();
    int count = 0;
    if (!entries.ok()) return count;
    for (const storage::v1::QueueHistoryRecord& entry : *entries) {
      count += entry.kind() == storage::v1::QueueHistoryRecord::KIND_CREATED ? 1 : 0;
    }
    return count;
  }

  // Objects that users and pgsvc make.
  void MakeObjects() {
    server().Create(kube::kQueues, json::object{{"metadata", json::object{{"name", "q"}}}, {"spec", json::object()}});
    MakeGroup("a", "q", "Running");
    MakeGroup("b", "q", "Pending");
    MakeGroup("c", "default", "Running");
  }
  void MakeGroup(const std::string& name, std::string_view queue, std::string_view phase) {
    server().Create(kube::kPodGroups, json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                                                   {"spec", json::object{{"minMember", 1}, {"queue", queue}}},
                                                   {"status", json::object{{"phase", phase}}}});
  }

  void MakeQueue(std::string_view name, std::string_view parent) {
    server().Create(kube::kQueues, json::object{{"metadata", json::object{{"name", name}}},
                                                {"spec", json::object{{"parent", parent}}}});
  }
  void MakeKaiQueue(std::string_view name, std::string_view parent) {
    server().Create(kube::kKaiQueues, json::object{{"metadata", json::object{{"name", name}}},
                                                   {"spec", json::object{{"parentQueue", parent}}}});
  }
  void MakeKaiGroup(std::string_view name, std::string_view queue) {
    server().Create(kube::kKaiPodGroups,
                    json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                                 {"spec", json::object{{"minMember", 1}, {"queue", queue}}}});
  }
  void MoveKaiGroup(std::string_view name, std::string_view queue) {
    server().Merge(kube::kKaiPodGroups, "default", name, json::object{{"spec", json::object{{"queue", queue}}}});
  }
  // "below all, 2 pod groups"; "missing, …": pod groups alone name it; "": nobody does.
  std::string KaiQueue(std::string_view name) {
    const std::optional<queue::v1::Queue> found = controller().Find(kube::KaiQueueKey(name));
    if (!found) return "";
    const kube::v1::KaiQueue& object = found->kai().object();
    return fmt::format("{}, {} pod groups", object.meta().uid().empty() ? "missing" : "below " + object.parent(),
                       found->kai().pod_groups());
  }
  // As vcctl does.
  void Command(std::string_view name, std::string_view queue, std::string_view action) {
    server().Create(kube::kCommands,
                    json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                                 {"action", action},
                                 {"target", json::object{{"apiVersion", kube::kSchedulingApiVersion},
                                                         {"kind", "Queue"},
                                                         {"name", queue},
                                                         {"uid", FindString(MemberOf(queue, "metadata"), "uid")}}}});
  }
  bool HasCommand(std::string_view name) {
    return server().server().Get(RigKube::ResourceOf(kube::kCommands), "default", name) != nullptr;
  }
  std::string StateOf(std::string_view queue) { return std::string(FindString(MemberOf(queue, "status"), "state")); }
  // "": it has none.
  std::string MarkOf(std::string_view queue) {
    const json::value metadata = MemberOf(queue, "metadata");
    const json::value* annotations = Find(metadata, "annotations");
    return annotations == nullptr ? "" : std::string(FindString(*annotations, kube::kClosedByParentKey));
  }

  void ExpectQueue(std::string_view queue, int running, int pending) {
    SCOPED_TRACE(queue);
    const json::value status = MemberOf(queue, "status");
    EXPECT_EQ(FindString(status, "state"), "Open");
    EXPECT_EQ(FindInt(status, "running"), running);
    EXPECT_EQ(FindInt(status, "pending"), pending);
    EXPECT_EQ(FindString(MemberOf(queue, "spec"), "parent"), queue == "root" ? "" : "root");
  }
  void ExpectAllThere() {
    ExpectQueue("root", 0, 0);
    ExpectQueue("default", 1, 0);
    ExpectQueue("q", 1, 1);
  }
  void ExpectNothingIsWrittenAgain() {
    server().ClearLog();
    Run(absl::Minutes(1));
    EXPECT_TRUE(server().log().empty());
  }
  void ExpectShownIsRecorded() { runtime::testing::ExpectShownIsRecorded(controller(), store()); }
};

}  // namespace basalt::queuesvc::testing
