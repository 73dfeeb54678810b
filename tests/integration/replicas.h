#pragma once

// Three replicas each of jobsvc, pgsvc and queuesvc behind two gateways, in this process, with mutual TLS on every
// port. Used by one thread.
#include <grpcpp/grpcpp.h>

#include <functional>
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

// Asked again and again until it holds.
bool Eventually(const std::function<bool()>& condition, absl::Duration limit = absl::Seconds(30));

inline constexpr size_t kReplicas = 3;

struct Options {
  absl::Duration grace = absl::Seconds(20);  // Of a replica that is gone.
};

class Replicas {
 public:
  // Everything is attached and shares the slots, or a failure of gtest says why not: check ok().
  explicit Replicas(const Options& options = {});
  ~Replicas();

  bool ok() const { return ok_; }
  job::v1::JobService::Stub& job(size_t replica) { return *jobs_[replica].stub; }
  podgroup::v1::PodGroupQueryService::Stub& pod_groups(size_t replica) { return *pgsvcs_[replica].stub; }
  queue::v1::QueueService::Stub& queue(size_t replica) { return *queuesvcs_[replica].stub; }
  gateway::v1::Topology Topology() const;  // Of the gateway that leads; empty: none does.
  // The other one goes on, for good.
  void StopLeadingGateway();
  size_t OwnerOf(const std::string& key) const;  // Index of the jobsvc that owns it.

  void StopJobsvc(size_t replica) { jobs_[replica].process.reset(); }
  // It gives its slots away first.
  void LeaveJobsvc(size_t replica);
  void StartJobsvc(size_t replica);
  void LoseDisk(size_t replica);
  void StopPgsvc(size_t replica) { pgsvcs_[replica].process.reset(); }
  // It gives its slots away first.
  void LeavePgsvc(size_t replica);
  void StartPgsvc(size_t replica);
  void StopQueuesvc(size_t replica) { queuesvcs_[replica].process.reset(); }
  // It gives its slots away first.
  void LeaveQueuesvc(size_t replica);
  void StartQueuesvc(size_t replica);

  absl::StatusOr<job::v1::Job> Submit(size_t replica, const std::string& name, const std::string& sleep = "1");
  absl::StatusOr<job::v1::Job> Get(size_t replica, const std::string& name);
  absl::Status Delete(size_t replica, const std::string& name);
  // All pages, each asked of the next replica, from `replica` on.
  absl::StatusOr<std::vector<job::v1::Job>> ListFrom(size_t replica, int page_size);

 private:
  struct Jobsvc {
    std::unique_ptr<shell::ServiceProcess> process;
    std::unique_ptr<job::v1::JobService::Stub> stub;
  };
  std::unique_ptr<shell::ServiceProcess> Start(const std::string& name, gateway::v1::ServiceKind kind, size_t replica,
                                               const shell::MakeParts& make_parts);
  std::unique_ptr<gateway::Process> StartGateway(size_t replica, const Options& options);

  const testing::TempDir dir_;
  const rpc::TestAuthority authority_{dir_ / "certificates", "test"};
  cli::TlsOptions tls_;
  const cli::UseOfTls use_{tls_};
  // Of whoever asks: the tests, and cli/connect.
  const std::shared_ptr<const rpc::Credentials> operator_ = authority_.CredentialsOf(identity::Role::kOperator, "test");
  std::unique_ptr<dev::EmbeddedKube> kube_;
  std::unique_ptr<gateway::Process> gateways_[2];
  std::vector<std::string> gateway_addresses_;
  Jobsvc jobs_[kReplicas];
  struct Pgsvc {
    std::unique_ptr<shell::ServiceProcess> process;
    std::unique_ptr<podgroup::v1::PodGroupQueryService::Stub> stub;
  };
  Pgsvc pgsvcs_[kReplicas];
  struct Queuesvc {
    std::unique_ptr<shell::ServiceProcess> process;
    std::unique_ptr<queue::v1::QueueService::Stub> stub;
  };
  Queuesvc queuesvcs_[kReplicas];
  bool ok_ = false;
};

}  // namespace basalt::integration
