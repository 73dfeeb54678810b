#include "tests/simulation/sim_suite.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/slots.h"
#include "common/base/version.h"
#include "common/base/yaml.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/control/pod_group_router.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::simulation {
namespace {

// Keys in the right form that are none, at once.
class FakeKeyMaker final : public jobsvc::KeyMaker {
 public:
  explicit FakeKeyMaker(Loop& loop) : loop_(loop), source_(jobsvc::MakeFakeKeySource()) {}
  void MakeKeys(std::string seed, std::function<void(absl::StatusOr<jobsvc::SshKeyPair>)> done) override {
    loop_.Post([this, seed = std::move(seed), done = std::move(done)] { done(source_->MakeSshKeyPair(seed)); });
  }

 private:
  Loop& loop_;
  std::unique_ptr<jobsvc::SshKeySource> source_;
};

gateway::v1::ServiceKind KindOf(std::string_view service) {
  if (service == "jobsvc") return gateway::v1::SERVICE_KIND_JOB;
  if (service == "pgsvc") return gateway::v1::SERVICE_KIND_POD_GROUP;
  return gateway::v1::SERVICE_KIND_QUEUE;
}

void Mix(uint64_t& hash, std::string_view text) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  hash ^= 0xff;
  hash *= 1099511628211ULL;
}

}  // namespace

const std::vector<json::value>& Crds() {
  static const std::vector<json::value> crds = [] {
    std::vector<json::value> loaded;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(BASALT_SOURCE_DIR "/deploy/crds")) {
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
  }();
  return crds;
}

struct SimSuite::GatewayProcess {
  GatewayProcess(SimTime& time, uint64_t seed) : loop(time, "gateway"), random(seed), metrics(obs::MakeMetrics()) {}
  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<obs::Metrics> metrics;
  obs::Health health;
  std::unique_ptr<http::DirectClient> client;
  std::unique_ptr<gateway::Gateway> gateway;
};

struct SimSuite::ServiceProcess {
  ServiceProcess(SimTime& time, std::string name, uint64_t seed)
      : loop(time, std::move(name)), random(seed), metrics(obs::MakeMetrics()), keys(loop) {}
  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<obs::Metrics> metrics;
  obs::Health health;
  FakeKeyMaker keys;
  std::unique_ptr<kv::FaultyKv> store;
  uint64_t die_at = 0;  // Number of the write; 0 = never.
  bool die_after = false;
  bool dead = false;
  std::unique_ptr<rpc::GatewayPeer> gateway;
  std::unique_ptr<rpc::PeerDirectory> peers;
  std::unique_ptr<runtime::Replica> replica;
  std::unique_ptr<rpc::PodGroupHandler> pod_groups;
};

SimSuite::SimSuite(SimSuiteOptions options)
    : options_(options),
      random_(options.seed),
      network_(std::make_unique<rpc::SimNetwork>(time_, random_, options.network)),
      api_loop_(time_, "kubesim"),
      actor_loop_(time_, "actors"),
      user_loop_(time_, "user"),
      api_random_(random_.Next()),
      actor_random_(random_.Next()),
      gateway_link_(std::make_shared<http::DirectLink>()) {
  kubesim::ApiServerOptions api_options;
  api_options.crds = Crds();
  api_ = std::make_unique<kubesim::ApiServer>(api_loop_, api_random_, api_options);
  actor_client_ = std::make_unique<http::DirectClient>(actor_loop_, api_loop_, *api_);
  user_client_ = std::make_unique<http::DirectClient>(user_loop_, api_loop_, *api_);
  gateway_link_->deliver_after_cancel = true;

  kubesim::InformerOptions pods;
  pods.path = "/api/v1/pods";
  pods_ = std::make_unique<kubesim::Informer>(actor_loop_, *actor_client_, actor_random_, pods);
  kubesim::NodeActorOptions node_options;
  node_options.nodes = options.nodes;
  nodes_ = std::make_unique<kubesim::NodeActor>(actor_loop_, *actor_client_, actor_random_, *pods_, node_options);
  kubesim::GangSchedulerOptions scheduler_options;
  scheduler_options.create_queues = false;  // queuesvc does.
  scheduler_ =
      std::make_unique<kubesim::GangScheduler>(actor_loop_, *actor_client_, actor_random_, *pods_, scheduler_options);
  pods_->Start();
  nodes_->Start();
  scheduler_->Start();

  for (const std::string_view service : kServices) disks_[std::string(service)] = kv::MakeMemDisk();
}

