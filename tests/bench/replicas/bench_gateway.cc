#include "tests/bench/replicas/bench_gateway.h"

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
#include "tests/bench/process_stats.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);
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

BenchGateway::BenchGateway(ClusterShape shape, int replicas, std::shared_ptr<const rpc::Credentials> credentials)
    : shape_(shape),
      replicas_(replicas),
      credentials_(std::move(credentials)),
      kube_loop_(MakeThreadLoop("kube")),
      kube_(version_) {}

BenchGateway::~BenchGateway() { gateway_.reset(); }

absl::Status BenchGateway::Start() {
  BASALT_RETURN_IF_ERROR(kube_.Fill(shape_));
  gateway::ProcessOptions options;
  options.credentials = credentials_;
  options.gateway.hub.cluster = std::string(kBenchCluster);
  options.gateway.hub.version = std::string(Version());
  options.gateway.hub.ownership.expected = {{gateway::v1::SERVICE_KIND_JOB, replicas_}};
  BASALT_ASSIGN_OR_RETURN(gateway_, gateway::Process::Start(options, [this](Loop& loop) {
                            others_ = std::make_unique<http::DirectClient>(loop, *kube_loop_, kube_);
                            auto source =
                                std::make_unique<PodSource>(loop, *others_, version_, shape_, /*stamps=*/true);
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
  gateway::v1::Topology last;
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; Pause(*kube_loop_, kPoll)) {
    meanwhile();
    if (!source_->idle()) continue;
    absl::StatusOr<gateway::v1::Topology> topology = AskTopology();
    if (!topology.ok()) continue;
    last = *std::move(topology);
    if (HasSlots(last, except)) return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    "the gateway does not come to rest: " + last.ShortDebugString());
}

bool BenchGateway::HasSlots(const gateway::v1::Topology& topology, const std::string& except) const {
  bool known = false;
  for (const auto& watch : topology.watches()) {
    known |= watch.watch() == "pods/job" && watch.objects() == shape_.pods();
  }
  uint32_t slots = 0;
  for (const gateway::v1::MemberStatus& member : topology.members()) {
    slots += member.slots();
    if (member.member().replica() == except) continue;
    if (!member.attached() || member.waiting_slots() > 0 || member.dirty_keys() > 0) return false;
    if (member.acknowledged_sequence() != member.sent_sequence()) return false;
  }
  return known && topology.members_size() == replicas_ && slots == kSlotCount;
}

}  // namespace basalt::bench
