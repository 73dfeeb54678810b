#pragma once

// Three replicas each of jobsvc, pgsvc and queuesvc run behind two gateways in this process, with mutual TLS on every
// port. One thread uses an object.
#include <grpcpp/grpcpp.h>

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "basalt/queue/v1/queue.grpc.pb.h"
#include "cli/connect/channel.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/shell/service_process.h"
#include "common/testing/temp_dir.h"
#include "dev/embedded_kube.h"
#include "gateway/main/process.h"

namespace basalt::integration {

// Evaluates `condition` again and again. Returns true once it holds, false at the limit.
bool Eventually(const std::function<bool()>& condition, absl::Duration limit = absl::Seconds(30));

inline constexpr size_t kReplicas = 3;
enum Service : size_t { kJobsvc, kPgsvc, kQueuesvc };
inline constexpr Service kServices[] = {kJobsvc, kPgsvc, kQueuesvc};

struct Options {
  absl::Duration grace = absl::Seconds(20);  // The grace period of an absent replica.
};

class Replicas {
 public:
  // Waits until all replicas are attached and share the slots. A failure is a gtest failure: check ok().
  explicit Replicas(const Options& options = {});
  ~Replicas();

  bool ok() const { return ok_; }
  job::v1::JobService::Stub& job(size_t replica) { return *jobs_[replica]; }
  podgroup::v1::PodGroupQueryService::Stub& pod_groups(size_t replica) { return *pod_groups_[replica]; }
  queue::v1::QueueService::Stub& queue(size_t replica) { return *queues_[replica]; }
  gateway::v1::Topology Topology() const;  // Returns the topology of the leading gateway. Empty if no gateway leads.
  // Stops the leading gateway for good; the other one takes the lead.
  void StopLeadingGateway();
  size_t OwnerOf(const std::string& key) const;  // Returns the index of the jobsvc that owns the key.

  void Start(Service service, size_t replica);
  void Stop(Service service, size_t replica) { processes_[service][replica].reset(); }
  // The replica hands its slots over before it stops.
  void Leave(Service service, size_t replica);
  void LoseDisk(size_t replica);  // The disk of a jobsvc.

  absl::StatusOr<job::v1::Job> Submit(size_t replica, const std::string& name, const std::string& sleep = "1");
  absl::StatusOr<job::v1::Job> Get(size_t replica, const std::string& name);
  absl::Status Delete(size_t replica, const std::string& name);
  // Reads all pages. The first page is requested from `replica`, and each further page from the next replica.
  absl::StatusOr<std::vector<job::v1::Job>> ListFrom(size_t replica, int page_size);

 private:
  std::unique_ptr<gateway::Process> StartGateway(size_t replica, const Options& options);

  const testing::TempDir dir_;
  const rpc::TestAuthority authority_{dir_ / "certificates", "test"};
  cli::TlsOptions tls_;
  const cli::UseOfTls use_{tls_};
  // The credentials of the callers: the tests, and cli/connect.
  const std::shared_ptr<const rpc::Credentials> operator_ = authority_.CredentialsOf(identity::Role::kOperator, "test");
  std::unique_ptr<dev::EmbeddedKube> kube_;
  std::unique_ptr<gateway::Process> gateways_[2];
  std::vector<std::string> gateway_addresses_;
  std::unique_ptr<shell::ServiceProcess> processes_[std::size(kServices)][kReplicas];
  std::unique_ptr<job::v1::JobService::Stub> jobs_[kReplicas];
  std::unique_ptr<podgroup::v1::PodGroupQueryService::Stub> pod_groups_[kReplicas];
  std::unique_ptr<queue::v1::QueueService::Stub> queues_[kReplicas];
  bool ok_ = false;
};

}  // namespace basalt::integration