SimSuite::~SimSuite() {
  for (const std::string_view service : kServices) Kill(service);
  Kill("gateway");
  user_calls_.clear();
  // Actors hold informers and calls to the server, so they go before it.
  scheduler_.reset();
  nodes_.reset();
  pods_.reset();
  user_client_.reset();
  actor_client_.reset();
  api_.reset();
}

void SimSuite::Start(std::string_view program) {
  if (IsRunning(program)) Kill(program);
  if (program == "gateway") {
    StartGateway();
  } else {
    StartService(program);
  }
}

void SimSuite::StartGateway() {
  gateway_ = std::make_unique<GatewayProcess>(time_, random_.Next());
  GatewayProcess& process = *gateway_;
  process.client = std::make_unique<http::DirectClient>(process.loop, api_loop_, *api_, gateway_link_);
  gateway::GatewayOptions options;
  options.hub.cluster = "simulation";
  options.hub.version = std::string(Version());
  process.gateway = std::make_unique<gateway::Gateway>(process.loop, *process.client, process.random, *process.metrics,
                                                       process.health, options);
  network_->AddHost("gateway", process.loop);
  network_->Serve("gateway", *process.gateway);
  process.gateway->Start();
}

void SimSuite::StartService(std::string_view service) {
  const std::string name(service);
  services_[name] = std::make_unique<ServiceProcess>(time_, name, random_.Next());
  ServiceProcess& process = *services_[name];
  process.store = std::make_unique<kv::FaultyKv>(kv::OpenMemKv(disks_[name]));
  const auto die = [&process](uint64_t write, bool after) {
    if (process.die_at == 0 || write != process.die_at || after != process.die_after) return absl::OkStatus();
    process.dead = true;
    process.loop.Kill();
    return absl::UnavailableError("killed");
  };
  process.store->SetHooks([die](uint64_t write, const kv::WriteBatch&) { return die(write, false); },
                          [die](uint64_t write, const kv::WriteBatch&) { return die(write, true); });
  network_->AddHost(name, process.loop);
  process.gateway = network_->Gateway(name, "gateway");
  process.peers = network_->Directory(name);
  runtime::RuntimeOptions options;
  options.cluster = "simulation";
  options.version = std::string(Version());
  options.service = KindOf(service);
  options.replica = name + "-0";
  options.address = name;
  process.replica = std::make_unique<runtime::Replica>(
      options, process.loop, std::vector<Loop*>{&process.loop}, process.random, *process.store, *process.gateway,
      *process.peers, process.metrics.get(), &process.health,
      [this, &process, service](runtime::Context& context) -> std::unique_ptr<runtime::Controller> {
        if (service == "jobsvc") {
          auto controller =
              std::make_unique<jobsvc::JobController>(context, process.keys, jobsvc::JobMetrics::In(*process.metrics));
          job_controller_ = controller.get();
          return controller;
        }
        if (service == "pgsvc") return std::make_unique<pgsvc::PodGroupController>(context, pgsvc::GroupingOptions());
        return std::make_unique<queuesvc::QueueController>(context, process.metrics.get(),
                                                           queuesvc::QueueControllerOptions());
      });
  if (service == "pgsvc") {
    process.pod_groups = std::make_unique<pgsvc::PodGroupRouter>(*process.replica);
    network_->Serve(name, *process.pod_groups);
  }
  process.replica->Start();
}

void SimSuite::Kill(std::string_view program) {
  if (program == "gateway") {
    if (gateway_ == nullptr) return;
    gateway_->loop.Kill();
    network_->RemoveHost("gateway");
    gateway_.reset();
    return;
  }
  const auto found = services_.find(program);
  if (found == services_.end()) return;
  found->second->loop.Kill();
  network_->RemoveHost(std::string(program));
  ReadProbes(*found->second);
  if (program == "jobsvc") job_controller_ = nullptr;
  services_.erase(found);
}

void SimSuite::ReadProbes(ServiceProcess& process) {
  const auto count = [](double value) { return static_cast<uint64_t>(value); };
  obs::Metrics& metrics = *process.metrics;
  const obs::Labels worker = {{"worker", "0"}};
  probes_.Hit("unknown outcome settled by Get",
              count(metrics.GetCounter("basalt_writes_total", "", {{"outcome", "unknown"}, worker[0]}).Value()));
  probes_.Hit("uncertain absence", count(metrics.GetGauge("basalt_uncertain_absences", "", worker).Value()));
  probes_.Hit("stale record", count(metrics.GetCounter("basalt_job_stale_records_total", "").Value()));
}

