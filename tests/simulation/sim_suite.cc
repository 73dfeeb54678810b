#include "tests/simulation/sim_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/version.h"
#include "common/base/yaml.h"
#include "common/rpc/follow_leader.h"
#include "common/rpc/program_name.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/control/pod_group_router.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::simulation {
namespace {

bool IsAboutJobs(const kv::WriteBatch& batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const bool record = batch[i].family == kv::Family::kRecords || batch[i].family == kv::Family::kPods;
    if (record && batch[i].type != kv::WriteBatch::Operation::Type::kDeleteRange) return true;
  }
  return false;
}

}  // namespace

namespace {

std::vector<json::value> CrdsIn(const std::string& folder) {
  std::vector<json::value> loaded;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(text.str());
    if (!documents.ok()) std::abort();
    for (json::value& document : *documents) loaded.push_back(std::move(document));
  }
  return loaded;
}

// Each folder is parsed only once.
const std::vector<json::value>& Crds() {
  static const std::vector<json::value> crds = CrdsIn(BASALT_SOURCE_DIR "/deploy/crds");
  return crds;
}
const std::vector<json::value>& KaiCrds() {
  static const std::vector<json::value> crds = CrdsIn(BASALT_SOURCE_DIR "/kubesim/definitions");
  return crds;
}

}  // namespace

SimSuite::SimSuite(SimSuiteOptions options)
    : options_(options),
      random_(options.seed),
      network_(std::make_unique<rpc::SimNetwork>(time_, random_, options.network)),
      api_loop_(time_, "kubesim"),
      actor_loop_(time_, "actors"),
      user_loop_(time_, "user"),
      api_random_(random_.Next()),
      actor_random_(random_.Next()) {
  kubesim::ApiServerOptions api_options;
  api_options.crds = Crds();
  if (options.workloads) api_options.crds.insert(api_options.crds.end(), KaiCrds().begin(), KaiCrds().end());
  api_options.collection_slice = options.collection_pause > absl::ZeroDuration() ? 1 : 100;
  api_options.collection_pause = options.collection_pause;
  api_options.gc_delay = options.gc_delay;
  api_ = std::make_unique<kubesim::ApiServer>(api_loop_, api_random_, api_options);
  actor_client_ = std::make_unique<http::DirectClient>(actor_loop_, api_loop_, *api_);
  user_client_ = std::make_unique<http::DirectClient>(user_loop_, api_loop_, *api_);

  kubesim::InformerOptions pods;
  pods.path = "/api/v1/pods";
  pods_ = std::make_unique<kubesim::Informer>(actor_loop_, *actor_client_, actor_random_, pods);
  kubesim::NodeActorOptions node_options;
  node_options.nodes = options.nodes;
  node_options.clocks_ahead = options.clocks_ahead;
  nodes_ = std::make_unique<kubesim::NodeActor>(actor_loop_, *actor_client_, actor_random_, *pods_, node_options);
  kubesim::GangSchedulerOptions scheduler_options;
  scheduler_options.create_queues = false;  // queuesvc creates the queues.
  if (options.workloads) scheduler_options.kai_scheduler_names = {std::string(kube::kKaiScheduler)};
  scheduler_ =
      std::make_unique<kubesim::GangScheduler>(actor_loop_, *actor_client_, actor_random_, *pods_, scheduler_options);
  if (options.workloads) {
    workloads_ = std::make_unique<actors::Workloads>(actor_loop_, *actor_client_, actor_random_, *pods_,
                                                     actors::WorkloadsOptions());
  }
  pods_->Start();
  nodes_->Start();
  scheduler_->Start();
  if (workloads_ != nullptr) workloads_->Start();

  for (size_t i = 0; i < options.replicas.size(); ++i) {
    for (int number = 0; number < kMostReplicas; ++number) AddHost(kServices[i], number);
  }
  for (int number = 0; number < options.gateways; ++number) AddHost(kGateway, number);
}

SimSuite::~SimSuite() {
  for (auto& [name, host] : hosts_) Kill(name);
  user_calls_.clear();
  // Actors hold informers and calls to the server, so they go before it.
  workloads_.reset();
  scheduler_.reset();
  nodes_.reset();
  pods_.reset();
  user_client_.reset();
  actor_client_.reset();
  api_.reset();
}

