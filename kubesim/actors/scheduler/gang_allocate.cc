// Places pods on nodes.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "common/http/target.h"
#include "kubesim/actors/client/text.h"
#include "kubesim/actors/scheduler/gang_scheduler.h"

namespace basalt::actors {

std::string GangScheduler::Place(const Task& task, std::string* why) {
  const auto& nodes = cache_.usable_nodes();
  std::map<std::string, int> reasons;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const size_t at = (next_node_ + i) % nodes.size();
    const auto& [name, node] = nodes[at];
    bool selected = true;
    for (const auto& [key, value] : task.node_selector) {
      const auto label = node->labels.find(key);
      if (label == node->labels.end() || label->second != value) selected = false;
    }
    if (!selected) {
      ++reasons["node(s) didn't match Pod's node affinity/selector"];
      continue;
    }
    const std::string lacking = Lacking(node->used, task.request, node->allocatable);
    if (lacking.empty()) {
      next_node_ = (at + 1) % nodes.size();
      return name;
    }
    ++reasons[lacking == kPodsResource ? "Too many pods" : "Insufficient " + lacking];
  }
  *why = fmt::format("0/{} nodes are unavailable", nodes.size());
  const char* separator = ": ";
  for (const auto& [reason, n] : reasons) {
    *why += fmt::format("{}{} {}", std::exchange(separator, ", "), n, reason);
  }
  *why += ".";
  return {};
}

void GangScheduler::Allocate(Group& group, QueueInfo& queue) {
  if (group.pending.empty() || group.phase.empty() || group.phase == "Pending") return;
  if (queue.state != "Open") {
    group.blocked = true;
    group.unscheduled_why = fmt::format("queue <{}> is not open, its state is <{}>", group.queue, queue.state);
    return;
  }
  if (group.counts.valid() < group.min_member ||
      TaskShortfall(group.min_task_member, group.min_member, group.valid_by_task) > 0) {
    return;  // Some pods of the group have not been made yet.
  }
  std::vector<Task*> placed;
  std::set<Task*, TaskOrder> unfit;
  // The kinds of tasks that did not fit. Further tasks of such a kind need not be tried.
  std::set<std::pair<Amounts, std::map<std::string, std::string>>> hopeless;
  const auto place = [&](Task* task) {
    if (!task->node.empty() || unfit.contains(task)) return;
    std::pair<Amounts, std::map<std::string, std::string>> kind{task->request, task->node_selector};
    std::string why;
    if (hopeless.contains(kind)) {
      // task_why has the reason of the first task of the kind.
    } else if (!WithinListed(queue.allocated, task->request, queue.capability)) {
      why = fmt::format("queue <{}> has reached its capability", group.queue);
    } else if (const std::string node = Place(*task, &why); !node.empty()) {
      cache_.Assume(*task, node);
      placed.push_back(task);
      return;
    }
    if (group.task_why.empty()) group.task_why = fmt::format("{}: {}", task->name, why);
    unfit.insert(task);
    hopeless.insert(std::move(kind));
  };
  const auto shortfall = [&] { return TaskShortfall(group.min_task_member, group.min_member, group.ready_by_task); };
  const std::vector<Task*> pending(group.pending.begin(), group.pending.end());
  // Place the tasks of the per-task minimums first: other pods must not take their capacity.
  if (shortfall() > 0) {
    for (Task* task : pending) {
      const auto minimum = group.min_task_member.find(task->task_spec);
      if (minimum != group.min_task_member.end() && group.ready_by_task[task->task_spec] < minimum->second) place(task);
    }
  }
  for (Task* task : pending) {
    if (group.counts.ready() + group.counts.best_effort_pending + shortfall() >= group.min_member) break;
    place(task);
  }
  const bool ready = ReadyForGang(group.counts, group.min_member) && shortfall() == 0;
  if (ready) {
    for (Task* task : pending) place(task);
  }
  group.blocked = !unfit.empty();
  if (ready) {
    for (Task* task : placed) Bind(*task);
    return;
  }
  group.attempt = Attempt{static_cast<int>(placed.size()), static_cast<int>(unfit.size()),
                          TasksMissing(group.counts, group.min_member, shortfall())};
  for (Task* task : placed) cache_.Assume(*task, "");
}

void GangScheduler::Bind(Task& task) {
  const json::object body{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", json::object{{"name", Text(task.name)}, {"namespace", Text(task.space)}, {"uid", Text(task.uid)}}},
      {"target", json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", Text(task.node)}}}};
  api_.Do(
      {"POST", fmt::format("/api/v1/namespaces/{}/pods/{}/binding", http::Escape(task.space), http::Escape(task.name)),
       json::serialize(body)},
      [this, space = task.space, name = task.name, uid = task.uid](const ApiAnswer& answer) {
        if (answer.ok()) return;  // The watch will show the pod with its node.
        Task* current = cache_.FindTask(space, name, uid);
        if (current == nullptr || !current->assumed) return;
        cache_.Assume(*current, "");
        cache_.RoomFreed();
        if (current->group != nullptr) Defer(*current->group);
        Wake(options_.period);
      });
}

void GangScheduler::BindPlain() {
  const std::vector<Task*> pending(cache_.plain().begin(), cache_.plain().end());
  for (Task* task : pending) {
    if (kai_gangs_ != nullptr && !kai_gangs_->MayBind(task->space, task->name)) continue;
    std::string why;
    const std::string node = Place(*task, &why);
    if (node.empty()) continue;
    cache_.Assume(*task, node);
    Bind(*task);
  }
}

}  // namespace basalt::actors
