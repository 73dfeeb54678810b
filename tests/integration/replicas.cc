#include "tests/integration/replicas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "absl/time/clock.h"
#include "cli/connect/channel.h"
#include "cli/connect/client.h"
#include "cli/connect/gateways.h"
#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/base/version.h"
#include "common/http/curl/curl_client.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/status_bridge.h"
#include "services/jobsvc/main/parts.h"
#include "services/pgsvc/main/parts.h"
#include "services/queuesvc/main/parts.h"

namespace basalt::integration {
namespace {

void SetDeadline(grpc::ClientContext& context, absl::Duration limit = absl::Seconds(20)) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
}

}  // namespace

bool Eventually(const std::function<bool()>& condition, absl::Duration limit) {
  const absl::Time end = absl::Now() + limit;
  while (!condition()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

Replicas::Replicas(const Options& options) {
  const rpc::TlsFiles files = authority_.FilesOf(identity::Role::kOperator, "topology");
  tls_ = {.cert_file = files.certificate, .key_file = files.key, .ca_file = files.authorities, .cluster = "test"};
  dev::EmbeddedKubeOptions kube;
  kube.crds = {BASALT_SOURCE_DIR "/deploy/crds"};
  kube.nodes = 2;
  kube.default_duration = absl::Seconds(1);
  auto started = dev::EmbeddedKube::Start(kube);
  if (!started.ok()) {
    ADD_FAILURE() << started.status();
    return;
  }
  kube_ = *std::move(started);
  for (size_t replica = 0; replica < std::size(gateways_); ++replica) {
    gateways_[replica] = StartGateway(replica, options);
    if (gateways_[replica] == nullptr) return;
    gateway_addresses_.push_back(fmt::format("127.0.0.1:{}", gateways_[replica]->port()));
  }
  for (const Service service : kServices) {
    for (size_t replica = 0; replica < kReplicas; ++replica) Start(service, replica);
  }
  ok_ = Eventually([this] {
    size_t sharing = 0;
    const gateway::v1::Topology topology = Topology();
    for (const gateway::v1::MemberStatus& member : topology.members()) {
      sharing += member.attached() && member.slots() > 0 ? 1 : 0;
    }
    if (sharing != 3 * kReplicas) return false;
    for (size_t replica = 0; replica < kReplicas; ++replica) {
      if (!ListFrom(replica, 0).ok()) return false;
    }
    return true;
  });
  EXPECT_TRUE(ok_) << Topology().ShortDebugString();
}

Replicas::~Replicas() {
  for (auto& service : processes_) {
    for (auto& process : service) process.reset();
  }
  for (auto& gateway : gateways_) gateway.reset();
}

std::unique_ptr<gateway::Process> Replicas::StartGateway(size_t replica, const Options& options) {
  SystemRandom random;
  gateway::ProcessOptions process;
  process.gateway.hub.cluster = "test";
  process.gateway.hub.version = std::string(Version());
  process.gateway.hub.replica = fmt::format("gateway-{}", replica);
  process.credentials = authority_.CredentialsOf(identity::Role::kGateway, process.gateway.hub.replica);
  process.gateway.hub.ownership.grace = options.grace;
  process.gateway.hub.ownership.formation = absl::Seconds(1);
  process.gateway.lead = gateway::LeadOptions{};
  process.gateway.lead->replica = process.gateway.hub.replica;
  process.gateway.lead->incarnation = MakeUuid(random);
  process.gateway.lead->version = process.gateway.hub.version;
  http::CurlOptions client;
  client.base_url = kube_->url();
  client.user_agent = "basalt-gateway/test";
  auto gateway = gateway::Process::Start(process, [client](Loop& loop) { return http::MakeCurlClient(loop, client); });
  if (gateway.ok()) return *std::move(gateway);
  ADD_FAILURE() << gateway.status();
  return nullptr;
}

void Replicas::StopLeadingGateway() {
  const std::string leader = Topology().gateway();
  for (size_t replica = 0; replica < std::size(gateways_); ++replica) {
    if (leader == fmt::format("gateway-{}", replica)) gateways_[replica].reset();
  }
}

void Replicas::Start(Service service, size_t replica) {
  const struct {
    const char* name;
    gateway::v1::ServiceKind kind;
    identity::Role role;
    shell::MakeParts make_parts;
  } programs[] = {
      {"jobsvc", gateway::v1::SERVICE_KIND_JOB, identity::Role::kJobsvc, jobsvc::MakeParts},
      {"pgsvc", gateway::v1::SERVICE_KIND_POD_GROUP, identity::Role::kPgsvc, pgsvc::MakeParts},
      {"queuesvc", gateway::v1::SERVICE_KIND_QUEUE, identity::Role::kQueuesvc, queuesvc::MakeParts},
  };
  const auto& program = programs[service];
  shell::ServiceOptions options;
  options.name = program.name;
  options.kind = program.kind;
  options.replica = fmt::format("{}-{}", program.name, replica);
  options.cluster = "test";
  options.credentials = authority_.CredentialsOf(rpc::RoleOf(program.kind), options.replica);
  options.gateways = gateway_addresses_;
  options.data_dir = dir_ / options.replica;
  options.workers = 2;
  auto process = shell::ServiceProcess::Start(options, program.make_parts);
  if (!process.ok()) {
    ADD_FAILURE() << options.replica << ": " << process.status();
    return;
  }
  const auto channel = grpc::CreateChannel(fmt::format("127.0.0.1:{}", (*process)->port()),
                                           operator_->ForChannel(identity::Only({program.role})));
  processes_[service][replica] = *std::move(process);
  switch (service) {
    case kJobsvc:
      jobs_[replica] = job::v1::JobService::NewStub(channel);
      break;
    case kPgsvc:
      pod_groups_[replica] = podgroup::v1::PodGroupQueryService::NewStub(channel);
      break;
    case kQueuesvc:
      queues_[replica] = queue::v1::QueueService::NewStub(channel);
      break;
  }
}

void Replicas::Leave(Service service, size_t replica) {
  processes_[service][replica]->Leave();
  Stop(service, replica);
}

void Replicas::LoseDisk(size_t replica) { std::filesystem::remove_all(dir_ / fmt::format("jobsvc-{}", replica)); }

gateway::v1::Topology Replicas::Topology() const {
  for (size_t replica = 0; replica < std::size(gateways_); ++replica) {
    if (gateways_[replica] == nullptr) continue;
    auto topology = cli::FetchTopology(gateway_addresses_[replica]);
    if (topology.ok() && topology->leads()) return *std::move(topology);
  }
  return {};
}

size_t Replicas::OwnerOf(const std::string& key) const {
  std::vector<std::string> names;
  for (size_t replica = 0; replica < kReplicas; ++replica) names.push_back(fmt::format("jobsvc-{}", replica));
  return RendezvousOwner({names.begin(), names.end()}, SlotOf(key));
}

absl::StatusOr<job::v1::Job> Replicas::Submit(size_t replica, const std::string& name, const std::string& sleep) {
  job::v1::SubmitJobRequest request;
  request.set_manifest_json(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":")" + name +
      R"("},"spec":{"schedulerName":"volcano","queue":"default","tasks":[{"name":"t","replicas":2,"template":{"spec":)"
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["sleep",")" +
      sleep + R"("]}]}}}]}})");
  grpc::ClientContext context;
  SetDeadline(context);
  job::v1::Job response;
  const grpc::Status status = job(replica).SubmitJob(&context, request, &response);
  if (!status.ok()) return rpc::FromGrpc(status);
  return response;
}

