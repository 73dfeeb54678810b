#include "dev/embedded_kube.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/direct_client.h"
#include "common/http/server/beast_server.h"
#include "common/kube/names.h"
#include "kubesim/actors/cluster.h"
#include "kubesim/main/crds.h"
#include "kubesim/server/api_server.h"

namespace basalt::dev {
namespace {

class Kube final : public EmbeddedKube {
 public:
  ~Kube() override {
    http_.reset();
    RunOn(*loop_, [this] {
      cluster_.reset();
      client_.reset();
      server_.reset();
    });
  }

  absl::Status Open(const EmbeddedKubeOptions& options) {
    BASALT_ASSIGN_OR_RETURN(std::vector<json::value> crds, kubesim::LoadCrds(options.crds));
    RunOn(*loop_, [&] {
      kubesim::ApiServerOptions server;
      server.crds = std::move(crds);
      server_ = std::make_unique<kubesim::ApiServer>(*loop_, random_, std::move(server));
    });
    BASALT_RETURN_IF_ERROR(server_->startup_status());
    BASALT_ASSIGN_OR_RETURN(http_, http::StartServer(*loop_, *server_, {}));
    RunOn(*loop_, [&] {
      client_ = std::make_unique<http::DirectClient>(*loop_, *loop_, *server_);
      kubesim::ClusterOptions cluster;
      cluster.nodes.nodes = options.nodes;
      cluster.nodes.default_duration = options.default_duration;
      cluster.nodes.api.user_agent = "kubesim-node";
      cluster.scheduler.create_queues = false;  // queuesvc creates the default and root queues.
      cluster.scheduler.plain_scheduler_names = {"default-scheduler"};
      cluster.scheduler.kai_scheduler_names = {std::string(kube::kKaiScheduler)};
      cluster.scheduler.api.user_agent = "kubesim-scheduler";
      cluster.workloads.api.user_agent = "kubesim-workloads";
      cluster_ = std::make_unique<kubesim::Cluster>(*loop_, *client_, random_, std::move(cluster));
    });
    return absl::OkStatus();
  }

  std::string url() const override { return fmt::format("http://127.0.0.1:{}", http_->port()); }

 private:
  SystemRandom random_;
  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("kubesim");
  // These live on the loop.
  std::unique_ptr<kubesim::ApiServer> server_;
  std::unique_ptr<http::DirectClient> client_;
  std::unique_ptr<kubesim::Cluster> cluster_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedKube>> EmbeddedKube::Start(const EmbeddedKubeOptions& options) {
  auto kube = std::make_unique<Kube>();
  BASALT_RETURN_IF_ERROR(kube->Open(options));
  return std::unique_ptr<EmbeddedKube>(std::move(kube));
}

std::string KubeconfigFor(const std::string& url) {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: basalt-dev
clusters:
- name: basalt-dev
  cluster: {{server: "{}"}}
users:
- name: basalt-dev
  user: {{}}
contexts:
- name: basalt-dev
  context: {{cluster: basalt-dev, user: basalt-dev}}
)",
                     url);
}

}  // namespace basalt::dev
