// The groups of a namespace, in either form, do not depend on the order in which anything comes: pods, their owners,
// answers to writes, and restarts in between (pod-grouper 13: G4). The objects are those of docs/pod-groups and of
// testing/shapes, several files for each kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/base/yaml.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "gateway/translate/decoder.h"
#include "kubesim/schema/patch/patch.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/grouping/object_set.h"
#include "services/pgsvc/testing/manifests.h"

namespace basalt::pgsvc {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;

constexpr char kNamespace[] = "default";

using Profile = kube::GroupProfile;

// Returns the members in the order of their names, so that equal objects are equal texts.
json::value Sorted(const json::value& value) {
  if (const json::array* const list = value.if_array()) {
    json::array sorted;
    for (const json::value& element : *list) sorted.push_back(Sorted(element));
    return sorted;
  }
  if (const json::object* const object = value.if_object()) {
    std::map<std::string, json::value> members;
    for (const auto& [key, member] : *object) members[std::string(key)] = Sorted(member);
    json::object sorted;
    for (auto& [key, member] : members) sorted[key] = std::move(member);
    return sorted;
  }
  return value;
}

// A cluster in which the seed determines how long everything takes.
class World final : public runtime::testing::ScriptedContext {
 public:
  World(const std::string& manifests, Profile profile, uint64_t seed)
      : profile_(profile), key_(kube::NamespaceKey(kNamespace, profile)), random_(seed) {
    ObjectSet set;
    std::vector<json::value> documents = ParseYamlDocuments(manifests).value();
    for (json::value& document : documents) {
      if (document.is_null()) continue;
      EXPECT_TRUE(set.Add(std::move(document)).ok());
    }
    set.CompleteUids();
    for (const ObjectView object : set.objects()) {
      json::value copy = object.json();
      const std::string name(object.name());
      if (object.kind() != "Pod" || !object.group().empty()) {
        owners_[{std::string(object.api_version()), std::string(object.kind()), name}] = std::move(copy);
        continue;
      }
      ObjectIn(copy.as_object(), "spec")["schedulerName"] =
          profile == Profile::kKai ? kube::kKaiScheduler : kube::kDefaultScheduler;
      copy.as_object()["status"] = json::object{{"phase", "Pending"}};
      pods_[name] = std::move(copy);
    }
  }

  void AddInterest(std::string_view watch, std::string_view, std::string_view name) override {
    later_.emplace_back([this, watch = std::string(watch), name = std::string(name)] { DeliverOwner(watch, name); });
  }

  // Runs until nothing is left to happen.
  void Run() {
    Restart();
    while (!later_.empty() || !writes.empty() || !gets.empty() || restarts_ > 0) {
      if (!gets.empty() && random_.OneIn(2)) Read();
      const uint64_t what = random_.Uniform(later_.size() + writes.size() + 1);
      if (what < later_.size()) {
        const auto chosen = later_.begin() + static_cast<int64_t>(what);
        const std::function<void()> task = std::move(*chosen);
        later_.erase(chosen);
        task();
        RunPasses(*groups_);
      } else if (what < later_.size() + writes.size()) {
        std::swap(writes.front(), writes[what - later_.size()]);
        Carry();
      } else if (restarts_ > 0) {
        --restarts_;
        Restart();
      }
      Advance(absl::Milliseconds(random_.Uniform(300)), *groups_);
    }
    Advance(absl::Minutes(2), *groups_);
    while (!writes.empty()) Carry();
    EXPECT_TRUE(gets.empty());
  }

  // Returns the objects that exist in the end.
  std::string Text() const {
    std::string text;
    for (const auto& [name, group] : groups_stored_) text += ToText(Sorted(group)) + "\n";
    for (const auto& [name, pod] : pods_) {
      text += name + " " + ToText(Sorted(pod.at("metadata"))) + "\n";
    }
    return text;
  }
  size_t written() const { return written_; }
  void RestartOnce() {
    written_ = 0;
    Restart();
    // No pass runs before everything that exists was delivered.
    for (const std::function<void()>& task : std::exchange(later_, {})) task();
    RunPasses(*groups_);
    while (!later_.empty() || !writes.empty()) {
      while (!later_.empty()) {
        const std::function<void()> task = std::move(later_.back());
        later_.pop_back();
        task();
        RunPasses(*groups_);
      }
      while (!writes.empty()) Carry();
      Advance(absl::Seconds(20), *groups_);
    }
  }

 private:
  using OwnerName = std::tuple<std::string, std::string, std::string>;  // apiVersion, kind, name.

