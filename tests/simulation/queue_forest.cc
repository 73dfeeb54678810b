#include "tests/simulation/queue_forest.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "common/base/json.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"

namespace basalt::simulation {
namespace {

constexpr uint64_t kStream = 0x1c69'b3f7'4ac0'8e25;
constexpr int kMostActs = 40;
constexpr int kMostGroups = 12;
constexpr int kMostCommands = kMostActs + 5;

constexpr char kQueuePath[] = "/apis/scheduling.volcano.sh/v1beta1/queues";
constexpr char kGroupPath[] = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

std::string PathOf(std::string_view queue) { return fmt::format("{}/{}", kQueuePath, queue); }
std::string GroupPathOf(int number) { return fmt::format("{}/forest-{}", kGroupPath, number); }

SeededRandom StreamOf(uint64_t seed) { return SeededRandom(seed ^ kStream); }

// Returns the stored objects whose names the forest gives: forest-0 to forest-<most - 1>.
std::vector<std::shared_ptr<const json::value>> StoredOf(const kubesim::ApiServer& api, std::string_view resource,
                                                         int most) {
  std::vector<std::shared_ptr<const json::value>> objects;
  for (int number = 0; number < most; ++number) {
    auto object = api.Get(resource, "default", fmt::format("forest-{}", number));
    if (object != nullptr) objects.push_back(std::move(object));
  }
  return objects;
}

constexpr std::string_view kPhases[] = {"Pending", "Inqueue", "Running", "Unknown", "Completed"};
constexpr std::string_view kStates[] = {"Open", "Closed", "Closing", "Unknown"};

}  // namespace

const std::vector<std::string>& ForestQueues() {
  static const std::vector<std::string> names = {"tree-a", "tree-b", "tree-c", "tree-d", "tree-e"};
  return names;
}

std::vector<std::shared_ptr<const json::value>> ForestGroups(const kubesim::ApiServer& api) {
  return StoredOf(api, "podgroups.scheduling.volcano.sh", kMostGroups);
}

std::vector<std::shared_ptr<const json::value>> ForestCommands(const kubesim::ApiServer& api) {
  return StoredOf(api, "commands.bus.volcano.sh", kMostCommands);
}

QueueForest::QueueForest(uint64_t seed, SimSuite& suite, Probes& probes)
    : random_(StreamOf(seed)), suite_(suite), probes_(probes) {
  random_.Next();  // IsIn() uses the first number of the stream.
}

bool QueueForest::IsIn(uint64_t seed) { return StreamOf(seed).OneIn(3); }

void QueueForest::Begin() {
  for (const std::string& name : ForestQueues()) {
    After(absl::ZeroDuration(), absl::Seconds(15), [this, &name] { MakeQueue(name); });
  }
  const uint64_t acts = 5 + random_.Uniform(kMostActs);
  for (uint64_t i = 0; i < acts; ++i) After(absl::Seconds(2), absl::Seconds(50), [this] { Act(); });
}

std::string_view QueueForest::PickQueue() { return ForestQueues()[random_.Uniform(ForestQueues().size())]; }

void QueueForest::MakeQueue(std::string_view name) {
  if (suite_.api().Get("queues.scheduling.volcano.sh", "", name) != nullptr) return;
  const std::string_view parent = random_.OneIn(3) ? "root" : PickQueue();
  suite_.CreateObject(fmt::format(R"({{"apiVersion":"{}","kind":"Queue","metadata":{{"name":"{}"}},)"
                                  R"("spec":{{"weight":1,"parent":"{}"}}}})",
                                  kube::kSchedulingApiVersion, name, parent == name ? "root" : parent));
}

void QueueForest::MakeGroup() {
  if (groups_ == kMostGroups) return;
  suite_.CreateObject(fmt::format(R"({{"apiVersion":"{}","kind":"PodGroup","metadata":{{"name":"forest-{}",)"
                                  R"("namespace":"default"}},"spec":{{"minMember":1,"queue":"{}"}},)"
                                  R"("status":{{"phase":"Running"}}}})",
                                  kube::kSchedulingApiVersion, groups_++, PickQueue()));
}

void QueueForest::Command(std::string_view queue) {
  const auto stored = suite_.api().Get("queues.scheduling.volcano.sh", "", queue);
  if (stored == nullptr) return;
  probes_.Hit("command for a queue");
  suite_.CreateObject(fmt::format(
      R"({{"apiVersion":"{}","kind":"Command","metadata":{{"name":"forest-{}","namespace":"default"}},"action":"{}",)"
      R"("target":{{"apiVersion":"{}","kind":"Queue","name":"{}","uid":"{}"}}}})",
      kube::kCommandApiVersion, commands_++, random_.OneIn(2) ? "CloseQueue" : "OpenQueue", kube::kSchedulingApiVersion,
      queue, FindString(stored->at("metadata"), "uid")));
}

void QueueForest::Act() {
  const std::string queue(PickQueue());
  const bool is_there = suite_.api().Get("queues.scheduling.volcano.sh", "", queue) != nullptr;
  const auto group = [this] { return static_cast<int>(random_.Uniform(kMostGroups)); };
  const auto has_group = [this](int number) {
    return suite_.api().Get("podgroups.scheduling.volcano.sh", "default", fmt::format("forest-{}", number)) != nullptr;
  };
  switch (random_.Uniform(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Command(queue);
    case 4:
    case 5:
      return MakeGroup();
    case 6:
      if (const int number = group(); has_group(number)) suite_.DeleteObject(GroupPathOf(number));
      return;
    case 7:
      if (const int number = group(); has_group(number)) {
        suite_.PatchObject(GroupPathOf(number),
                           fmt::format(R"([{{"op":"replace","path":"/status/phase","value":"{}"}}])",
                                       kPhases[random_.Uniform(std::size(kPhases))]));
      }
      return;
    case 8:
      if (const int number = group(); has_group(number)) {
        probes_.Hit("pod group moved to another queue");
        suite_.PatchObject(GroupPathOf(number),
                           fmt::format(R"([{{"op":"replace","path":"/spec/queue","value":"{}"}}])", queue));
      }
      return;
    case 9:
      if (!is_there) return;
      probes_.Hit("state of a queue edited by hand");
      suite_.PatchObject(PathOf(queue) + "/status",
                         fmt::format(R"([{{"op":"add","path":"/status/state","value":"{}"}}])",
                                     kStates[random_.Uniform(std::size(kStates))]));
      return;
    case 10: {
      const std::string parent(random_.OneIn(2) ? std::string_view("root") : PickQueue());
      if (!is_there || parent == queue) return;
      probes_.Hit("queue moved below another");
      suite_.PatchObject(PathOf(queue), fmt::format(R"([{{"op":"add","path":"/spec/parent","value":"{}"}}])", parent));
      return;
    }
    default:
      if (!is_there) return MakeQueue(queue);
      suite_.DeleteObject(PathOf(queue));
      if (!random_.OneIn(2)) return;
      probes_.Hit("queue made anew");
      After(absl::Milliseconds(1), absl::Seconds(5), [this, queue] { MakeQueue(queue); });
  }
}

void QueueForest::After(absl::Duration least, absl::Duration most, std::function<void()> then) {
  suite_.time().RunAfter(least + (most - least) * random_.Unit(), std::move(then));
}

}  // namespace basalt::simulation
