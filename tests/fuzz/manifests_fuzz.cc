// Target: a file written by a person, in YAML or JSON, with jobs, queues or rules of grouping. An accepted object is
// accepted again in its stored form, and an accepted job can be rendered.
#include <string>
#include <vector>

#include "basalt/queue/v1/queue.pb.h"
#include "cli/manifest.h"
#include "common/base/yaml.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/core/spec/rendered_job.h"
#include "services/pgsvc/core/grouping/rule_config.h"
#include "services/queuesvc/api/queue_api.h"
#include "tests/fuzz/input.h"

namespace basalt {
namespace {

using fuzz::Require;

// The cost of rendering a job grows with its pods.
constexpr int64_t kMostPods = 200;

void ReadYaml(std::string_view text) {
  const auto documents = ParseYamlDocuments(text);
  if (!documents.ok()) return;
  for (const json::value& document : *documents) {
    if (!document.is_object()) continue;
    const auto again = ParseYamlDocuments(ToYaml(document));
    Require(again.ok() && again->size() == 1, "YAML that is written can be read");
    Require(again->front() == document, "YAML that is written is read as it was");
  }
}

void ReadJob(const std::string& text) {
  const absl::StatusOr<jobsvc::Manifest> manifest = jobsvc::ReadManifest(text, "");
  if (!manifest.ok()) return;
  const absl::StatusOr<jobsvc::Manifest> stored = jobsvc::ReadManifest(manifest->json, "");
  Require(stored.ok(), "a job is accepted as it is stored");
  Require(stored->json == manifest->json, "the defaults of a job are written once");
  Require(stored->job.SerializeAsString() == manifest->job.SerializeAsString(), "a job is stored as it was accepted");
  if (jobsvc::NumberOfPods(manifest->job.spec()) > kMostPods) return;
  const absl::StatusOr<jobsvc::RenderedJob> rendered = jobsvc::RenderedJob::Create(manifest->job);
  if (!rendered.ok()) return;
  const auto objects = rendered->Objects({.private_pem = "private", .public_openssh = "public\n"});
  if (objects.ok()) {
    for (const std::string& object : *objects) Require(ParseJson(object).ok(), "an object of a job is JSON");
  }
  rendered->ForEachPod({}, [](const std::string& pod) { Require(ParseJson(pod).ok(), "a pod is JSON"); }).IgnoreError();
}

void ReadQueue(const std::string& text) {
  queue::v1::CreateQueueRequest request;
  request.set_manifest_json(text);
  queuesvc::ReadQueueManifest(request).IgnoreError();
}

}  // namespace
}  // namespace basalt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  const std::string_view text = fuzz::TextOf(data, size);
  ReadYaml(text);
  pgsvc::ParseRuleConfig(text).IgnoreError();
  const auto jobs = cli::ParseJobManifests("file", text);
  const auto objects = cli::ParseObjects("file", text);
  Require(!jobs.ok() || (objects.ok() && jobs->size() == objects->size()), "a job is an object");
  if (jobs.ok()) cli::CheckDistinct(*jobs, "default").IgnoreError();
  if (!objects.ok()) return 0;
  for (const cli::ObjectManifest& object : *objects) {
    ReadJob(object.json);
    ReadQueue(object.json);
  }
  return 0;
}