  gateway::ObjectKind group_kind() const {
    return profile_ == Profile::kKai ? gateway::ObjectKind::kKaiPodGroup : gateway::ObjectKind::kPodGroup;
  }
  static kube::v1::Object Decoded(gateway::ObjectKind kind, const json::value& object) {
    gateway::Decoder decoder(kind);
    auto decoded = decoder.DecodeObject(ToText(object));
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    return std::move(decoded->object);
  }
  void Deliver(gateway::ObjectKind kind, const json::value& object) {
    groups_->OnState(key_, "", Decoded(kind, object));
    Wake(key_);
  }
  // One watch delivers all pods, and a pod that owns another one comes first.
  void DeliverPod(const std::string& name) {
    for (const OwnerReference& owner : ObjectView(pods_.at(name)).owners()) {
      const std::string above(owner.name);
      if (owner.api_version == "v1" && owner.kind == "Pod" && pods_.contains(above)) DeliverPod(above);
    }
    Deliver(gateway::ObjectKind::kPod, pods_.at(name));
  }
  void DeliverOwner(const std::string& watch, const std::string& name) {
    const std::string rest = watch.substr(kube::kWatchObjectsPrefix.size());
    const size_t slash = rest.rfind('/');
    const auto owner = owners_.find({rest.substr(0, slash), rest.substr(slash + 1), name});
    kube::v1::Object object;
    if (owner != owners_.end()) {
      object = Decoded(gateway::ObjectKind::kOwner, owner->second);
    } else {
      object.mutable_generic()->mutable_meta()->set_name(name);
    }
    object.mutable_generic()->mutable_meta()->set_namespace_(kNamespace);
    groups_->OnShared(watch, object, owner == owners_.end());
  }

  // A process that starts receives everything that exists, in any order.
  void Restart() {
    later_.clear();
    writes.clear();
    gets.clear();
    groups_ = std::make_unique<PodGroupController>(*this, GroupingOptions());
    EXPECT_TRUE(groups_->OpenSlot(SlotOf(key_)).ok());
    for (const auto& [name, pod] : pods_) later_.emplace_back([this, name = name] { DeliverPod(name); });
    for (const auto& [name, group] : groups_stored_) {
      later_.emplace_back([this, name = name] { Deliver(group_kind(), groups_stored_.at(name)); });
    }
    for (const auto& [name, owner] : owners_) {
      const auto deliver = [this, &object = owner](std::string_view watch, gateway::ObjectKind kind) {
        groups_->OnShared(std::string(watch), Decoded(kind, object), /*gone=*/false);
      };
      if (std::get<1>(name) == "PriorityClass") {
        deliver(kube::kWatchPriorityClasses, gateway::ObjectKind::kPriorityClass);
      }
      if (std::get<1>(name) == kKartaKind) deliver(kube::kWatchKartas, gateway::ObjectKind::kOwner);
    }
  }

  // Answers the oldest read, which is one of a group.
  void Read() {
    gateway::v1::GetResponse response;
    const auto group = groups_stored_.find(gets.front().request.name());
    if (group != groups_stored_.end()) {
      *response.mutable_object() = Decoded(group_kind(), group->second);
    } else {
      response.mutable_error()->set_code(404);
    }
    Answer(std::move(response), *groups_);
  }

  // Carries out the oldest write, and delivers its object before the answer.
  void Carry() {
    const gateway::v1::WriteRequest request = writes.front().request;
    const bool is_pod = request.resource().plural() == "pods";
    std::map<std::string, json::value>& all = is_pod ? pods_ : groups_stored_;
    const gateway::ObjectKind kind = is_pod ? gateway::ObjectKind::kPod : group_kind();
    if (request.resource().plural() == "events") return Answer(Done(), *groups_);
    ++written_;
    const auto known = all.find(request.name());
    if (request.has_create()) {
      if (known != all.end()) return Answer(Refused(409, "AlreadyExists"), *groups_);
      json::value group = ParseJson(request.create().body()).value();
      ObjectIn(group.as_object(), "metadata")["uid"] = "uid of " + request.name();
      all[request.name()] = std::move(group);
    } else {
      ASSERT_NE(known, all.end());
      known->second = kubesim::ApplyMergePatch(known->second, ParseJson(request.patch().body()).value()).value();
    }
    Deliver(kind, all.at(request.name()));
    Answer(Done(Decoded(kind, all.at(request.name()))), *groups_);
  }

  const Profile profile_;
  const std::string key_;
  SeededRandom random_;
  std::map<OwnerName, json::value> owners_;
  std::map<std::string, json::value> pods_, groups_stored_;  // Keyed by name, as the API server has them.
  std::vector<std::function<void()>> later_;                 // Deliveries on their way to the process.
  std::unique_ptr<PodGroupController> groups_;
  int restarts_ = 2;
  size_t written_ = 0;
};

// Returns the manifests with their folders, without their suffix.
std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const char* folder : {kExamples, kShapes}) {
    for (const std::string& name : ManifestsIn(folder)) files.push_back(folder + name);
  }
  return files;
}

class GroupOrderTest : public ::testing::TestWithParam<std::tuple<std::string, Profile>> {};

TEST_P(GroupOrderTest, GroupsAreTheSameInWhateverOrderEverythingComes) {
  const auto& [file, profile] = GetParam();
  SCOPED_TRACE(file);
  const std::string manifests = ReadFile(file + ".yaml");
  const bool has_groups = ReadFile(file + ".group.yaml").find("kind: PodGroup\n") != std::string::npos;
  std::string first;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    World world(manifests, profile, seed);
    world.Run();
    if (first.empty()) {
      first = world.Text();
      EXPECT_EQ(first.find("\"kind\":\"PodGroup\"") != std::string::npos, has_groups);
    }
    ASSERT_EQ(world.Text(), first);
    world.RestartOnce();
    EXPECT_EQ(world.written(), 0u) << "a restart writes nothing";
    ASSERT_EQ(world.Text(), first);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, GroupOrderTest,
                         ::testing::Combine(::testing::ValuesIn(Files()),
                                            ::testing::Values(Profile::kRich, Profile::kKai)));

}  // namespace
}  // namespace basalt::pgsvc
