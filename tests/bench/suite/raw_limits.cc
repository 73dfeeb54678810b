#include "tests/bench/suite/raw_limits.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/status_macros.h"
#include "common/kv/kv_store.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/server.h"
#include "gateway/translate/decoder.h"
#include "tests/bench/cluster.h"
#include "tests/bench/process_usage.h"

namespace basalt::bench {
namespace {

using gateway::v1::AttachBatch;
using gateway::v1::AttachRequest;
using gateway::v1::GatewayService;

constexpr int kBatch = 64;

// Calls `step` until the time is up, and returns the steps per second.
template <typename F>
double Rate(absl::Duration time, F step) {
  const absl::Time begin = absl::Now();
  int64_t steps = 0;
  absl::Time now = begin;
  while (now < begin + time) {
    for (int i = 0; i < 16; ++i, ++steps) step();
    now = absl::Now();
  }
  return static_cast<double>(steps) / absl::ToDoubleSeconds(now - begin);
}

// Writes the same batch until the client goes.
class Flood final : public grpc::ServerBidiReactor<AttachRequest, AttachBatch> {
 public:
  explicit Flood(const AttachBatch& batch) : batch_(batch) { StartWrite(&batch_); }
  void OnWriteDone(bool ok) override { ok ? StartWrite(&batch_) : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

 private:
  const AttachBatch& batch_;
};

class FloodService final : public GatewayService::CallbackService {
 public:
  explicit FloodService(AttachBatch batch) : batch_(std::move(batch)) {}
  grpc::ServerBidiReactor<AttachRequest, AttachBatch>* Attach(grpc::CallbackServerContext*) override {
    return new Flood(batch_);
  }

 private:
  const AttachBatch batch_;
};

class Drain final : public grpc::ClientBidiReactor<AttachRequest, AttachBatch> {
 public:
  explicit Drain(GatewayService::Stub& stub) {
    stub.async()->Attach(&context_, this);
    StartRead(&batch_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    messages_ += batch_.items_size();
    StartRead(&batch_);
  }
  void OnDone(const grpc::Status&) override { done_.set_value(); }
  int64_t messages() const { return messages_.load(); }
  void End() {
    context_.TryCancel();
    done_.get_future().wait();
  }

 private:
  grpc::ClientContext context_;
  AttachBatch batch_;
  std::atomic<int64_t> messages_ = 0;
  std::promise<void> done_;
};

absl::StatusOr<double> StreamRate(absl::Duration time, const kube::v1::Object& object) {
  AttachBatch batch;
  for (int i = 0; i < kBatch; ++i) {
    gateway::v1::ObjectState& state = *batch.add_items()->mutable_state();
    state.set_slot(17);
    state.set_watch("pods/job");
    state.set_routing_key(fmt::format("{}/{}", kNamespace, JobName(0)));
    *state.mutable_object() = object;
  }
  std::vector<std::unique_ptr<rpc::GrpcService>> services;
  services.push_back(rpc::WrapService(std::make_unique<FloodService>(std::move(batch))));
  BASALT_ASSIGN_OR_RETURN(const auto server, rpc::GrpcServer::Start({}, std::move(services)));
  const auto stub = GatewayService::NewStub(rpc::MakeChannel(fmt::format("127.0.0.1:{}", server->port())));
  const std::unique_ptr<Loop> loop = MakeThreadLoop("pause");
  Drain drain(*stub);
  while (drain.messages() == 0) Pause(*loop, absl::Milliseconds(1));
  const absl::Time begin = absl::Now();
  const int64_t before = drain.messages();
  Pause(*loop, time);
  const double rate = static_cast<double>(drain.messages() - before) / absl::ToDoubleSeconds(absl::Now() - begin);
  drain.End();
  return rate;
}

absl::StatusOr<double> StoreRate(absl::Duration time, const std::string& data_dir) {
  kv::OpenOptions options;
  options.data_dir = data_dir + "/raw";
  options.service = "bench";
  options.replica = "bench-0";
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<kv::KvStore> store, kv::OpenRocksKv(options));
  const std::string value(100, 'v');
  absl::Status status;
  uint64_t number = 0;
  const double batches = Rate(time, [&] {
    kv::WriteBatch batch;
    for (int i = 0; i < kBatch; ++i, ++number) {
      const auto pod = static_cast<int>(number * 61'803 % 100'000);
      std::string key;
      kv::PutSlot(key, static_cast<uint32_t>(pod % 1024));
      kv::PutText(key, fmt::format("{}/{}", kNamespace, JobName(pod / 100)));
      kv::PutText(key, fmt::format("{}-worker-{}", JobName(pod / 100), pod % 100));
      batch.Put(kv::Family::kPods, std::move(key), value);
    }
    if (status.ok()) status = store->Write(batch);
  });
  BASALT_RETURN_IF_ERROR(status);
  return batches * kBatch;
}

}  // namespace

absl::StatusOr<RawLimits> MeasureRawLimits(absl::Duration time, const std::string& data_dir) {
  RawLimits limits;
  const ClusterShape shape;
  PodWriter writer(shape);
  constexpr int kLines = 512;
  std::vector<std::string> lines(kLines);
  for (int i = 0; i < kLines; ++i) writer.AppendLine("MODIFIED", i * 97, i % 2 == 0, true, 48'000'000 + i, lines[i]);
  limits.line_bytes = static_cast<double>(lines[0].size());

  gateway::Decoder decoder(gateway::ObjectKind::kPod);
  BASALT_ASSIGN_OR_RETURN(const gateway::WatchEvent event, decoder.DecodeWatchLine(lines[0]));
  limits.message_bytes = static_cast<double>(event.decoded.object.ByteSizeLong());
  size_t at = 0;
  limits.decode = Rate(time, [&] { (void)decoder.DecodeWatchLine(lines[at++ % kLines]).ok(); });

  std::string out;
  limits.make = Rate(time, [&] {
    out.clear();
    writer.AppendLine("MODIFIED", static_cast<int>(at % 100'000), at % 2 == 0, true, static_cast<int64_t>(at), out);
    ++at;
  });
  BASALT_ASSIGN_OR_RETURN(limits.stream, StreamRate(time, event.decoded.object));
  BASALT_ASSIGN_OR_RETURN(limits.store, StoreRate(time, data_dir));
  return limits;
}

}  // namespace basalt::bench
