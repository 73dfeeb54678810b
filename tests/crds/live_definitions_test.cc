// Checks that a job behaves the same whichever definitions the cluster has: an object that both live clusters' and our
// definitions accept is read as the same message and has the same effective spec.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/testing/temp_dir.h"
#include "gateway/translate/decoder.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/semantic_json.h"
#include "tests/crds/case.h"
#include "tests/realkube/cluster.h"

namespace basalt::crds {
namespace {

constexpr std::string_view kPlurals[] = {"jobs.batch.volcano.sh", "commands.bus.volcano.sh",
                                         "podgroups.scheduling.volcano.sh", "queues.scheduling.volcano.sh"};

// Returns the manifests that both definitions accept. Each gets a name of its own, which is also its key.
std::map<std::string, json::value> Manifests() {
  std::map<std::string, json::value> manifests;
  for (const Case& one : LoadCasesAndExamples()) {
    if (one.update || !one.refused.empty() || !one.ours.empty()) continue;
    json::value manifest = one.Changed(one.base);
    const std::string name = fmt::format("m{}", manifests.size());
    manifest.at("metadata").get_object()["name"] = name;
    manifest.at("metadata").get_object().erase("namespace");
    manifests[name] = std::move(manifest);
  }
  return manifests;
}

std::string_view GroupOf(std::string_view plural) { return plural.substr(plural.find('.') + 1); }

// Returns every object as it was stored, without the fields that differ from server to server.
std::map<std::string, kube::v1::Object> StoredUnder(const std::string& definitions) {
  std::map<std::string, kube::v1::Object> stored;
  auto cluster = realkube::Cluster::Start({.nodes = 0, .crds = definitions, .kwok = false});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  if (!cluster.ok()) return stored;
  const testing::TempDir folder;
  for (const auto& [name, manifest] : Manifests()) std::ofstream(folder / (name + ".json")) << ToText(manifest);
  // A refused object is missing from the lists below.
  (void)(*cluster)->Kubectl({"create", "--validate=false", "-f", folder / ""});
  for (const std::string_view plural : kPlurals) {
    const auto text =
        (*cluster)->Kubectl({"get", "--raw",
                             fmt::format("/apis/{}/{}/{}", GroupOf(plural),
                                         GroupOf(plural) == "scheduling.volcano.sh" ? "v1beta1" : "v1alpha1",
                                         plural.substr(0, plural.find('.')))});
    EXPECT_TRUE(text.ok()) << text.status();
    if (!text.ok()) continue;
    gateway::Decoder decoder(gateway::KindOf(GroupOf(plural), plural.substr(0, plural.find('.'))));
    auto list = decoder.DecodeList(*text);
    EXPECT_TRUE(list.ok()) << list.status();
    if (!list.ok()) continue;
    for (gateway::Decoded& item : list->items) {
      EXPECT_EQ(item.error, "");
      kube::v1::Object& object = item.object;
      kube::v1::ObjectMeta* meta = object.has_job()         ? object.mutable_job()->mutable_meta()
                                   : object.has_pod_group() ? object.mutable_pod_group()->mutable_meta()
                                   : object.has_queue()     ? object.mutable_queue()->mutable_meta()
                                                            : object.mutable_command()->mutable_meta();
      const std::string name = meta->name();
      const int64_t generation = meta->generation();
      meta->Clear();
      meta->set_name(name);
      meta->set_generation(generation);
      stored[name] = std::move(object);
    }
  }
  return stored;
}

// Removes the template's fields that live definitions drop as unknown, and defaults that only live definitions write.
void DropFields(json::value& value) {
  if (value.is_array()) {
    for (json::value& item : value.get_array()) DropFields(item);
  }
  if (!value.is_object()) return;
  value.get_object().erase("futureField");
  value.get_object().erase("future");
  if (FindString(value, "protocol") == "TCP") value.get_object().erase("protocol");
  for (json::key_value_pair& member : value.get_object()) DropFields(member.value());
}

void Normalize(std::string& text) {
  if (text.empty()) return;
  auto parsed = ParseJson(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  DropFields(*parsed);
  text = ToText(*parsed);
}

kube::v1::JobSpec Effective(const kube::v1::Job& job) {
  kube::v1::JobSpec spec = jobsvc::EffectiveSpec(job);
  for (kube::v1::TaskSpec& task : *spec.mutable_tasks()) Normalize(*task.mutable_template_json());
  for (kube::v1::VolumeSpec& volume : *spec.mutable_volumes()) Normalize(*volume.mutable_volume_claim_json());
  return spec;
}

void ExpectSameJob(const kube::v1::Job& ours, const kube::v1::Job& theirs) {
  const kube::v1::JobSpec left = Effective(ours);
  kube::v1::JobSpec right = Effective(theirs);
  ASSERT_EQ(left.tasks_size(), right.tasks_size());
  for (int i = 0; i < left.tasks_size(); ++i) {
    EXPECT_TRUE(jobsvc::SemanticallyEqualTexts(left.tasks(i).template_json(), right.tasks(i).template_json()));
    right.mutable_tasks(i)->set_template_json(left.tasks(i).template_json());
  }
  for (int i = 0; i < left.volumes_size() && i < right.volumes_size(); ++i) {
    EXPECT_TRUE(
        jobsvc::SemanticallyEqualTexts(left.volumes(i).volume_claim_json(), right.volumes(i).volume_claim_json()));
    right.mutable_volumes(i)->set_volume_claim_json(left.volumes(i).volume_claim_json());
  }
  EXPECT_EQ(left.DebugString(), right.DebugString());
}

// Returns the jobs that our definitions refuse and that live definitions, without their webhooks, accept.
std::map<std::string, json::value> RefusedJobs() {
  std::map<std::string, json::value> manifests;
  for (const Case& one : LoadCases()) {
    if (one.update || !one.IsRefusedByServer() || FindString(one.base, "kind") != "Job") continue;
    json::value manifest = one.Changed(one.base);
    const std::string name = fmt::format("r{}", manifests.size());
    manifest.at("metadata").get_object()["name"] = name;
    manifests[name] = std::move(manifest);
  }
  return manifests;
}

// The suite writes only the status, labels and finalizers of such a job. If these writes were refused, the job could
// not report its problem.
TEST(LiveDefinitions, ObjectsThatTheyTakeCanStillBeWrittenUnderOurs) {
  if (!std::filesystem::exists(LiveDefinitions())) {
    GTEST_SKIP() << "skipped: the live definitions are absent: " << LiveDefinitions();
  }
  auto cluster = realkube::Cluster::Start({.nodes = 0, .crds = LiveDefinitions(), .kwok = false});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const testing::TempDir folder;
  const std::map<std::string, json::value> manifests = RefusedJobs();
  for (const auto& [name, manifest] : manifests) std::ofstream(folder / (name + ".json")) << ToText(manifest);
  (void)(*cluster)->Kubectl({"create", "--validate=false", "-f", folder / ""});
  const auto stored = (*cluster)->Kubectl({"get", "jobs.batch.volcano.sh", "-o", "name"});
  ASSERT_TRUE(stored.ok()) << stored.status();
  const std::string names = "\n" + *stored;
  size_t kept = 0;
  std::string refused;
  for (const auto& [name, manifest] : manifests) {
    if (names.find(fmt::format("/{}\n", name)) != std::string::npos) {
      ++kept;
      refused = folder / (name + ".json");
    } else {
      std::filesystem::remove(folder / (name + ".json"));
    }
  }
  EXPECT_GT(kept, 30u);

  const auto replaced = (*cluster)->Kubectl({"replace", "-f", BASALT_SOURCE_DIR "/deploy/crds"});
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while ((*cluster)
             ->Kubectl({"create", "--dry-run=server", "--validate=false", "-n", "kube-system", "-f", refused})
             .ok()) {
    ASSERT_LT(absl::Now(), deadline) << "the server does not use the new definitions";
  }
  for (const std::vector<std::string>& change : std::vector<std::vector<std::string>>{
           {"--subresource=status", R"({"status":{"state":{"phase":"Pending","reason":"InvalidJob"}}})"},
           {"--subresource=", R"({"metadata":{"labels":{"a":"b"},"finalizers":["a.example/b"]}})"},
           {"--subresource=", R"({"metadata":{"finalizers":null}})"}}) {
    const auto patched = (*cluster)->Kubectl({"patch", "--type=merge", change[0], "-p", change[1], "-f", folder / ""});
    EXPECT_TRUE(patched.ok()) << patched.status();
  }
}

TEST(LiveDefinitions, GiveTheSameObjectsAsOurs) {
  if (!std::filesystem::exists(LiveDefinitions())) {
    GTEST_SKIP() << "skipped: the live definitions are absent: " << LiveDefinitions();
  }
  const std::map<std::string, json::value> manifests = Manifests();
  const auto ours = StoredUnder("");
  const auto theirs = StoredUnder(LiveDefinitions());
  EXPECT_EQ(ours.size(), manifests.size());
  size_t same = 0;
  for (const auto& [name, mine] : ours) {
    SCOPED_TRACE(ToText(manifests.at(name)));
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      // Upstream's webhooks fill an empty queue and empty names before the schema is checked. Our suite reads them as
      // the defaults.
      EXPECT_NE(ToText(manifests.at(name)).find("\"queue\":\"\""), std::string::npos);
      continue;
    }
    ++same;
    if (mine.has_job()) {
      ExpectSameJob(mine.job(), found->second.job());
    } else {
      EXPECT_EQ(mine.DebugString(), found->second.DebugString());
    }
  }
  EXPECT_GT(same, 40u);
}

}  // namespace
}  // namespace basalt::crds
