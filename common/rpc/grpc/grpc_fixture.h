#pragma once

// The gRPC adapters over real sockets, in one process; each side has a loop of its own.
#include <gtest/gtest.h>

#include <grpcpp/grpcpp.h>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/rpc/grpc/gateway/gateway_peer.h"
#include "common/rpc/grpc/gateway/gateway_service.h"
#include "common/rpc/grpc/server.h"

namespace basalt::rpc {

using gateway::v1::AttachBatch;
using gateway::v1::AttachRequest;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;

constexpr absl::Duration kTimeout = absl::Seconds(10);

// Runs `task` on the loop and waits for it.
template <typename F>
auto On(Loop& loop, F task) {
  std::promise<decltype(task())> result;
  loop.Post([&] {
    if constexpr (std::is_void_v<decltype(task())>) {
      task();
      result.set_value();
    } else {
      result.set_value(task());
    }
  });
  return result.get_future().get();
}

// Sends kBatches batches as fast as OnSent allows, and counts acknowledgements.
struct FakeGateway final : GatewayHandler {
  static constexpr int64_t kBatches = 200;

  struct Session final : AttachSession {
    Session(FakeGateway& owner, AttachSink& to) : gateway(owner), sink(to) { ++gateway.sessions; }
    ~Session() override { --gateway.sessions; }
    void OnRequest(AttachRequest request) override {
      EXPECT_TRUE(gateway.loop.IsCurrent());
      if (request.has_hello()) {
        gateway.hello = request.hello();
        if (!gateway.refuse.ok()) return sink.Close(gateway.refuse);
        SendNext();
      }
      if (request.has_ack()) gateway.acknowledged = request.ack().sequence();
    }
    void OnSent() override {
      EXPECT_TRUE(gateway.loop.IsCurrent());
      if (sent < kBatches) SendNext();
    }
    void OnClosed() override {
      if (!std::exchange(gateway.closed_reported, true)) gateway.closed.set_value();
    }
    void SendNext() {
      AttachBatch batch;
      batch.set_sequence(++sent);
      batch.add_items()->mutable_state()->set_routing_key(std::string(1000, 'x'));
      sink.Send(batch.SerializeAsString());
    }
    FakeGateway& gateway;
    AttachSink& sink;
    int64_t sent = 0;
  };

