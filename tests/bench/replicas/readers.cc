#include "tests/bench/replicas/readers.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/json.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "tests/bench/bench_gateway.h"

namespace basalt::bench {
namespace {

// The delays that all readers of the process have observed.
class Seen {
 public:
  void Add(const std::vector<float>& delays) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    delays_.insert(delays_.end(), delays.begin(), delays.end());
  }
  ReaderStats Take() BASALT_EXCLUDES(mutex_) {
    std::vector<float> delays;
    {
      MutexLock lock(mutex_);
      delays_.swap(delays);
    }
    std::sort(delays.begin(), delays.end());
    ReaderStats stats;
    stats.events = static_cast<int64_t>(delays.size());
    if (delays.empty()) return stats;
    const auto at = [&](double part) {
      return absl::Milliseconds(delays[static_cast<size_t>(part * static_cast<double>(delays.size() - 1))]);
    };
    stats.half = at(0.5);
    stats.most_of = at(0.99);
    stats.longest = at(1);
    return stats;
  }

 private:
  Mutex mutex_;
  std::vector<float> delays_ BASALT_GUARDED_BY(mutex_);  // Milliseconds.
};

class Reader {
 public:
  Reader(const std::string& gateway, const std::string& name, Seen& seen) : seen_(seen) {
    // Each reader has a connection of its own, so that one that does not read delays no other reader.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = gateway::v1::GatewayService::NewStub(
        grpc::CreateCustomChannel(gateway, grpc::InsecureChannelCredentials(), arguments));
    thread_ = std::thread([this, name] { Run(name); });
  }
  ~Reader() {
    context_.TryCancel();
    thread_.join();
  }

 private:
  void Run(const std::string& name) {
    context_.set_wait_for_ready(true);
    const auto stream = stub_->Attach(&context_);
    gateway::v1::AttachRequest request = HelloOf(name);
    stream->Write(request);
    gateway::v1::AttachBatch batch;
    std::vector<float> delays;
    while (stream->Read(&batch)) {
      const int64_t now = absl::ToUnixMicros(absl::Now());
      delays.clear();
      for (const gateway::v1::Item& item : batch.items()) {
        if (!item.has_state() || !item.state().object().has_pod()) continue;
        delays.push_back(static_cast<float>(now - item.state().object().pod().resource_version()) / 1000);
      }
      seen_.Add(delays);
      request.mutable_ack()->set_sequence(batch.sequence());
      if (!stream->Write(request)) break;
    }
    const grpc::Status status = stream->Finish();
    if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED) {
      fmt::print(stderr, "reader {}: {}\n", name, status.error_message());
    }
  }

  Seen& seen_;
  std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
  grpc::ClientContext context_;
  std::thread thread_;
};

}  // namespace

std::string ToLine(const ReaderStats& stats) {
  return ToText(json::object{{"events", stats.events},
                             {"half", absl::ToInt64Microseconds(stats.half)},
                             {"most_of", absl::ToInt64Microseconds(stats.most_of)},
                             {"longest", absl::ToInt64Microseconds(stats.longest)}});
}

absl::StatusOr<ReaderStats> ReaderStatsFromLine(const std::string& line) {
  BASALT_ASSIGN_OR_RETURN(const json::value value, ParseJson(line));
  ReaderStats stats;
  stats.events = FindInt(value, "events");
  stats.half = absl::Microseconds(FindInt(value, "half"));
  stats.most_of = absl::Microseconds(FindInt(value, "most_of"));
  stats.longest = absl::Microseconds(FindInt(value, "longest"));
  return stats;
}

int RunReaders(const std::string& gateway, const std::vector<std::string>& names) {
  Seen seen;
  std::vector<std::unique_ptr<Reader>> readers;
  for (const std::string& name : names) readers.push_back(std::make_unique<Reader>(gateway, name, seen));
  std::string line;
  while (std::getline(std::cin, line)) {
    fmt::print("{}\n", ToLine(seen.Take()));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace basalt::bench