// ---- hosts ----

void SimSuite::AddHost(std::string_view program, int number) {
  Host& host = hosts_[fmt::format("{}-{}", program, number)];
  host.program = program;
  host.api->deliver_after_cancel = true;
  host.clock = {.skew = options_.max_skew * (2 * random_.Unit() - 1),
                .drift = options_.max_drift * (2 * random_.Unit() - 1),
                .drifts_since = time_.Now()};
}

void SimSuite::StartAll() {
  for (int number = 0; number < options_.gateways; ++number) Start(fmt::format("{}-{}", kGateway, number));
  for (size_t i = 0; i < options_.replicas.size(); ++i) {
    for (int number = 0; number < options_.replicas[i]; ++number) Start(fmt::format("{}-{}", kServices[i], number));
  }
}

void SimSuite::Start(std::string_view name) {
  Kill(name);
  Note(fmt::format("{} starts", name));
  Host& host = HostOf(name);
  host.shutdown = {.number = host.shutdown.number};
  host.joined = host.started = true;
  if (host.program == kGateway) {
    StartGateway(std::string(name), host);
  } else {
    StartService(std::string(name), host);
  }
}

void SimSuite::StartGateway(const std::string& name, Host& host) {
  host.gateway = std::make_unique<GatewayProcess>(time_, name, host.clock, random_.Next());
  GatewayProcess& process = *host.gateway;
  process.client = std::make_unique<http::DirectClient>(process.loop, api_loop_, *api_, host.api);
  gateway::GatewayOptions options;
  options.hub.cluster = "simulation";
  options.hub.version = std::string(Version());
  options.hub.replica = name;
  if (options_.workloads) options.kai_scheduler_names = {std::string(kube::kKaiScheduler)};
  options.is_rich = options_.is_rich;
  options.hub.on_records_lost = [this](gateway::v1::ServiceKind service, uint32_t slot) {
    ++records_lost_[{std::string(rpc::ProgramName(service, "none")), slot}];
  };
  options.lead.emplace();
  options.lead->replica = name;
  options.lead->incarnation = MakeUuid(process.random);
  options.lead->version = options.hub.version;
  // A supervisor would restart the process in this way.
  options.on_fatal = [this, name](const absl::Status& why) {
    Note(fmt::format("{} gives up: {}", name, why.ToString()));
    time_.RunAfter(absl::Seconds(1), [this, name] { Start(name); });
  };
  process.gateway = std::make_unique<gateway::Gateway>(process.loop, *process.client, process.random, *process.metrics,
                                                       process.health, options);
  network_->AddHost(name, process.loop);
  network_->Serve(name, *process.gateway);
  process.gateway->Start(name);
}

void SimSuite::StartService(const std::string& name, Host& host) {
  host.service = std::make_unique<ServiceProcess>(time_, name, host.clock, random_.Next());
  ServiceProcess& process = *host.service;
  process.store = std::make_unique<kv::FaultyKv>(kv::OpenMemKv(host.disk));
  const auto die = [&process](uint64_t write, bool after) {
    if (process.die_at == 0 || write != process.die_at || after != process.die_after) return absl::OkStatus();
    process.dead = true;
    process.loop.Kill();
    return absl::UnavailableError("killed");
  };
  const auto die_at_record = [&process, die](uint64_t write, const kv::WriteBatch& batch) {
    if (process.die_at_record && IsAboutJobs(batch)) {
      process.die_at = write;
      process.die_after = false;
    }
    return die(write, false);
  };
  process.store->SetHooks(die_at_record, [die](uint64_t write, const kv::WriteBatch&) { return die(write, true); });
  network_->AddHost(name, process.loop);
  std::vector<std::unique_ptr<rpc::GatewayPeer>> gateways;
  for (int number = 0; number < options_.gateways; ++number) {
    gateways.push_back(network_->Gateway(name, fmt::format("{}-{}", kGateway, number)));
  }
  process.gateway = rpc::FollowLeader(std::move(gateways));
  process.peers = network_->Directory(name);
  runtime::RuntimeOptions options;
  options.cluster = "simulation";
  options.version = std::string(Version());
  options.service = rpc::ServiceOfProgram(host.program);
  options.replica = name;
  options.address = name;
  options.keeps_records = true;
  options.name_secret = fmt::format("name secret of {} in its life {}", name, ++host.lives);
  process.replica = std::make_unique<runtime::Replica>(
      options, process.loop, std::vector<Loop*>{&process.loop}, process.random, *process.store, *process.gateway,
      *process.peers, process.metrics.get(), &process.health,
      [&process, &host](runtime::Context& context) -> std::unique_ptr<runtime::Controller> {
        if (host.program == "jobsvc") {
          process.job_metrics = std::make_unique<jobsvc::JobMetrics>(*process.metrics, /*series_per_job=*/false);
          auto controller = std::make_unique<jobsvc::JobController>(context, *process.keys, *process.job_metrics);
          process.jobs = controller.get();
          return controller;
        }
        if (host.program == "pgsvc") {
          return std::make_unique<pgsvc::PodGroupController>(context, pgsvc::GroupingOptions());
        }
        return std::make_unique<queuesvc::QueueController>(context, process.metrics.get(),
                                                           queuesvc::QueueControllerOptions());
      });
  if (host.program == "pgsvc") {
    process.pod_groups = std::make_unique<pgsvc::PodGroupRouter>(*process.replica);
    network_->Serve(name, *process.pod_groups);
  }
  network_->Serve(name, process.replica->hand_over());
  process.replica->Start();
}