  explicit FakeGateway(Loop& on) : loop(on) {}
  std::unique_ptr<AttachSession> OnAttach(AttachSink& sink) override { return std::make_unique<Session>(*this, sink); }
  void Write(WriteRequest request, Done<WriteResponse> done) override {
    EXPECT_TRUE(loop.IsCurrent());
    written.push_back(request.name());
    if (request.name() == "hold") return held.push_back(std::move(done));
    if (request.name() == "drop") return;
    if (request.name() == "cut") return done(absl::InvalidArgumentError("'caf\xc3'"));
    if (request.name() == "refuse") return done(absl::UnavailableError("not the leader"));
    if (request.name() == "long") return done(absl::InvalidArgumentError(std::string(100'000, 'y')));
    WriteResponse response;
    response.mutable_object()->mutable_pod()->set_name(request.name());
    done(std::move(response));
  }
  void Get(gateway::v1::GetRequest, Done<gateway::v1::GetResponse> done) override { done(gateway::v1::GetResponse()); }
  void GetTopology(gateway::v1::GetTopologyRequest request, Done<gateway::v1::Topology> done) override {
    asked_topology = request;
    done(topology);
  }

  Loop& loop;
  gateway::v1::Hello hello;
  absl::Status refuse;
  absl::StatusOr<gateway::v1::Topology> topology = gateway::v1::Topology();
  gateway::v1::GetTopologyRequest asked_topology;
  std::vector<std::string> written;  // The names of all writes that came.
  int64_t acknowledged = 0;
  int sessions = 0;
  std::promise<void> closed;  // Set when the first stream is closed.
  bool closed_reported = false;
  std::vector<Done<WriteResponse>> held;
};

struct Observer final : AttachObserver {
  explicit Observer(Loop& on) : loop(on) {}
  void OnBatch(AttachBatch batch) override {
    EXPECT_TRUE(loop.IsCurrent());
    EXPECT_EQ(batch.sequence(), ++received);
    AttachRequest ack;
    ack.mutable_ack()->set_sequence(batch.sequence());
    stream->Send(std::move(ack));
    if (received == FakeGateway::kBatches) all.set_value();
  }
  void OnClosed(const absl::Status& status) override {
    EXPECT_TRUE(loop.IsCurrent());
    closed.set_value(status);
  }
  Loop& loop;
  std::unique_ptr<AttachStream> stream;
  int64_t received = 0;
  std::promise<void> all;
  std::promise<absl::Status> closed;
};

// A Write stream as a replica opens it, without the layer that GatewayPeer adds.
class WriteStream {
 public:
  explicit WriteStream(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(gateway::v1::GatewayService::NewStub(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    stream_ = stub_->Write(&context_);
  }
  ~WriteStream() {
    stream_->WritesDone();
    const grpc::Status status = stream_->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Sends the requests in one message and returns how each was answered.
  std::vector<grpc::Status> Write(const std::vector<WriteRequest>& requests) {
    gateway::v1::WriteBatch batch;
    for (size_t i = 0; i < requests.size(); ++i) {
      gateway::v1::WriteBatch::Write& write = *batch.add_writes();
      write.set_id(++last_id_);
      *write.mutable_request() = requests[i];
    }
    EXPECT_TRUE(stream_->Write(batch));
    std::vector<grpc::Status> statuses(requests.size(), {grpc::StatusCode::INTERNAL, "no answer"});
    gateway::v1::WriteAnswers answers;
    for (size_t left = statuses.size(); left > 0 && stream_->Read(&answers);) {
      for (const auto& answer : answers.answers()) {
        --left;
        statuses[answer.id() - batch.writes(0).id()] =
            answer.has_not_handled() ? grpc::Status(static_cast<grpc::StatusCode>(answer.not_handled().code()),
                                                    answer.not_handled().message())
                                     : grpc::Status::OK;
      }
    }
    return statuses;
  }

 private:
  const std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<gateway::v1::WriteBatch, gateway::v1::WriteAnswers>> stream_;
  uint64_t last_id_ = 0;
};

class GrpcTest : public ::testing::Test {
 protected:
  GrpcTest() : server_loop_(MakeThreadLoop("server")), client_loop_(MakeThreadLoop("client")), gateway_(*server_loop_) {
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(MakeGatewayService(*server_loop_, gateway_, std::make_shared<InflightLimiter>()));
    auto server = GrpcServer::Start({.max_request_bytes = kMostWriteBatchBytes}, std::move(services));
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = "127.0.0.1:" + std::to_string(server_->port());
    peer_ = MakeGrpcGatewayPeer(*client_loop_, {address_});
  }
  ~GrpcTest() override {
    peer_.reset();
    server_.reset();
    server_loop_.reset();
    client_loop_.reset();
  }

  std::future<absl::StatusOr<WriteResponse>> StartWrite(const std::string& name, absl::Duration timeout = kTimeout) {
    const auto answer = std::make_shared<std::promise<absl::StatusOr<WriteResponse>>>();
    client_loop_->Post([this, name, timeout, answer] {
      WriteRequest request;
      request.set_name(name);
      peer_->Write(request, timeout, [this, answer](absl::StatusOr<WriteResponse> got) {
        EXPECT_TRUE(client_loop_->IsCurrent());
        answer->set_value(std::move(got));
      });
    });
    return answer->get_future();
  }
  absl::StatusOr<WriteResponse> Write(const std::string& name, absl::Duration timeout = kTimeout) {
    return StartWrite(name, timeout).get();
  }
  // Returns once the gateway has the write and holds its answer back.
  std::future<absl::StatusOr<WriteResponse>> HoldWrite() {
    auto answer = StartWrite("hold");
    while (On(*server_loop_, [&] { return gateway_.held.empty(); })) std::this_thread::yield();
    return answer;
  }
  void Attach(Observer& observer) {
    On(*client_loop_, [&] {
      observer.stream = peer_->Attach(observer);
      AttachRequest hello;
      hello.mutable_hello()->set_version("7");
      observer.stream->Send(std::move(hello));
    });
  }

  void ExpectRefusal() {
    Observer observer(*client_loop_);
    Attach(observer);
    EXPECT_EQ(observer.closed.get_future().get().code(), absl::StatusCode::kUnavailable);
    On(*client_loop_, [&] { observer.stream.reset(); });
  }
  void ExpectBatches() {
    Observer observer(*client_loop_);
    Attach(observer);
    observer.all.get_future().get();
    On(*client_loop_, [&] { observer.stream.reset(); });
    gateway_.closed.get_future().get();
  }

  std::unique_ptr<Loop> server_loop_;
  std::unique_ptr<Loop> client_loop_;
  FakeGateway gateway_;
  std::unique_ptr<GrpcServer> server_;
  std::string address_;
  std::unique_ptr<GatewayPeer> peer_;
};

}  // namespace basalt::rpc
