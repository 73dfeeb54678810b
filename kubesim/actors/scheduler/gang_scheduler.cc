#include "kubesim/actors/scheduler/gang_scheduler.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "common/http/target.h"
#include "common/kube/names.h"
#include "kubesim/actors/client/text.h"

namespace basalt::actors {
namespace {

constexpr std::string_view kBase = "/apis/scheduling.volcano.sh/v1beta1";
constexpr int64_t kOvercommitPercent = 120;

InformerOptions Resource(std::string path) {
  InformerOptions options;
  options.path = std::move(path);
  return options;
}

std::set<std::string> Both(std::set<std::string> a, const std::set<std::string>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

}  // namespace

GangScheduler::GangScheduler(Loop& loop, http::Client& client, Random& random, Informer& pods,
                             GangSchedulerOptions options)
    : loop_(loop),
      random_(random),
      options_(std::move(options)),
      api_(loop, client, random, options_.api),
      cache_({options_.scheduler_names, Both(options_.plain_scheduler_names, options_.kai_scheduler_names),
              options_.default_queue},
             [this] { Wake(options_.change_delay); }),
      groups_(std::make_unique<Informer>(loop, client, random, Resource(fmt::format("{}/podgroups", kBase)))),
      queues_(std::make_unique<Informer>(loop, client, random, Resource(fmt::format("{}/queues", kBase)))),
      nodes_(std::make_unique<Informer>(loop, client, random, Resource("/api/v1/nodes"))) {
  pods.Listen(cache_.pods());
  groups_->Listen(cache_.groups());
  queues_->Listen(cache_.queues());
  nodes_->Listen(cache_.nodes());
  if (options_.kai_scheduler_names.empty()) return;
  kai_gangs_ = std::make_unique<KaiGangs>(options_.kai_scheduler_names, [this] { Wake(options_.change_delay); });
  kai_groups_ =
      std::make_unique<Informer>(loop, client, random, Resource("/apis/scheduling.run.ai/v2alpha2/podgroups"));
  pods.Listen(kai_gangs_->pods());
  kai_groups_->Listen(kai_gangs_->groups());
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
  if (kai_groups_ != nullptr) kai_groups_->Start();
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
      // The resource may not be served yet, if its CRD is created at the same time.
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
    // A group whose write is in flight is marked dirty again by the answer.
    if (group->exists && !group->writing) work.push_back(group);
  }
  for (Group* group : work) {
    group->blocked = false;
    group->attempt.reset();
    group->unscheduled_why.clear();
    group->task_why.clear();
    if (QueueInfo* queue = cache_.FindQueue(group->queue)) Vote(*group, *queue);
  }
  for (Group* group : work) {
    if (QueueInfo* queue = cache_.FindQueue(group->queue)) Allocate(*group, *queue);
  }
  for (Group* group : work) {
    // A group whose queue does not exist is left untouched.
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
  SendEvent(group, group.last_refusal, {"Normal", "Unschedulable", refusal});
}

void GangScheduler::Close(Group& group) {
  const GangCondition verdict = ConditionOf(group.counts, group.min_member);
  const std::string fit_error = FitErrorOf(group);
  json::array conditions = ConditionsAfter(group, verdict, fit_error, {cycle_uid_, loop_.Now()});
  const std::string_view phase =
      NextPhase(group.phase, group.min_member, group.counts, verdict == GangCondition::kUnschedulable);
  cache_.SetPhase(group, phase);
  const bool waiting = phase == "Pending" || phase == "Inqueue" || phase == "Unknown";
  if (waiting && !group.pending.empty()) group.blocked = true;

  if (!SaysStatus(group, phase, conditions)) {
    const json::value* seen = Find(group.object, "status");
    const bool same_phase = seen != nullptr && FindString(*seen, "phase") == phase;
    // A cycle that a change has brought forward must not write counts more often than regular cycles do.
    if (same_phase && group.last_write + options_.period > loop_.Now()) {
      Defer(group);
    } else {
      Write(group, MakeStatus(phase, std::move(conditions), group.counts));
      if (!waiting) SendEvent(group, group.last_event, {"Normal", "Scheduled", "pod group is ready"});
    }
  }
  if (waiting) {
    SendEvent(group, group.last_event,
              {"Warning", "Unschedulable",
               fmt::format("{}/{} tasks in gang unschedulable: {}", group.counts.Of(TaskState::kPending),
                           group.counts.tasks(), fit_error)});
  }
}

void GangScheduler::Write(Group& group, json::object status) {
  group.writing = true;
  group.last_write = loop_.Now();
  json::value object = group.object;
  object.as_object()["status"] = std::move(status);
  api_.Do(
      {"PUT", fmt::format("{}/namespaces/{}/podgroups/{}", kBase, http::Escape(group.space), http::Escape(group.name)),
       ToText(object)},
      [this, key = group.key, uid = group.uid](const ApiAnswer& answer) {
        Group* current = cache_.FindGroup(key);
        if (current == nullptr) return;
        current->writing = false;
        if (answer.ok() && current->exists && current->uid == uid && Find(answer.body, "metadata") != nullptr) {
          cache_.UpdateGroup(*current, answer.body);
        }
        // A 409 means that the watch will bring a newer state. A regular cycle decides on that.
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

void GangScheduler::SendEvent(Group& group, std::string& last, const GroupEvent& event) {
  std::string said = fmt::format("{}|{}", event.reason, event.message);
  if (last == said) return;
  last = std::move(said);
  const std::string name = fmt::format("{}.{:016x}", group.name, random_.Next());
  api_.Do({"POST", fmt::format("/api/v1/namespaces/{}/events", http::Escape(group.space)),
           json::serialize(MakeEvent(group, name, event, loop_.Now()))},
          nullptr);
}

void GangScheduler::Evict(const std::string& space, const std::string& name) {
  const json::object body{{"apiVersion", "policy/v1"},
                          {"kind", "Eviction"},
                          {"metadata", json::object{{"name", Text(name)}, {"namespace", Text(space)}}}};
  api_.Do({"POST", fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", http::Escape(space), http::Escape(name)),
           json::serialize(body)},
          nullptr);
}

}  // namespace basalt::actors
