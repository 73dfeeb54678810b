#include "dev/in_process_suite.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/http/curl/curl_client.h"
#include "common/kube/names.h"
#include "common/rpc/grpc/credentials.h"
#include "common/shell/service_process.h"
#include "common/shell/signals.h"
#include "dev/attached.h"
#include "dev/certificates.h"
#include "dev/embedded_kube.h"
#include "services/jobsvc/main/parts.h"
#include "services/pgsvc/main/parts.h"
#include "services/queuesvc/main/parts.h"

namespace basalt::dev {
namespace {

constexpr absl::Duration kStartLimit = absl::Seconds(30);
constexpr int kServices = 3;
constexpr char kCluster[] = "dev";
// Used where each service has one replica: the gateway need not wait for others.
constexpr absl::Duration kFormation = absl::Milliseconds(10);

absl::Status Failed(std::string_view what) { return MakeStatus(absl::StatusCode::kInternal, what); }

}  // namespace

InProcessSuite::InProcessSuite(InProcessOptions options) : options_(std::move(options)) {}

InProcessSuite::~InProcessSuite() {
  services_.clear();
  gateways_.clear();
  kube_.reset();
}

absl::StatusOr<std::unique_ptr<InProcessSuite>> InProcessSuite::Start(InProcessOptions options) {
  auto suite = std::unique_ptr<InProcessSuite>(new InProcessSuite(std::move(options)));
  BASALT_RETURN_IF_ERROR(suite->StartAll());
  return suite;
}

absl::Status InProcessSuite::StartAll() {
  std::error_code error;
  std::filesystem::create_directories(options_.dir, error);
  if (error) return Failed(fmt::format("{} cannot be made: {}", options_.dir, error.message()));
  EmbeddedKubeOptions kube;
  kube.crds = options_.crds;
  kube.nodes = options_.nodes;
  kube.default_duration = options_.default_duration;
  BASALT_ASSIGN_OR_RETURN(kube_, EmbeddedKube::Start(kube));
  BASALT_RETURN_IF_ERROR(shell::WriteFileWhole(kubeconfig(), KubeconfigFor(kube_->url())));
  if (options_.tls) {
    BASALT_ASSIGN_OR_RETURN(certificates_, Certificates::Make(options_.dir + "/certificates", kCluster,
                                                              options_.replicas, options_.gateways));
  }
  BASALT_RETURN_IF_ERROR(StartGateways());
  BASALT_RETURN_IF_ERROR(StartServices());
  return WaitUntilAttached(gateway(), kServices * options_.replicas, kStartLimit);
}

absl::StatusOr<std::shared_ptr<const rpc::Credentials>> InProcessSuite::CredentialsOf(
    const std::string& program, const std::string& replica) const {
  if (certificates_ == nullptr) return nullptr;
  return certificates_->CredentialsOf(program, replica);
}

absl::Status InProcessSuite::StartGateways() {
  SystemRandom random;
  for (int number = 0; number < options_.gateways; ++number) {
    gateway::ProcessOptions options;
    options.gateway.hub.cluster = kCluster;
    options.gateway.hub.replica = fmt::format("gateway-{}", number);
    options.gateway.hub.version = std::string(Version());
    BASALT_ASSIGN_OR_RETURN(options.credentials, CredentialsOf("gateway", options.gateway.hub.replica));
    options.gateway.kai_scheduler_names = {std::string(kube::kKaiScheduler)};
    options.gateway.is_rich = options_.is_rich;
    if (options_.gateways > 1) {
      gateway::LeadOptions& lead = options.gateway.lead.emplace();
      lead.incarnation = MakeUuid(random);
      lead.replica = options.gateway.hub.replica;
      lead.version = options.gateway.hub.version;
    }
    if (options_.replicas == 1) options.gateway.hub.ownership.formation = kFormation;
    http::CurlOptions client;
    client.base_url = kube_->url();
    client.user_agent = fmt::format("basalt-gateway/{}", Version());
    BASALT_ASSIGN_OR_RETURN(std::unique_ptr<gateway::Process> gateway,
                            gateway::Process::Start(std::move(options), [client](Loop& loop) {
                              return http::MakeCurlClient(loop, client);
                            }));
    gateways_.push_back(std::move(gateway));
  }
  return absl::OkStatus();
}

absl::Status InProcessSuite::StartServices() {
  struct Service {
    const char* name;
    gateway::v1::ServiceKind kind;
    shell::MakeParts make_parts;
  };
  const Service services[] = {
      {"queuesvc", gateway::v1::SERVICE_KIND_QUEUE, queuesvc::MakeParts},
      {"pgsvc", gateway::v1::SERVICE_KIND_POD_GROUP, pgsvc::MakeParts},
      {"jobsvc", gateway::v1::SERVICE_KIND_JOB, jobsvc::MakeParts},
  };
  for (const Service& service : services) {
    for (int number = 0; number < options_.replicas; ++number) {
      shell::ServiceOptions options;
      options.name = service.name;
      options.kind = service.kind;
      options.replica = fmt::format("{}-{}", service.name, number);
      options.cluster = kCluster;
      options.gateways = absl::StrSplit(gateway(), ',');
      options.data_dir = fmt::format("{}/{}-data", options_.dir, options.replica);
      const std::string replica = options.replica;
      BASALT_ASSIGN_OR_RETURN(options.credentials, CredentialsOf(service.name, replica));
      absl::StatusOr<std::unique_ptr<shell::ServiceProcess>> started =
          shell::ServiceProcess::Start(std::move(options), service.make_parts);
      if (!started.ok()) return Annotate(started.status(), replica);
      services_.push_back(*std::move(started));
    }
  }
  return absl::OkStatus();
}

std::string InProcessSuite::kube_server() const { return kube_->url(); }
std::string InProcessSuite::gateway() const {
  std::vector<std::string> addresses;
  for (const auto& gateway : gateways_) addresses.push_back(fmt::format("127.0.0.1:{}", gateway->port()));
  return absl::StrJoin(addresses, ",");
}
std::vector<std::string> InProcessSuite::ctl_flags() const {
  return Certificates::CtlFlags(certificates_.get(), gateway());
}
std::string InProcessSuite::kubeconfig() const { return options_.dir + "/kubeconfig"; }

absl::Status InProcessSuite::Failure() const {
  for (const auto& gateway : gateways_) BASALT_RETURN_IF_ERROR(gateway->failure());
  for (const auto& service : services_) BASALT_RETURN_IF_ERROR(service->failure());
  return absl::OkStatus();
}

}  // namespace basalt::dev
