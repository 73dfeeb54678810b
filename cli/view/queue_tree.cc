#include "cli/view/queue_tree.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/view/queue_view.h"
#include "cli/view/table.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/quantity.h"

namespace basalt::cli {
namespace {

using queue::v1::Queue;

// Returns the parent's name in the form of QueueNameOf. Empty if the queue has no parent.
std::string ParentNameOf(const Queue& queue) {
  if (!queue.has_kai()) return queue.object().meta().name() == kube::kRootQueue ? "" : queue.object().parent();
  const std::string& parent = queue.kai().object().parent();
  return parent.empty() ? "" : kube::KaiQueueKey(parent);
}

int64_t AddSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// Returns a text like "cpu 12 of 10" for the resources of which the children's quotas exceed the queue's own.
std::string OverQuotaText(const Queue& queue, const std::vector<const Queue*>& children) {
  std::string text;
  for (const kube::v1::KeyValue& own : queue.kai().object().quota()) {
    kube::Quantity below;
    for (const Queue* child : children) {
      for (const kube::v1::KeyValue& quota : child->kai().object().quota()) {
        if (quota.key() == own.key()) below += kube::Quantity::Parse(quota.value()).value_or(kube::Quantity());
      }
    }
    if (below <= kube::Quantity::Parse(own.value()).value_or(kube::Quantity())) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} of {}", own.key(), below.Text(), own.value());
  }
  return text;
}

bool HasPodGroups(const Queue& queue) {
  if (queue.has_kai()) return queue.kai().pod_groups() > 0;
  const queue::v1::PodGroupCounts& counts = queue.pod_groups();
  return counts.pending() + counts.inqueue() + counts.running() + counts.unknown() > 0;
}

void AddRemark(const std::string& more, std::string& remark) {
  if (!more.empty()) remark += (remark.empty() ? "" : "; ") + more;
}

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
    for (const Queue& queue : queues.queues()) by_name_[QueueNameOf(queue)] = &queue;
    for (const auto& [name, queue] : by_name_) {
      const std::string parent = ParentNameOf(*queue);
      if (by_name_.contains(parent)) children_[parent].push_back(queue);
    }
  }

  std::map<std::string, std::string> Remarks() const {
    std::map<std::string, std::string> remarks;
    for (const auto& [name, queue] : by_name_) {
      std::string remark = IsMissing(*queue) ? "does not exist" : "";
      AddRemark(RemarkOnParent(*queue), remark);
      AddRemark(RemarkOnChildren(*queue), remark);
      if (!remark.empty()) remarks[name] = std::move(remark);
    }
    return remarks;
  }

  std::vector<Row> Of(std::string_view top) {
    if (const auto found = by_name_.find(top); found != by_name_.end()) Add(*found->second, "", "", "");
    return std::move(rows_);
  }

  std::vector<Row> All() {
    for (const auto& [name, queue] : by_name_) {
      const std::string parent = ParentNameOf(*queue);
      if (by_name_.contains(parent)) continue;
      Add(*queue, "", "", RemarkOnParent(*queue));
    }
    for (const auto& [name, queue] : by_name_) {
      if (!drawn_.contains(name)) Add(InCircleAbove(*queue), "", "", "below itself");
    }
    return std::move(rows_);
  }

 private:
  // Returns a remark if the parent does not exist or the queue is below itself. Empty otherwise.
  std::string RemarkOnParent(const Queue& queue) const {
    const std::string parent = ParentNameOf(queue);
    if (parent.empty()) return "";
    const auto found = by_name_.find(parent);
    if (found == by_name_.end() || IsMissing(*found->second)) return fmt::format("parent {} does not exist", parent);
    std::set<std::string> seen;
    for (auto above = found; above != by_name_.end(); above = by_name_.find(ParentNameOf(*above->second))) {
      if (above->second == &queue) return "below itself";
      if (!seen.insert(above->first).second) break;
    }
    return "";
  }
  // Returns a remark if a queue with children has pod groups of its own: schedulers that obey the hierarchy place
  // groups of queues without children only.
  std::string RemarkOnChildren(const Queue& queue) const {
    const bool has_children = children_.contains(QueueNameOf(queue));
    return has_children && HasPodGroups(queue) ? "has pod groups of its own beside queues below it" : "";
  }

  // Returns a queue of the circle of parents above `queue`. Requires: every queue above has a parent that exists.
  const Queue& InCircleAbove(const Queue& queue) const {
    std::set<const Queue*> seen;
    const Queue* above = &queue;
    while (seen.insert(above).second) above = by_name_.find(ParentNameOf(*above))->second;
    return *above;
  }

  // Adds a row for the queue and for all below. `branch` is the text in front of the queue's name, `below` the text in
  // front of the lines of its children.
  void Add(const Queue& queue, const std::string& branch, const std::string& below, const std::string& remark) {
    const std::string name = QueueNameOf(queue);
    if (!drawn_.insert(name).second) return;
    rows_.push_back(queue.has_kai() ? KaiRow(queue, branch + name, remark) : RowOf(queue, branch + name, remark));
    const auto known = children_.find(name);
    if (known == children_.end()) return;
    const std::vector<const Queue*>& children = known->second;
    for (size_t i = 0; i < children.size(); ++i) {
      const bool is_last = i + 1 == children.size();
      Add(*children[i], below + (is_last ? "└─ " : "├─ "), below + (is_last ? "   " : "│  "), "");
    }
  }

  Row RowOf(const Queue& queue, std::string shown, std::string remark) const {
    if (IsMissing(queue)) AddRemark("does not exist", remark);
    AddRemark(RemarkOnChildren(queue), remark);
    const kube::v1::Queue& object = queue.object();
    const queue::v1::PodGroupCounts& counts = queue.pod_groups();
    std::string state = StateText(object.state());
    if (IsClosedByParent(queue)) state += " by parent";
    return {std::move(shown),
            IsMissing(queue) ? Cell("-") : Cell(std::move(state), QueueStateColour(object.state())),
            IsMissing(queue) ? "-" : std::to_string(object.weight()),
            std::to_string(counts.pending()),
            std::to_string(counts.inqueue()),
            std::to_string(counts.running()),
            std::to_string(counts.unknown()),
            std::to_string(counts.completed()),
            ResourcesText(queue),
            std::move(remark)};
  }

  // The groups of KAI's queues have no phase, so their number is part of the remark.
  Row KaiRow(const Queue& queue, std::string shown, std::string remark) const {
    const auto add = [&remark](const std::string& more) { AddRemark(more, remark); };
    if (IsMissing(queue)) add("does not exist");
    std::set<std::string> counted;
    const int64_t all = PodGroupsIn(queue, counted);
    const int64_t own = queue.kai().pod_groups();
    add(all == own ? fmt::format("{} pod groups", own) : fmt::format("{} pod groups, {} with those below", own, all));
    add(RemarkOnChildren(queue));
    const auto children = children_.find(QueueNameOf(queue));
    const std::string over = children == children_.end() ? "" : OverQuotaText(queue, children->second);
    if (!over.empty()) add(fmt::format("quotas below: {}", over));
    return {std::move(shown), "-", "-", "-", "-", "-", "-", "-", ResourcesText(queue), std::move(remark)};
  }

  int64_t PodGroupsIn(const Queue& queue, std::set<std::string>& counted) const {
    if (!counted.insert(QueueNameOf(queue)).second) return 0;
    int64_t sum = queue.kai().pod_groups();
    const auto children = children_.find(QueueNameOf(queue));
    if (children == children_.end()) return sum;
    for (const Queue* child : children->second) sum = AddSaturating(sum, PodGroupsIn(*child, counted));
    return sum;
  }

  std::map<std::string, const Queue*, std::less<>> by_name_;
  std::map<std::string, std::vector<const Queue*>> children_;  // Ordered by name.
  std::set<std::string> drawn_;
  std::vector<Row> rows_;
};

}  // namespace

std::map<std::string, std::string> QueueRemarks(const queue::v1::ListQueuesResponse& queues) {
  return Tree(queues).Remarks();
}

std::string FormatQueueTree(const queue::v1::ListQueuesResponse& queues, std::string_view top, const Look& look) {
  Tree tree(queues);
  return FormatTable({Whole("NAME"), Whole("STATE"), "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "UNKNOWN", "COMPLETED",
                      "RESOURCES", ""},
                     top.empty() ? tree.All() : tree.Of(top), look);
}

}  // namespace basalt::cli
