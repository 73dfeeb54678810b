#include "cli/view/queue_tree.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "cli/view/queue_view.h"
#include "cli/view/table.h"
#include "common/kube/names.h"

namespace basalt::cli {
namespace {

using queue::v1::Queue;

const std::string& NameOf(const Queue& queue) { return queue.object().meta().name(); }

bool IsClosedByParent(const Queue& queue) {
  const std::string& state = queue.object().state();
  if (state != "Closed" && state != "Closing") return false;
  for (const kube::v1::KeyValue& annotation : queue.object().meta().annotations()) {
    if (annotation.key() == kube::kClosedByParentKey) return annotation.value() == "true";
  }
  return false;
}

class Tree {
 public:
  explicit Tree(const queue::v1::ListQueuesResponse& queues) {
    for (const Queue& queue : queues.queues()) by_name_[NameOf(queue)] = &queue;
    for (const auto& [name, queue] : by_name_) {
      const std::string& parent = queue->object().parent();
      if (by_name_.contains(parent)) children_[parent].push_back(queue);
    }
  }

  std::vector<Row> Of(std::string_view top) {
    if (const auto found = by_name_.find(top); found != by_name_.end()) Add(*found->second, "", "", "");
    return std::move(rows_);
  }

  std::vector<Row> All() {
    for (const auto& [name, queue] : by_name_) {
      const std::string& parent = queue->object().parent();
      if (by_name_.contains(parent)) continue;
      Add(*queue, "", "", parent.empty() ? "" : fmt::format("parent {} does not exist", parent));
    }
    for (const auto& [name, queue] : by_name_) {
      if (!drawn_.contains(name)) Add(*queue, "", "", "below itself");
    }
    return std::move(rows_);
  }

 private:
  // `branch`: what stands in front of its name; `below`: in front of what is below it.
  void Add(const Queue& queue, const std::string& branch, const std::string& below, const std::string& remark) {
    if (!drawn_.insert(NameOf(queue)).second) return;
    const kube::v1::Queue& object = queue.object();
    const queue::v1::PodGroupCounts& counts = queue.pod_groups();
    std::string state = StateText(object.state());
    if (IsClosedByParent(queue)) state += " by parent";
    rows_.push_back({branch + NameOf(queue), Cell(std::move(state), QueueStateColour(object.state())),
                     std::to_string(object.weight()), std::to_string(counts.pending()),
                     std::to_string(counts.inqueue()), std::to_string(counts.running()),
                     std::to_string(counts.unknown()), std::to_string(counts.completed()), remark});
    const std::vector<const Queue*>& children = children_[NameOf(queue)];
    for (size_t i = 0; i < children.size(); ++i) {
      const bool is_last = i + 1 == children.size();
      Add(*children[i], below + (is_last ? "└─ " : "├─ "), below + (is_last ? "   " : "│  "), "");
    }
  }

  std::map<std::string, const Queue*, std::less<>> by_name_;
  std::map<std::string, std::vector<const Queue*>> children_;  // In the order of names.
  std::set<std::string> drawn_;
  std::vector<Row> rows_;
};

}  // namespace

std::string FormatQueueTree(const queue::v1::ListQueuesResponse& queues, std::string_view top, const Look& look) {
  Tree tree(queues);
  return FormatTable(
      {Whole("NAME"), Whole("STATE"), "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "UNKNOWN", "COMPLETED", ""},
      top.empty() ? tree.All() : tree.Of(top), look);
}

}  // namespace basalt::cli