absl::StatusOr<job::v1::Job> Replicas::Get(size_t replica, const std::string& name) {
  job::v1::GetJobRequest request;
  request.set_name(name);
  grpc::ClientContext context;
  SetDeadline(context);
  job::v1::Job response;
  const grpc::Status status = job(replica).GetJob(&context, request, &response);
  if (!status.ok()) return rpc::FromGrpc(status);
  return response;
}

absl::Status Replicas::Delete(size_t replica, const std::string& name) {
  job::v1::DeleteJobRequest request;
  request.set_name(name);
  grpc::ClientContext context;
  SetDeadline(context);
  job::v1::DeleteJobResponse response;
  return rpc::FromGrpc(job(replica).DeleteJob(&context, request, &response));
}

absl::StatusOr<std::vector<job::v1::Job>> Replicas::ListFrom(size_t replica, int page_size) {
  std::vector<job::v1::Job> all;
  job::v1::ListJobsRequest request;
  request.set_page_size(page_size);
  do {
    grpc::ClientContext context;
    SetDeadline(context);
    job::v1::ListJobsResponse page;
    const grpc::Status status = job(replica).ListJobs(&context, request, &page);
    if (!status.ok()) return rpc::FromGrpc(status);
    all.insert(all.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
    replica = (replica + 1) % kReplicas;
  } while (!request.page_token().empty());
  return all;
}

}  // namespace basalt::integration
