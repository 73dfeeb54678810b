#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed_figures.h"
#include "tests/bench/podgroups/group_figures.h"
#include "tests/bench/podgroups/group_load.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kMostLatency = absl::Milliseconds(100);
constexpr double kMostCpu = 1.2;  // Relative to the CPU time with a bare client.
constexpr double kMostGrowth = 1.5;
constexpr absl::Duration kLimit = absl::Minutes(10);

std::string_view NameOf(Form form) { return form == Form::kKai ? "KAI" : "Volcano"; }

BedOptions BedFor(const GroupBenchOptions& options) {
  BedOptions bed = options.bed;
  bed.kai = true;
  bed.places_pods = false;  // Placement is not part of grouping.
  return bed;
}

double CpuMs(const Window& window, int pods) {
  absl::Duration all = window.cpu + window.bench_cpu;
  for (const auto& [program, used] : window.others) all += used;
  return absl::ToDoubleMilliseconds(all) / pods;
}

// Returns the times from the creation of each pod to the first write of our processes, or of the client `links`, that
// links the pod.
std::vector<absl::Duration> TimesToLink(const Window& window, std::string_view links) {
  std::map<std::string_view, absl::Time> made;
  std::vector<absl::Duration> times;
  for (const LoggedWrite& write : window.writes) {
    if (write.resource != "pods" || !write.succeeded() || !write.subresource.empty()) continue;
    if (write.verb == "create") {
      made.emplace(write.name, write.time);
    } else if (write.ours || write.user_agent == links) {
      const auto pod = made.find(write.name);
      if (pod == made.end()) continue;
      times.push_back(write.time - pod->second);
      made.erase(pod);
    }
  }
  return times;
}

Figure WritesPerPod(const std::string& what, const Window& window, int pods, double goal) {
  const Tally tally = Count(window.writes);
  Figure figure;
  figure.name = fmt::format("{}: writes for each pod", what);
  figure.value = static_cast<double>(tally.writes - tally.queues) / pods;  // queuesvc writes the counts of queues.
  figure.goal = fmt::format("<= {:.4g}, none answered 409", goal);
  figure.met = figure.value <= goal + 1e-9 && tally.conflicts == 0;
  figure.notes = {KindsOf(tally, pods), fmt::format("{} answered 409", tally.conflicts), window.Processes()};
  return figure;
}

absl::Status AwaitLinked(Bed& bed, int pods) {
  return bed.Await(
      "all pods linked", [pods](const View& view) { return view.pods.grouped() >= pods; }, kLimit);
}

std::vector<actors::ApiRequest> BarePods(std::string_view prefix, int count, Form form) {
  std::vector<actors::ApiRequest> requests;
  for (int i = 0; i < count; ++i) requests.push_back(CreatePod(fmt::format("{}-{}", prefix, i), SchedulerOf(form)));
  return requests;
}

// Creates pods at a steady pace and waits until each is linked.
absl::StatusOr<Window> SendBarePods(Bed& bed, const GroupBenchOptions& options, std::string_view prefix, int count,
                                    int linked_before, Form form) {
  BASALT_RETURN_IF_ERROR(bed.Begin());
  bed.SendSteadily(BarePods(prefix, count, form), options.per_second);
  BASALT_RETURN_IF_ERROR(AwaitLinked(bed, linked_before + count));
  return bed.End();
}

