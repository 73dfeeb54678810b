#include "kubesim/actors/gang_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/kube/names.h"
#include "common/kube/text.h"

namespace basalt::actors {
namespace {

constexpr std::string_view kBase = "/apis/scheduling.volcano.sh/v1beta1";
constexpr int64_t kOvercommitPercent = 120;

json::string Text(std::string_view text) { return json::string(text.data(), text.size()); }

InformerOptions Resource(std::string path) {
  InformerOptions options;
  options.path = std::move(path);
  return options;
}

// Conditions by position, without their times and ids (spec 9.4).
bool SameConditions(const json::value* seen, const json::array& wanted) {
  const size_t n = seen != nullptr && seen->is_array() ? seen->get_array().size() : 0;
  if (n != wanted.size()) return false;
  for (size_t i = 0; i < n; ++i) {
    for (const std::string_view member : {"type", "status", "reason", "message"}) {
      if (FindString(seen->get_array()[i], member) != FindString(wanted[i], member)) return false;
    }
  }
  return true;
}

void PutCondition(json::array& conditions, json::object condition) {
  for (json::value& each : conditions) {
    if (FindString(each, "type") != std::string_view(condition["type"].as_string())) continue;
    each = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

}  // namespace

GangScheduler::GangScheduler(Loop& loop, http::Client& client, Random& random, Informer& pods,
                             GangSchedulerOptions options)
    : loop_(loop),
      random_(random),
      options_(std::move(options)),
      api_(loop, client, random, options_.api),
      cache_({options_.scheduler_names, options_.plain_scheduler_names, options_.default_queue},
             [this] { Wake(options_.change_delay); }),
      groups_(std::make_unique<Informer>(loop, client, random, Resource(fmt::format("{}/podgroups", kBase)))),
      queues_(std::make_unique<Informer>(loop, client, random, Resource(fmt::format("{}/queues", kBase)))),
      nodes_(std::make_unique<Informer>(loop, client, random, Resource("/api/v1/nodes"))) {
  pods.Listen(cache_.pods());
  groups_->Listen(cache_.groups());
  queues_->Listen(cache_.queues());
  nodes_->Listen(cache_.nodes());
}

GangScheduler::~GangScheduler() {
  for (const TimerId timer : {timer_, deferred_timer_, queue_timer_}) {
    if (timer != kNoTimer) loop_.Cancel(timer);
  }
}

void GangScheduler::Start() {
  if (options_.create_queues) CreateQueues();
  nodes_->Start();
  queues_->Start();
  groups_->Start();
}

bool GangScheduler::idle() const {
  return timer_ == kNoTimer && deferred_timer_ == kNoTimer && api_.in_flight() == 0 && api_.queued() == 0 &&
         !cache_.has_dirty();
}

void GangScheduler::CreateQueues() {
  CreateQueue(std::string(kube::kRootQueue), /*reclaimable=*/false);
  CreateQueue(options_.default_queue, /*reclaimable=*/true);
}

void GangScheduler::CreateQueue(const std::string& name, bool reclaimable) {
  api_.Do({"GET", fmt::format("{}/queues/{}", kBase, name), ""}, [this, name, reclaimable](const ApiAnswer& answer) {
    if (answer.ok()) return;
    const json::object body{{"apiVersion", Text(kube::kSchedulingApiVersion)},
                            {"kind", "Queue"},
                            {"metadata", json::object{{"name", Text(name)}}},
                            {"spec", json::object{{"weight", 1}, {"reclaimable", reclaimable}}}};
    api_.Do({"POST", fmt::format("{}/queues", kBase), json::serialize(body)}, [this](const ApiAnswer& created) {
      // The resource may not be served yet: its CRD comes in a moment.
      if (created.status != 404 || queue_timer_ != kNoTimer) return;
      queue_timer_ = loop_.RunAfter(options_.period, [this] {
        queue_timer_ = kNoTimer;
        CreateQueues();
      });
    });
  });
}

void GangScheduler::Wake(absl::Duration delay) {
  const absl::Time when = loop_.Now() + delay;
  if (timer_ != kNoTimer) {
    if (timer_at_ <= when) return;
    loop_.Cancel(timer_);
  }
  timer_at_ = when;
  timer_ = loop_.RunAt(when, [this] {
    timer_ = kNoTimer;
    Cycle();
  });
}

void GangScheduler::Cycle() {
  if (!cache_.synced()) return;
  ++cycles_;
  cycle_uid_ = MakeUuid(random_);
  std::vector<Group*> work;
  for (Group* group : cache_.TakeDirty()) {
    // Its write is on the way: the answer brings it back here.
    if (group->exists && !group->writing) work.push_back(group);
  }
  for (Group* group : work) {
    group->blocked = false;
    group->tentative = 0;
    group->unscheduled_why.clear();
    group->task_why.clear();
    if (QueueInfo* queue = cache_.FindQueue(group->queue)) Vote(*group, *queue);
  }
  for (Group* group : work) {
    if (QueueInfo* queue = cache_.FindQueue(group->queue)) Allocate(*group, *queue);
  }
  for (Group* group : work) {
    // A group without its queue is left untouched.
    if (cache_.FindQueue(group->queue) != nullptr) Close(*group);
  }
  BindPlain();
}

void GangScheduler::Vote(Group& group, QueueInfo& queue) {
  if (!group.phase.empty() && group.phase != "Pending") return;
  if (group.counts.scheduled() >= group.min_member) return;
  std::string refusal;
  if (group.min_resources.has_value()) {
    const Amounts& minimum = *group.min_resources;
    Amounts limit;
    for (const auto& [name, asked] : minimum) {
      const auto found = cache_.total_allocatable().find(name);
      limit[name] = found == cache_.total_allocatable().end() ? 0 : found->second * kOvercommitPercent / 100;
    }
    Amounts used = cache_.total_used();
    Add(used, cache_.total_inqueue());
    Amounts queued = queue.allocated;
    Add(queued, queue.inqueue);
    if (queue.state != "Open") {
      refusal = fmt::format("queue <{}> is not open, its state is <{}>", group.queue, queue.state);
    } else if (const std::string lacking = Lacking(used, minimum, limit); !lacking.empty()) {
      refusal = fmt::format("resource in cluster is overused: insufficient {}", lacking);
    } else if (!WithinListed(queued, minimum, queue.capability)) {
      refusal = fmt::format("queue resource quota insufficient in queue <{}>", group.queue);
    }
  }
  if (refusal.empty()) return cache_.SetPhase(group, "Inqueue");
  group.blocked = true;
  group.unscheduled_why = refusal;
  TellEvent(group, group.last_refusal, "Normal", "Unschedulable", refusal);
}

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
      !TaskMinimumsHold(group.min_task_member, group.min_member, group.valid_by_task)) {
    return;  // Some of its pods have not been made yet.
  }
  std::vector<Task*> placed;
  // Once one did not fit, its like do not either.
  std::set<std::pair<Amounts, std::map<std::string, std::string>>> hopeless;
  const std::vector<Task*> pending(group.pending.begin(), group.pending.end());
  for (Task* task : pending) {
    std::pair<Amounts, std::map<std::string, std::string>> kind{task->request, task->node_selector};
    if (hopeless.contains(kind)) continue;
    std::string why;
    if (!WithinListed(queue.allocated, task->request, queue.capability)) {
      why = fmt::format("queue <{}> has reached its capability", group.queue);
    } else if (const std::string node = Place(*task, &why); !node.empty()) {
      cache_.Assume(*task, node);
      placed.push_back(task);
      continue;
    }
    if (group.task_why.empty()) group.task_why = fmt::format("{}: {}", task->name, why);
    hopeless.insert(std::move(kind));
  }
  group.blocked = !hopeless.empty();
  if (ReadyForGang(group.counts, group.min_member) &&
      TaskMinimumsHold(group.min_task_member, group.min_member, group.ready_by_task)) {
    for (Task* task : placed) Bind(*task);
    return;
  }
  for (Task* task : placed) cache_.Assume(*task, "");
  group.tentative = static_cast<int>(placed.size());
}

void GangScheduler::Bind(Task& task) {
  const json::object body{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", json::object{{"name", Text(task.name)}, {"namespace", Text(task.space)}, {"uid", Text(task.uid)}}},
      {"target", json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", Text(task.node)}}}};
  api_.Do({"POST",
           fmt::format("/api/v1/namespaces/{}/pods/{}/binding", http::EscapeSegment(task.space),
                       http::EscapeSegment(task.name)),
           json::serialize(body)},
          [this, space = task.space, name = task.name, uid = task.uid](const ApiAnswer& answer) {
            if (answer.ok()) return;  // The watch brings the pod with its node.
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
    std::string why;
    const std::string node = Place(*task, &why);
    if (node.empty()) continue;
    cache_.Assume(*task, node);
    Bind(*task);
  }
}

void GangScheduler::Close(Group& group) {
  const GangCounts& counts = group.counts;
  const GangCondition verdict = ConditionOf(counts, group.min_member);
  const json::value* seen = Find(group.object, "status");
  const json::value* seen_conditions = seen == nullptr ? nullptr : Find(*seen, "conditions");
  json::array conditions;
  if (seen_conditions != nullptr && seen_conditions->is_array()) conditions = seen_conditions->get_array();

  FitFacts facts;
  facts.min_member = group.min_member;
  facts.ready = ReadyForGang(counts, group.min_member);
  facts.pending_schedulable = group.tentative;
  facts.pending_unschedulable = counts.Of(TaskState::kPending) - group.tentative;
  facts.job_reason = group.unscheduled_why;
  facts.task_reason = group.task_why;
  const std::string fit = FitError(counts, facts);
  const std::string now = kube::FormatTime(absl::ToUnixMillis(loop_.Now()));
  if (verdict == GangCondition::kUnschedulable) {
    const int missing = group.min_member - (counts.ready() + group.tentative);
    PutCondition(
        conditions,
        {{"type", "Unschedulable"},
         {"status", "True"},
         {"transitionID", Text(cycle_uid_)},
         {"lastTransitionTime", Text(now)},
         {"reason", "NotEnoughResources"},
         {"message", Text(fmt::format("{}/{} tasks in gang unschedulable: {}", missing, counts.tasks(), fit))}});
  } else if (verdict == GangCondition::kScheduled) {
    PutCondition(conditions, {{"type", "Scheduled"},
                              {"status", "True"},
                              {"transitionID", Text(cycle_uid_)},
                              {"lastTransitionTime", Text(now)},
                              {"reason", "tasks in gang are ready to be scheduled"}});
  }
  const std::string_view phase =
      NextPhase(group.phase, group.min_member, counts, verdict == GangCondition::kUnschedulable);
  cache_.SetPhase(group, phase);
  const bool waiting = phase == "Pending" || phase == "Inqueue" || phase == "Unknown";
  if (waiting && !group.blocked && !group.pending.empty()) group.blocked = true;

  const std::string_view seen_phase = seen == nullptr ? std::string_view() : FindString(*seen, "phase");
  const auto count = [&](std::string_view name) { return seen == nullptr ? 0 : FindInt(*seen, name); };
  const bool same_words = seen_phase == phase && SameConditions(seen_conditions, conditions);
  const bool same_counts = count("running") == counts.Of(TaskState::kRunning) &&
                           count("succeeded") == counts.Of(TaskState::kSucceeded) &&
                           count("failed") == counts.Of(TaskState::kFailed);
  if (!same_words || !same_counts) {
    // Cycles that a change brought forward do not write counts more often than regular ones would.
    const absl::Time due = group.last_write + options_.period;
    if (seen_phase == phase && due > loop_.Now()) {
      Defer(group);
    } else {
      json::object status{{"phase", Text(phase)}};
      if (!conditions.empty()) status["conditions"] = std::move(conditions);
      for (const auto& [name, state] :
           std::initializer_list<std::pair<const char*, TaskState>>{{"running", TaskState::kRunning},
                                                                    {"succeeded", TaskState::kSucceeded},
                                                                    {"failed", TaskState::kFailed}}) {
        if (counts.Of(state) > 0) status[name] = counts.Of(state);
      }
      Write(group, std::move(status));
      if (!waiting) TellEvent(group, group.last_event, "Normal", "Scheduled", "pod group is ready");
    }
  }
  if (waiting) {
    TellEvent(
        group, group.last_event, "Warning", "Unschedulable",
        fmt::format("{}/{} tasks in gang unschedulable: {}", counts.Of(TaskState::kPending), counts.tasks(), fit));
  }
}

void GangScheduler::Write(Group& group, json::object status) {
  group.writing = true;
  group.last_write = loop_.Now();
  json::value object = group.object;
  object.as_object()["status"] = std::move(status);
  api_.Do({"PUT",
           fmt::format("{}/namespaces/{}/podgroups/{}", kBase, http::EscapeSegment(group.space),
                       http::EscapeSegment(group.name)),
           ToText(object)},
          [this, key = group.key, uid = group.uid](const ApiAnswer& answer) {
            Group* current = cache_.FindGroup(key);
            if (current == nullptr) return;
            current->writing = false;
            if (answer.ok() && current->exists && current->uid == uid && Find(answer.body, "metadata") != nullptr) {
              cache_.UpdateGroup(*current, answer.body);
            }
            // A 409 means that a newer state is on its way; a regular cycle decides on that.
            answer.ok() ? cache_.MarkDirty(*current) : Defer(*current);
          });
}

void GangScheduler::Defer(const Group& group) {
  deferred_.insert(group.key);
  if (deferred_timer_ != kNoTimer) return;
  deferred_timer_ = loop_.RunAfter(options_.period, [this] {
    deferred_timer_ = kNoTimer;
    for (const std::string& key : std::exchange(deferred_, {})) {
      if (Group* found = cache_.FindGroup(key)) cache_.MarkDirty(*found);
    }
  });
}

void GangScheduler::TellEvent(Group& group, std::string& last, std::string_view type, std::string_view reason,
                              const std::string& message) {
  std::string said = fmt::format("{}|{}", reason, message);
  if (last == said) return;
  last = std::move(said);
  const std::string now = kube::FormatTime(absl::ToUnixMillis(loop_.Now()));
  const json::object body{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::object{{"name", Text(fmt::format("{}.{:016x}", group.name, random_.Next()))},
                                {"namespace", Text(group.space)}}},
      {"involvedObject", json::object{{"apiVersion", Text(kube::kSchedulingApiVersion)},
                                      {"kind", "PodGroup"},
                                      {"namespace", Text(group.space)},
                                      {"name", Text(group.name)},
                                      {"uid", Text(group.uid)}}},
      {"type", Text(type)},
      {"reason", Text(reason)},
      {"message", Text(message)},
      {"source", json::object{{"component", Text(kube::kDefaultScheduler)}}},
      {"reportingComponent", Text(kube::kDefaultScheduler)},
      {"reportingInstance", ""},
      {"count", 1},
      {"firstTimestamp", Text(now)},
      {"lastTimestamp", Text(now)}};
  api_.Do(
      {"POST", fmt::format("/api/v1/namespaces/{}/events", http::EscapeSegment(group.space)), json::serialize(body)},
      nullptr);
}

void GangScheduler::Evict(const std::string& space, const std::string& name) {
  const json::object body{{"apiVersion", "policy/v1"},
                          {"kind", "Eviction"},
                          {"metadata", json::object{{"name", Text(name)}, {"namespace", Text(space)}}}};
  api_.Do({"POST",
           fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", http::EscapeSegment(space), http::EscapeSegment(name)),
           json::serialize(body)},
          nullptr);
}

}  // namespace basalt::actors
