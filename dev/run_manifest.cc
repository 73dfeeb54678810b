#include "dev/run_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/manifest.h"
#include "common/base/json.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/kube/kinds.h"
#include "dev/run_workloads.h"

namespace basalt::dev {

int Basaltctl(const std::vector<std::string>& ctl_flags, const std::vector<std::string>& words) {
  fmt::print("\n$ basaltctl {}\n", fmt::join(words, " "));
  std::fflush(stdout);
  std::vector<const char*> arguments = {"basaltctl"};
  for (const std::string& flag : ctl_flags) arguments.push_back(flag.c_str());
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return cli::Main(static_cast<int>(arguments.size()), arguments.data());
}

namespace {

// Returns the objects of a manifest that has none of Volcano's Jobs. Empty for any other manifest.
std::vector<json::value> WorkloadsOf(const std::string& manifest) {
  const absl::StatusOr<std::vector<cli::ObjectManifest>> texts = cli::ReadObjects(manifest);
  if (!texts.ok()) return {};
  std::vector<json::value> objects;
  for (const cli::ObjectManifest& text : *texts) {
    absl::StatusOr<json::value> object = ParseJson(text.json);
    if (!object.ok() || FindString(*object, "kind").empty()) return {};
    // An object without an apiVersion counts as a job: basaltctl reports what is wrong with it.
    const std::string_view version = FindString(*object, "apiVersion");
    if (version.empty() || version.starts_with(kube::kJobs.group)) return {};
    objects.push_back(*std::move(object));
  }
  return objects;
}

}  // namespace

int RunManifest(const std::vector<std::string>& ctl_flags, const std::string& kubeconfig, const std::string& manifest) {
  if (const std::vector<json::value> workloads = WorkloadsOf(manifest); !workloads.empty()) {
    const absl::StatusOr<http::CurlOptions> kube = http::ReadKubeconfig(kubeconfig);
    return kube.ok() ? RunWorkloads(ctl_flags, *kube, workloads) : cli::Report(kube.status());
  }
  int exit_code = Basaltctl(ctl_flags, {"job", "submit", "-f", manifest, "--watch"});
  if (exit_code == cli::kExitBadInput || exit_code == cli::kExitRefused) return exit_code;
  const absl::StatusOr<std::vector<cli::JobManifest>> jobs = cli::ReadJobManifests(manifest);
  if (!jobs.ok()) return cli::Report(jobs.status());
  for (const cli::JobManifest& job : *jobs) {
    const absl::StatusOr<json::value> parsed = ParseJson(job.json);
    if (!parsed.ok()) return cli::Report(parsed.status());
    const json::value* const meta = Find(*parsed, "metadata");
    if (meta == nullptr) continue;
    std::vector<std::string> place;
    if (const std::string_view ns = FindString(*meta, "namespace"); !ns.empty()) place = {"-n", std::string(ns)};
    const auto about = [&](const char* command) {
      std::vector<std::string> words = {"job", command, std::string(FindString(*meta, "name"))};
      words.insert(words.end(), place.begin(), place.end());
      return Basaltctl(ctl_flags, words);
    };
    // `job submit --watch` followed the last job only.
    if (jobs->size() > 1) exit_code = std::max(exit_code, about("watch"));
    exit_code = std::max(exit_code, about("get"));
    exit_code = std::max(exit_code, about("history"));
  }
  return exit_code;
}

}  // namespace basalt::dev