void SimSuite::Kill(std::string_view name) {
  Host& host = HostOf(name);
  SimLoop* loop = host.loop();
  if (loop == nullptr) return;
  Note(fmt::format("{} ends", name));
  if (host.shutdown.under_way) InterruptShutdown(host);
  loop->Kill();
  network_->RemoveHost(std::string(name));
  if (host.service != nullptr) ReadProbes(*host.service->metrics);
  if (host.gateway != nullptr) {
    ReadProbes(*host.gateway->metrics);
    ReadDenied(*host.gateway->metrics);
  }
  host.gateway.reset();
  host.service.reset();
}

void SimSuite::Leave(std::string_view name) {
  Host& host = HostOf(name);
  Note(fmt::format("{} leaves", name));
  host.joined = false;
  if (!host.is_running()) return Kill(name);
  host.service->replica->Leave([this, name = std::string(name), process = host.service.get()] {
    // Kill() must not run inside a task of the process.
    time_.RunAfter(absl::ZeroDuration(), [this, name, process] {
      if (HostOf(name).service.get() == process) Kill(name);
    });
  });
}

void SimSuite::Pause(std::string_view host) {
  Note(fmt::format("{} stops", host));
  HostOf(host).shutdown.was_paused = true;
  if (SimLoop* loop = HostOf(host).loop()) loop->Pause();
}

void SimSuite::Resume(std::string_view host) {
  if (IsPaused(host)) Note(fmt::format("{} goes on", host));
  if (SimLoop* loop = HostOf(host).loop()) loop->Resume();
}

bool SimSuite::IsPaused(std::string_view host) {
  const SimLoop* loop = HostOf(host).loop();
  return loop != nullptr && loop->alive() && loop->paused();
}

void SimSuite::ReadProbes(obs::Metrics& metrics) {
  const auto count = [&](std::string_view probe, double value) { probes_.Hit(probe, static_cast<uint64_t>(value)); };
  const obs::Labels worker = {{"worker", "0"}};
  count("unknown outcome settled by Get",
        metrics.GetCounter("basalt_writes_total", "", {{"outcome", "unknown"}, worker[0]}).Value());
  count("uncertain absence", metrics.GetGauge("basalt_uncertain_absences", "", worker).Value());
  count("stale record", metrics.GetCounter("basalt_job_stale_records_total", "").Value());
  count("write refused by the fence", metrics.GetCounter("basalt_gateway_writes_fenced_total", "").Value());
  count(kWithoutRecords, metrics.GetCounter("basalt_gateway_slots_without_records_total", "").Value());
}

void SimSuite::ReadDenied(const obs::Metrics& metrics) {
  std::istringstream lines(metrics.Text());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("basalt_gateway_refusals_total{")) continue;
    // "token" is not a reason here: a write may arrive in a later session than the one in which it was sent, and is
    // then sent again.
    for (const char* reason : {"secret", "key", "kind", "object", "body", "hello"}) {
      if (line.find(fmt::format("reason=\"{}\"", reason)) == std::string::npos) continue;
      // A replica that has lost its disk has lost its name secret, too. The replica waits for the end of the grace
      // period under a new one.
      if (std::string_view(reason) == "secret" && has_lost_disk_) continue;
      denied_.push_back(line);
    }
  }
}