absl::Status MeasureBare(const GroupBenchOptions& options, int count, Form form, std::vector<Figure>& figures) {
  const std::string what = fmt::format("{} bare pods, {}", Number(count), NameOf(form));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(BedFor(options)));
  BASALT_ASSIGN_OR_RETURN(const Window ours, SendBarePods(*bed, options, "ours", count, 0, form));
  figures.push_back(WritesPerPod(what, ours, count, 2));
  const std::vector<absl::Duration> times = TimesToLink(ours, kBareAgent);
  if (times.size() != static_cast<size_t>(count)) {
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} of {} pods were linked", times.size(), count));
  }
  Figure& latency = figures.emplace_back(PercentileOf(
      fmt::format("{}, {} a second: from pod to link", what, options.per_second), times, 0.99, kMostLatency));
  latency.notes = {fmt::format("p50 {:.1f} ms, longest {:.1f} ms", absl::ToDoubleMilliseconds(Percentile(times, 0.5)),
                               absl::ToDoubleMilliseconds(Percentile(times, 1))),
                   ours.Machine()};
  BASALT_ASSIGN_OR_RETURN(Figure restart, WritesOfRestart(*bed, what, /*with_disks=*/false));
  figures.push_back(std::move(restart));

  BASALT_RETURN_IF_ERROR(bed->ReplaceOurs([form](const View& view, std::string_view pod, std::string_view) {
    return GroupBarePod(form, pod, view.pods.UidOf(pod));
  }));
  BASALT_ASSIGN_OR_RETURN(const Window bare, SendBarePods(*bed, options, "bare", count, count, form));
  Figure& cpu = figures.emplace_back();
  cpu.name = fmt::format("{}: CPU of all processes beside a bare client's", what);
  cpu.value = CpuMs(ours, count) / CpuMs(bare, count);
  SetMost(kMostCpu, cpu);
  cpu.notes = {fmt::format("{:.3f} ms for each pod, of it ours {:.3f}; with the bare client {:.3f}", CpuMs(ours, count),
                           absl::ToDoubleMilliseconds(ours.cpu) / count, CpuMs(bare, count)),
               bare.Machine()};
  return absl::OkStatus();
}

absl::StatusOr<Window> MeasureOwned(Bed& bed, const std::string& what, int pods, double goal,
                                    std::vector<Figure>& figures) {
  BASALT_RETURN_IF_ERROR(AwaitLinked(bed, pods));
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(Window window, bed.End());
  Figure writes = WritesPerPod(what, window, pods, goal);
  writes.notes.push_back(
      fmt::format("ours {:.3f} ms of CPU for each pod", absl::ToDoubleMilliseconds(window.cpu) / pods));
  figures.push_back(std::move(writes));
  BASALT_ASSIGN_OR_RETURN(Figure restart, WritesOfRestart(bed, what, /*with_disks=*/false));
  figures.push_back(std::move(restart));
  return window;
}