bool SimSuite::IsRunning(std::string_view program) const {
  if (program == "gateway") return gateway_ != nullptr;
  const auto found = services_.find(program);
  return found != services_.end() && !found->second->dead;
}

void SimSuite::KillAtWrite(std::string_view service, uint64_t n, bool after) {
  const auto found = services_.find(service);
  if (found == services_.end()) return;
  found->second->die_at = found->second->store->writes() + n;
  found->second->die_after = after;
}

std::vector<std::string> SimSuite::Bury() {
  std::vector<std::string> dead;
  for (const auto& [name, process] : services_) {
    if (process->dead) dead.push_back(name);
  }
  for (const std::string& name : dead) Kill(name);
  return dead;
}

void SimSuite::LoseDisk(std::string_view service) {
  disks_[std::string(service)] = kv::MakeMemDisk();
  lost_disks_[std::string(service)] = true;
}

std::shared_ptr<kv::MemDisk> SimSuite::CopyDisk(std::string_view service) const {
  std::shared_ptr<kv::MemDisk> copy = kv::MakeMemDisk();
  kv::WriteBatch everything;
  const std::unique_ptr<kv::KvStore> from = kv::OpenMemKv(disk(service));
  for (size_t family = 0; family < kv::kFamilyCount; ++family) {
    const auto in = static_cast<kv::Family>(family);
    const absl::Status read = from->Scan(in, "", "", [&](std::string_view key, std::string_view value) {
      everything.Put(in, std::string(key), std::string(value));
      return true;
    });
    if (!read.ok()) std::abort();
  }
  if (!kv::OpenMemKv(copy)->Write(everything).ok()) std::abort();
  return copy;
}

void SimSuite::LosePower(std::string_view service, std::shared_ptr<kv::MemDisk> copy) {
  disks_[std::string(service)] = std::move(copy);
  lost_disks_[std::string(service)] = true;
}

void SimSuite::BreakGatewayConnections() {
  if (gateway_ == nullptr) return;
  gateway_->client->SetCut(true);
  gateway_->client->SetCut(false);
}

std::string SimSuite::CreateObject(std::string_view manifest_json) {
  const absl::StatusOr<json::value> parsed = ParseJson(manifest_json);
  if (!parsed.ok()) return "";
  const absl::StatusOr<json::value> created = api_->CreateObject(*parsed);
  return created.ok() ? std::string(FindString(*FindPath(*created, {"metadata"}), "uid")) : std::string();
}

void SimSuite::DeleteObject(std::string_view path) {
  http::Request request;
  request.method = "DELETE";
  request.target = std::string(path);
  request.headers = {{"User-Agent", "user"}};
  // A person repeats what did not go through.
  user_calls_.push_back(http::Fetch(
      *user_client_, std::move(request), [this, path = std::string(path)](absl::StatusOr<http::Response> answer) {
        const bool settled = answer.ok() && (answer->status == 200 || answer->status == 202 || answer->status == 404);
        if (!settled) user_loop_.RunAfter(absl::Seconds(1), [this, path] { DeleteObject(path); });
      }));
}

std::string SimSuite::JobPhase(std::string_view ns, std::string_view name) const {
  const std::shared_ptr<const json::value> job = api_->Get("jobs.batch.volcano.sh", ns, name);
  if (job == nullptr) return "";
  const json::value* state = FindPath(*job, {"status", "state"});
  const std::string_view phase = state == nullptr ? std::string_view() : FindString(*state, "phase");
  return phase.empty() ? "-" : std::string(phase);
}

uint64_t SimSuite::TraceHash() const {
  uint64_t hash = 14695981039346656037ULL;
  for (const kubesim::LoggedRequest& request : api_->log()) {
    Mix(hash, fmt::format("{} {} {} {}/{} {} {} {} {}", absl::ToUnixNanos(request.time), request.verb, request.resource,
                          request.ns, request.name, request.subresource, request.status, request.resource_version,
                          request.user_agent));
    Mix(hash, ToText(request.body));
  }
  return hash;
}

}  // namespace basalt::simulation