void SimSuite::KillAtWrite(std::string_view host, uint64_t n, bool after) {
  ServiceProcess* process = HostOf(host).service.get();
  if (process == nullptr) return;
  process->die_at = n == 0 ? 0 : process->store->writes() + n;
  process->die_at_record = false;
  process->die_after = after;
}

void SimSuite::KillAtRecord(std::string_view host) {
  if (ServiceProcess* process = HostOf(host).service.get()) process->die_at_record = true;
}

std::vector<std::string> SimSuite::Bury() {
  std::vector<std::string> dead;
  for (const auto& [name, host] : hosts_) {
    if (host.service != nullptr && host.service->dead) dead.push_back(name);
  }
  for (const std::string& name : dead) Kill(name);
  return dead;
}

void SimSuite::LoseDisk(std::string_view host) { LosePower(host, kv::MakeMemDisk()); }

void SimSuite::LosePower(std::string_view host, std::shared_ptr<kv::MemDisk> copy) {
  Note(fmt::format("{} loses its disk, or some of it", host));
  has_lost_disk_ = true;
  HostOf(host).disk = std::move(copy);
  HostOf(host).disk_lost = true;
}

void SimSuite::CutApi(std::string_view gateway, bool cut) {
  Note(fmt::format("{} {} the API server", gateway, cut ? "loses" : "reaches"));
  Host& host = HostOf(gateway);
  host.api->cut = cut;
  if (host.gateway != nullptr) host.gateway->client->SetCut(cut);
}

// ---- the world ----

std::string SimSuite::CreateObject(std::string_view manifest_json) {
  const absl::StatusOr<json::value> parsed = ParseJson(manifest_json);
  if (!parsed.ok()) return "";
  const absl::StatusOr<json::value> created = api_->CreateObject(*parsed);
  return created.ok() ? std::string(FindString(*FindPath(*created, {"metadata"}), "uid")) : std::string();
}

void SimSuite::DeleteObject(std::string_view path) { Ask("DELETE", path, "", ""); }

void SimSuite::DeleteObject(std::string_view path, std::string_view uid, std::string_view propagation) {
  const json::object options{{"kind", "DeleteOptions"},
                             {"apiVersion", "v1"},
                             {"propagationPolicy", propagation},
                             {"preconditions", json::object{{"uid", uid}}}};
  Ask("DELETE", path, ToText(options), "application/json");
}

void SimSuite::DisruptPod(std::string pod, std::string reason) {
  actor_loop_.Post(
      [this, pod = std::move(pod), reason = std::move(reason)] { nodes_->DisruptPod("default/" + pod, reason); });
}

void SimSuite::EvictPod(std::string pod) {
  actor_loop_.Post([this, pod = std::move(pod)] { nodes_->EvictPod("default/" + pod); });
}

void SimSuite::PatchObject(std::string_view path, std::string_view json_patch) {
  Ask("PATCH", path, json_patch, "application/json-patch+json");
}

void SimSuite::Ask(std::string_view method, std::string_view path, std::string_view body, std::string_view type) {
  http::Request request;
  request.method = std::string(method);
  request.target = std::string(path);
  request.headers = {{"User-Agent", "user"}};
  if (!type.empty()) request.headers.push_back({"Content-Type", std::string(type)});
  request.body = std::string(body);
  const auto again = [this, method = request.method, path = request.target, body = request.body,
                      type = std::string(type)] { Ask(method, path, body, type); };
  // A person repeats a request that did not succeed.
  user_calls_.push_back(
      http::Fetch(*user_client_, std::move(request), [this, again](absl::StatusOr<http::Response> answer) {
        // The object is gone or was created anew, so that the request was about another one.
        const bool moot = answer.ok() && (answer->status == 404 || answer->status == 409 || answer->status == 422);
        const bool done = moot || (answer.ok() && (answer->status == 200 || answer->status == 202));
        if (!done) user_loop_.RunAfter(absl::Seconds(1), again);
      }));
}

}  // namespace basalt::simulation
