#pragma once

// The queue controller in the rig of common/testing/controller_rig, with the acts of users and of pgsvc.
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
                           if (change.kind == runtime::ShownChange::Kind::kGone) published_gone.push_back(change.key);
                         });
                         return made;
                       }}) {}
  ~QueueRig() override { Shutdown(); }

  QueueController& controller() { return static_cast<QueueController&>(any_controller()); }

  // The names of queues that were published as gone to watching clients, by all processes.
  std::vector<std::string> published_gone;

  // Returns a member of the stored queue, which is an object; empty if there is none.
  json::value MemberOf(std::string_view queue, std::string_view member) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kQueues), "", queue);
    const json::value* found = stored == nullptr ? nullptr : Find(*stored, member);
    return found == nullptr ? json::object() : *found;
  }
  std::string UidOfGroup(std::string_view group) {
    const auto stored = server().server().Get(RigKube::ResourceOf(kube::kPodGroups), "default", group);
    return std::string(FindString(stored->at("metadata"), "uid"));
  }
  // Returns the history of the queue: "Open>Closed command default/c; …".
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
  // Returns how many entries of the queue's history record its creation.
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

  // Makes the objects of users and of pgsvc.
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
  // Returns "below all, 2 pod groups"; "missing, …" if only pod groups name the queue; "" if nothing does.
  std::string KaiQueue(std::string_view name) {
    const std::optional<queue::v1::Queue> found = controller().Find(kube::KaiQueueKey(name));
    if (!found) return "";
    const kube::v1::KaiQueue& object = found->kai().object();
    return fmt::format("{}, {} pod groups", object.meta().uid().empty() ? "missing" : "below " + object.parent(),
                       found->kai().pod_groups());
  }
  // Creates a Command as vcctl does.
  void Command(std::string_view name, std::string_view queue, std::string_view action) {
    server().Create(kube::kCommands,
                    json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                                 {"action", action},
                                 {"target", json::object{{"apiVersion", kube::kSchedulingApiVersion},
                                                         {"kind", "Queue"},
                                                         {"name", queue},
                                                         {"uid", FindString(MemberOf(queue, "metadata"), "uid")}}}});
  }
  // Creates a Command, and gives the controller a minute to carry it out.
  void CarryOut(std::string_view name, std::string_view queue, std::string_view action) {
    Command(name, queue, action);
    Run(absl::Minutes(1));
  }
  bool HasCommand(std::string_view name) {
    return server().server().Get(RigKube::ResourceOf(kube::kCommands), "default", name) != nullptr;
  }
  std::string StateOf(std::string_view queue) { return std::string(FindString(MemberOf(queue, "status"), "state")); }
  // Returns "" if the queue has no mark.
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

// One whose process runs.
class StartedQueueRig : public QueueRig {
 public:
  StartedQueueRig() { Start(); }
};

}  // namespace basalt::queuesvc::testing