absl::StatusOr<std::vector<PodOwner>> MakeLeaderWorkerSets(Bed& bed, int count, int size) {
  bed.Send({DefineLeaderWorkerSets()});
  BASALT_RETURN_IF_ERROR(bed.AwaitItems(std::string(kLeaderWorkerSetsPath), 0).status());
  std::vector<actors::ApiRequest> requests;
  for (int i = 0; i < count; ++i) requests.push_back(CreateLeaderWorkerSet(fmt::format("gang-{}", i), size));
  bed.Send(std::move(requests));
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> sets,
                          bed.AwaitItems(std::string(kLeaderWorkerSetsPath), static_cast<size_t>(count)));
  std::vector<PodOwner> owners;
  for (const json::value& set : sets) {
    const json::value& metadata = *Find(set, "metadata");
    owners.push_back({.api_version = "leaderworkerset.x-k8s.io/v1",
                      .kind = "LeaderWorkerSet",
                      .name = std::string(FindString(metadata, "name")),
                      .uid = std::string(FindString(metadata, "uid"))});
  }
  return owners;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureBarePods(const GroupBenchOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  for (const int count : options.bare_pods) {
    for (const Form form : {Form::kKai, Form::kVolcano}) {
      progress(fmt::format("{} bare pods, {}", count, NameOf(form)));
      BASALT_RETURN_IF_ERROR(MeasureBare(options, count, form, figures));
    }
  }
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureSets(const GroupBenchOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  for (const Form form : {Form::kKai, Form::kVolcano}) {
    const std::string what =
        fmt::format("{} ReplicaSets of {} pods, {}", Number(options.sets), options.pods_of_set, NameOf(form));
    progress(what);
    BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(BedFor(options)));
    std::vector<actors::ApiRequest> sets;
    for (int i = 0; i < options.sets; ++i) {
      sets.push_back(CreateReplicaSet(fmt::format("set-{}", i), SchedulerOf(form), options.pods_of_set));
    }
    BASALT_RETURN_IF_ERROR(bed->Begin());
    bed->SendSteadily(std::move(sets), std::max(1, options.per_second / options.pods_of_set));
    BASALT_RETURN_IF_ERROR(
        MeasureOwned(*bed, what, options.sets * options.pods_of_set, 1 + 1.0 / options.pods_of_set, figures).status());
  }
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureGangs(const GroupBenchOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  const std::string what =
      fmt::format("{} LeaderWorkerSets of {} pods, KAI", Number(options.gangs), options.pods_of_gang);
  progress(what);
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(BedFor(options)));
  BASALT_ASSIGN_OR_RETURN(const std::vector<PodOwner> owners,
                          MakeLeaderWorkerSets(*bed, options.gangs, options.pods_of_gang));
  std::vector<actors::ApiRequest> pods;
  for (const PodOwner& owner : owners) {
    for (int i = 0; i < options.pods_of_gang; ++i) {
      pods.push_back(CreatePod(fmt::format("{}-{}", owner.name, i), SchedulerOf(Form::kKai), &owner,
                               fmt::format(R"("leaderworkerset.sigs.k8s.io/group-index":"0",)"
                                           R"("leaderworkerset.sigs.k8s.io/worker-index":"{}")",
                                           i)));
    }
  }
  BASALT_RETURN_IF_ERROR(bed->Begin());
  bed->SendSteadily(std::move(pods), options.per_second);
  BASALT_RETURN_IF_ERROR(
      MeasureOwned(*bed, what, options.gangs * options.pods_of_gang, 1 + 1.0 / options.pods_of_gang, figures).status());
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureLarge(const GroupBenchOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  for (const Form form : {Form::kKai, Form::kVolcano}) {
    std::vector<double> cpu_us;
    for (const int pods : {options.pods_of_large / 10, options.pods_of_large}) {
      const std::string what = fmt::format("a ReplicaSet of {} pods, {}", Number(pods), NameOf(form));
      progress(what);
      BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(BedFor(options)));
      BASALT_RETURN_IF_ERROR(bed->Begin());
      bed->Send({CreateReplicaSet("large", SchedulerOf(form), pods)});
      BASALT_ASSIGN_OR_RETURN(const Window window, MeasureOwned(*bed, what, pods, 1 + 1.0 / pods, figures));
      cpu_us.push_back(absl::ToDoubleMicroseconds(window.usage.at("pgsvc").cpu) / pods);
    }
    Figure& growth = figures.emplace_back();
    growth.name = fmt::format("a ReplicaSet of ten times as many pods, {}: CPU of pgsvc for each", NameOf(form));
    growth.value = cpu_us.back() / cpu_us.front();
    SetMost(kMostGrowth, growth);
    growth.notes = {fmt::format("{:.0f} us, and {:.0f} us of ten times as many", cpu_us.front(), cpu_us.back())};
  }
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureOthers(const GroupBenchOptions& options, const Progress& progress) {
  const std::string what = fmt::format("{} pods of other schedulers", Number(options.others));
  progress(what);
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(BedFor(options)));
  std::vector<actors::ApiRequest> pods;
  for (int i = 0; i < options.others; ++i) pods.push_back(CreatePod(fmt::format("other-{}", i), "somebody-elses"));
  BASALT_RETURN_IF_ERROR(bed->Begin());
  bed->SendSteadily(std::move(pods), options.others_per_second);
  BASALT_RETURN_IF_ERROR(bed->Await(
      "all pods made", [&](const View& view) { return view.pods.size() >= options.others; }, kLimit));
  BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
  std::vector<Figure> figures;
  for (const char* program : {"pgsvc", "gateway"}) {
    Figure& figure = figures.emplace_back();
    figure.name = fmt::format("{}: CPU of {} for each", what, program);
    figure.value = absl::ToDoubleMicroseconds(window.usage.at(program).cpu) / options.others;
    figure.unit = "us";
    SetMost(1, figure);  // The cost of a process that has nothing to do.
    figure.notes = {window.Processes(), window.Machine()};
  }
  return figures;
}

}  // namespace basalt::bench
