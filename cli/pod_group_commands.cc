#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/connect/watched.h"
#include "cli/follow/watch_changes.h"
#include "cli/manifest.h"
#include "cli/verbs.h"
#include "cli/view/grouping_view.h"
#include "cli/view/output.h"
#include "cli/view/pod_group_view.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

absl::StatusOr<int> ListPodGroups(const GlobalOptions& options, const Flags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::ListPodGroupsRequest request;
  if (!options.all_namespaces) request.set_namespace_(options.ns);
  request.set_queue(flags.queue);
  BASALT_ASSIGN_OR_RETURN(
      const auto all, AskAllPages<podgroup::v1::ListPodGroupsResponse>(client, request, &PodGroupStub::ListPodGroups));
  return ShowList(options, all, all.pod_groups().empty(), "pod groups", [&] {
    return FormatPodGroups(all, options.all_namespaces, absl::ToUnixMillis(absl::Now()), StandardLook());
  });
}

absl::StatusOr<int> WatchPodGroups(const GlobalOptions& options, const Flags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::WatchPodGroupsRequest request;
  if (!flags.name.empty() || !options.all_namespaces) request.set_namespace_(options.ns);
  request.set_name(flags.name);
  const absl::Status ended = WatchChanges<WatchedPodGroups>(client, request, kPodGroup.Named(options, flags.name),
                                                            options.output, FormatPodGroupChange);
  return kPodGroup.OrList(ended, options);
}

absl::StatusOr<int> TryRules(const GlobalOptions& options, const Flags& flags) {
  podgroup::v1::TryGroupingRequest request;
  BASALT_ASSIGN_OR_RETURN(const std::vector<ObjectManifest> objects, ReadObjects(flags.file));
  for (const ObjectManifest& object : objects) request.add_objects(object.json);
  if (flags.volcano) request.set_form(podgroup::v1::TryGroupingRequest::FORM_VOLCANO);
  PodGroupClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const podgroup::v1::TryGroupingResponse response,
                          client.Ask(&PodGroupStub::TryGrouping, request));
  if (options.output.empty()) {
    Print(FormatTriedGrouping(response, StandardLook()));
  } else {
    Print(FormatManifests(response, options.output));
    std::fprintf(stderr, "%s", FormatTriedProblems(response).c_str());
  }
  const bool failed = std::any_of(
      response.pods().begin(), response.pods().end(),
      [](const podgroup::v1::TriedPod& pod) { return pod.verdict() == podgroup::v1::TriedPod::VERDICT_FAILED; });
  return failed ? kExitRefused : kExitDone;
}

absl::StatusOr<int> ShowRules(const GlobalOptions& options, const Flags& flags) {
  if (!flags.file.empty()) return TryRules(options, flags);
  PodGroupClient client(options.gateway);
  BASALT_ASSIGN_OR_RETURN(const podgroup::v1::ListGroupingRulesResponse rules,
                          client.Ask(&PodGroupStub::ListGroupingRules, podgroup::v1::ListGroupingRulesRequest()));
  return Show(options, rules, [&] { return FormatGroupingRules(rules, StandardLook()); });
}

std::vector<Verb> PodGroupVerbs() {
  const auto get = Asks<PodGroupClient>(kPodGroup, &PodGroupStub::GetPodGroup, [](const podgroup::v1::PodGroup& group) {
    return FormatPodGroup(group, absl::ToUnixMillis(absl::Now()), StandardLook());
  });
  const auto history = Asks<PodGroupClient>(
      kPodGroup, &PodGroupStub::GetPodGroupHistory,
      [](const podgroup::v1::PodGroupHistory& all) { return FormatPodGroupHistory(all, StandardLook()); });
  const auto explain = Asks<PodGroupClient>(kPod, &PodGroupStub::ExplainGrouping, FormatExplainedGrouping);
  const Switch profile("--profile", &Flags::profile_name,
                       "The rules by which the group is made; else the first of these by which there is one",
                       {.checks = {CLI::IsMember({"compat", "rich", "kai"})}});
  return {
      Verb("list", "List pod groups", ListPodGroups,
           {Switch("--queue", &Flags::queue, "Only pod groups of this queue")}),
      Verb("get", "Show one pod group", get, {kPodGroup.Name(), profile}),
      Verb("watch", "Follow one pod group, or all", WatchPodGroups, {kPodGroup.OptionalName()}),
      Verb("history", "Show every decision about a pod group", history, {kPodGroup.Name(), profile}),
      Verb("explain", "Explain why a pod is in its group", explain,
           {Switch("pod", &Flags::name, "Name of the pod", {.required = true}), profile}),
      Verb("rules", "By which rules pods are grouped, and what they make of objects of yours", ShowRules,
           {Switch("--try", &Flags::file, "File of pods and their owners, or -: prints their groups"),
            Switch("--volcano", &Flags::volcano, "The groups as Volcano reads them, not KAI", {.needs = "--try"})}),
  };
}

}  // namespace

void AddPodGroupCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  AddVerbs(AddGroup(app, "podgroup", "Pod groups, of jobs and of plain pods"), options, exit_code, PodGroupVerbs());
}

}  // namespace basalt::cli
