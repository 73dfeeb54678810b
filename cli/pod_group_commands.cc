#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/connect/watched.h"
#include "cli/follow/watch_changes.h"
#include "cli/manifest.h"
#include "cli/view/grouping_view.h"
#include "cli/view/output.h"
#include "cli/view/pod_group_view.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

struct PodGroupFlags {
  std::string name;
  std::string queue;
  std::string objects;  // File with the objects on which the rules are tried.
  std::string profile;  // Empty for any profile.
  bool volcano = false;
};

podgroup::v1::Profile ProfileOf(const PodGroupFlags& flags) {
  podgroup::v1::Profile profile = podgroup::v1::PROFILE_UNSPECIFIED;
  const bool is_known = podgroup::v1::Profile_Parse("PROFILE_" + absl::AsciiStrToUpper(flags.profile), &profile);
  return is_known ? profile : podgroup::v1::PROFILE_UNSPECIFIED;
}

std::string GroupsThereAre(const GlobalOptions& options) {
  return fmt::format("basaltctl podgroup list -n {} tells those that there are", options.ns);
}

absl::StatusOr<int> List(const GlobalOptions& options, const PodGroupFlags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::ListPodGroupsRequest request;
  if (!options.all_namespaces) request.set_namespace_(options.ns);
  request.set_queue(flags.queue);
  const auto list = [](auto& stub, const auto&... arguments) { return stub.ListPodGroups(arguments...); };
  BASALT_ASSIGN_OR_RETURN(const auto all, AskAllPages<podgroup::v1::ListPodGroupsResponse>(client, request, list));
  if (!options.output.empty()) {
    Print(FormatList(all, options.output));
  } else if (all.pod_groups().empty()) {
    std::fprintf(stderr, "No pod groups found%s\n",
                 options.all_namespaces ? "" : fmt::format(" in namespace {}; -A looks in all", options.ns).c_str());
  } else {
    Print(FormatPodGroups(all, options.all_namespaces, absl::ToUnixMillis(absl::Now()), StandardLook()));
  }
  return kExitDone;
}

absl::StatusOr<int> Get(const GlobalOptions& options, const PodGroupFlags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::GetPodGroupRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_profile(ProfileOf(flags));
  podgroup::v1::PodGroup group;
  const auto get = [&](auto& stub, auto* context) { return stub.GetPodGroup(context, request, &group); };
  BASALT_RETURN_IF_ERROR(OrLookAt(client.Ask(get), GroupsThereAre(options)));
  Print(options.output.empty() ? FormatPodGroup(group, absl::ToUnixMillis(absl::Now()), StandardLook())
                               : FormatMessage(group, options.output));
  return kExitDone;
}

absl::StatusOr<int> Watch(const GlobalOptions& options, const PodGroupFlags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::WatchPodGroupsRequest request;
  if (!flags.name.empty() || !options.all_namespaces) request.set_namespace_(options.ns);
  request.set_name(flags.name);
  const std::string what = fmt::format("pod group {}/{}", options.ns, flags.name);
  const absl::Status ended =
      WatchChanges<WatchedPodGroups>(client, request, what, options.output, FormatPodGroupChange);
  return OrLookAt(ended, GroupsThereAre(options));
}

absl::StatusOr<int> History(const GlobalOptions& options, const PodGroupFlags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::GetPodGroupHistoryRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_profile(ProfileOf(flags));
  podgroup::v1::PodGroupHistory history;
  const auto get = [&](auto& stub, auto* context) { return stub.GetPodGroupHistory(context, request, &history); };
  BASALT_RETURN_IF_ERROR(OrLookAt(client.Ask(get), GroupsThereAre(options)));
  Print(options.output.empty() ? FormatPodGroupHistory(history, StandardLook())
                               : FormatMessage(history, options.output));
  return kExitDone;
}

absl::StatusOr<int> Explain(const GlobalOptions& options, const PodGroupFlags& flags) {
  PodGroupClient client(options.gateway);
  podgroup::v1::ExplainGroupingRequest request;
  request.set_namespace_(options.ns);
  request.set_name(flags.name);
  request.set_profile(ProfileOf(flags));
  podgroup::v1::ExplainGroupingResponse response;
  BASALT_RETURN_IF_ERROR(
      client.Ask([&](auto& stub, auto* context) { return stub.ExplainGrouping(context, request, &response); }));
  Print(options.output.empty() ? FormatExplainedGrouping(response) : FormatMessage(response, options.output));
  return kExitDone;
}

absl::StatusOr<int> Try(const GlobalOptions& options, const PodGroupFlags& flags) {
  podgroup::v1::TryGroupingRequest request;
  BASALT_ASSIGN_OR_RETURN(const std::vector<ObjectManifest> objects, ReadObjects(flags.objects));
  for (const ObjectManifest& object : objects) request.add_objects(object.json);
  if (flags.volcano) request.set_form(podgroup::v1::TryGroupingRequest::FORM_VOLCANO);
  PodGroupClient client(options.gateway);
  podgroup::v1::TryGroupingResponse response;
  BASALT_RETURN_IF_ERROR(
      client.Ask([&](auto& stub, auto* context) { return stub.TryGrouping(context, request, &response); }));
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

absl::StatusOr<int> Rules(const GlobalOptions& options, const PodGroupFlags& flags) {
  if (!flags.objects.empty()) return Try(options, flags);
  PodGroupClient client(options.gateway);
  const podgroup::v1::ListGroupingRulesRequest request;
  podgroup::v1::ListGroupingRulesResponse response;
  BASALT_RETURN_IF_ERROR(
      client.Ask([&](auto& stub, auto* context) { return stub.ListGroupingRules(context, request, &response); }));
  Print(options.output.empty() ? FormatGroupingRules(response, StandardLook())
                               : FormatMessage(response, options.output));
  return kExitDone;
}

}  // namespace

void AddPodGroupCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  const Commands<PodGroupFlags> group(AddGroup(app, "podgroup", "Pod groups, of jobs and of plain pods"), options,
                                      exit_code);
  PodGroupFlags& flags = group.flags();
  group.Add("list", "List pod groups", List)->add_option("--queue", flags.queue, "Only pod groups of this queue");
  const auto add_profile = [&flags](CLI::App& command, std::vector<std::string> profiles) {
    command
        .add_option("--profile", flags.profile,
                    "The rules by which the group is made; else the first of these by which there is one")
        ->check(CLI::IsMember(std::move(profiles)));
  };
  CLI::App& get = *group.Add("get", "Show one pod group", Get);
  get.add_option("name", flags.name, "Name of the pod group")->required();
  add_profile(get, {"compat", "rich", "kai"});
  group.Add("watch", "Follow one pod group, or all", Watch)->add_option("name", flags.name, "Name of the pod group");
  CLI::App& history = *group.Add("history", "Show every decision about a pod group", History);
  history.add_option("name", flags.name, "Name of the pod group")->required();
  add_profile(history, {"compat", "rich", "kai"});
  CLI::App& explain = *group.Add("explain", "Explain why a pod is in its group", Explain);
  explain.add_option("pod", flags.name, "Name of the pod")->required();
  add_profile(explain, {"compat", "rich", "kai"});
  CLI::App& rules =
      *group.Add("rules", "By which rules pods are grouped, and what they make of objects of yours", Rules);
  CLI::Option* const objects =
      rules.add_option("--try", flags.objects, "File of pods and their owners, or -: prints their groups");
  rules.add_flag("--volcano", flags.volcano, "The groups as Volcano reads them, not KAI")->needs(objects);
}

}  // namespace basalt::cli
