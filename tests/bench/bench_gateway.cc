#include "tests/bench/bench_gateway.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/time/clock.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/version.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/protocols.h"
#include "tests/bench/process_usage.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);
constexpr absl::Duration kPoll = absl::Milliseconds(2);

}  // namespace

gateway::v1::AttachRequest HelloOf(const std::string& replica) {
  gateway::v1::AttachRequest request;
  gateway::v1::Hello& hello = *request.mutable_hello();
  hello.set_cluster(std::string(kBenchCluster));
  hello.set_version(std::string(Version()));
  *hello.mutable_protocols() = rpc::RangeOf(rpc::kProtocols);
  hello.set_slot_count(kSlotCount);
  hello.mutable_self()->set_service(gateway::v1::SERVICE_KIND_JOB);
  hello.mutable_self()->set_replica(replica);
  hello.mutable_self()->set_incarnation("a");
  hello.set_name_secret("for measurements only");
  return request;
}

BenchGateway::BenchGateway(const BenchGatewayOptions& options)
    : options_(options), kube_loop_(MakeThreadLoop("kube")), kube_(version_) {}

BenchGateway::~BenchGateway() { gateway_.reset(); }

absl::Status BenchGateway::Start() {
  BASALT_RETURN_IF_ERROR(kube_.Fill(options_.shape));
  gateway::ProcessOptions options;
  options.credentials = options_.credentials;
  options.gateway.hub.cluster = std::string(kBenchCluster);
  options.gateway.hub.version = std::string(Version());
  if (options_.expects) {
    options.gateway.hub.ownership.expected = {{gateway::v1::SERVICE_KIND_JOB, options_.replicas}};
  }
  BASALT_ASSIGN_OR_RETURN(gateway_, gateway::Process::Start(options, [this](Loop& loop) {
                            others_ = std::make_unique<http::DirectClient>(loop, *kube_loop_, kube_);
                            auto source =
                                std::make_unique<PodSource>(loop, *others_, version_, options_.shape, options_.stamps);
                            source_ = source.get();
                            return source;
                          }));
  stub_ = gateway::v1::GatewayService::NewStub(rpc::MakeChannel(address()));
  return absl::OkStatus();
}

std::string BenchGateway::address() const { return fmt::format("127.0.0.1:{}", gateway_->port()); }

absl::StatusOr<gateway::v1::Topology> BenchGateway::AskTopology() {
  grpc::ClientContext context;
  gateway::v1::Topology topology;
  const grpc::Status status = stub_->GetTopology(&context, {}, &topology);
  if (!status.ok()) return absl::UnavailableError(status.error_message());
  return topology;
}

absl::Status BenchGateway::AwaitSlots(const std::string& except, const std::function<void()>& meanwhile) {
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; Pause(*kube_loop_, kPoll)) {
    meanwhile();
    if (!source_->idle()) continue;
    absl::StatusOr<gateway::v1::Topology> topology = AskTopology();
    if (!topology.ok()) continue;
    last_ = *std::move(topology);
    if (HasSlots(last_, except)) return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    "the gateway does not come to rest: " + last_.ShortDebugString());
}

bool BenchGateway::HasSlots(const gateway::v1::Topology& topology, const std::string& except) const {
  bool known = false;
  for (const auto& watch : topology.watches()) {
    known |= watch.watch() == "pods/job" && watch.objects() == options_.shape.pods();
  }
  uint32_t slots = 0;
  for (const gateway::v1::MemberStatus& member : topology.members()) {
    slots += member.slots();
    if (member.member().replica() == except) continue;
    if (!member.attached() || member.waiting_slots() > 0 || member.dirty_keys() > 0) return false;
    if (member.acknowledged_sequence() != member.sent_sequence()) return false;
  }
  return known && topology.members_size() == options_.replicas && slots == kSlotCount;
}

}  // namespace basalt::bench
