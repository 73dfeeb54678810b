// Measures the cost of a list of pods as JSON, gzip, Kubernetes' protobuf and CBOR: bytes, our time to decode the list,
// and the API server's CPU time to answer. The bench creates the pods on a real server of its own; KWOK runs them.
// Prints a table.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "gateway/route/object_ref.h"
#include "gateway/translate/decoder.h"
#include "tests/realkube/cluster.h"
#include "tests/realkube/pod_list_protobuf.h"

namespace basalt::gateway {
namespace {

constexpr int kPods = 2000;
constexpr int kAsk = 10;
constexpr int kDecode = 20;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Asker {
 public:
  explicit Asker(const http::CurlOptions& options) : client_(http::MakeCurlClient(*loop_, options)) {}
  ~Asker() {
    RunOn(*loop_, [this] { calls_.clear(); });
  }

  http::Response Get(const std::string& target, const std::string& accept, bool compressed,
                     http::Headers headers = {}) {
    std::promise<absl::StatusOr<http::Response>> result;
    RunOn(*loop_, [&] {
      http::Request request;
      request.target = target;
      request.headers = std::move(headers);
      request.headers.emplace_back("Accept", accept);
      request.bulk = true;
      request.compressed = compressed;
      calls_.push_back(http::Fetch(*client_, std::move(request),
                                   [&](absl::StatusOr<http::Response> r) { result.set_value(std::move(r)); }));
    });
    const absl::StatusOr<http::Response> response = result.get_future().get();
    if (response.ok()) return *response;
    fmt::print(stderr, "{}\n", response.status().ToString());
    std::exit(1);
  }

  // Returns the size of the answer as gzip.
  size_t Packed(const std::string& target, const std::string& accept) {
    return Get(target, accept, false, {{"Accept-Encoding", "gzip"}}).body.size();
  }

  void Pause() {
    std::promise<void> over;
    loop_->RunAfter(absl::Milliseconds(200), [&] { over.set_value(); });
    over.get_future().wait();
  }

  void Create(int first, int count, int nodes) {
    std::promise<void> all;
    int left = count;
    RunOn(*loop_, [&] {
      for (int i = first; i < first + count; ++i) {
        http::Request request;
        request.method = "POST";
        request.target = "/api/v1/namespaces/default/pods?fieldManager=basalt";
        request.headers = {{"Content-Type", "application/json"}};
        request.body = Pod(i, i % nodes);
        calls_.push_back(http::Fetch(*client_, std::move(request), [&](const absl::StatusOr<http::Response>& made) {
          if (!made.ok() || made->status != 201) fmt::print(stderr, "a pod was refused\n");
          if (--left == 0) all.set_value();
        }));
      }
    });
    all.get_future().wait();
    RunOn(*loop_, [this] { calls_.clear(); });
  }

 private:
  // Returns the pod as our job controller creates pods, with a node.
  static std::string Pod(int i, int node) {
    return fmt::format(
        R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"train-worker-{0}","labels":{{"volcano.sh/job-name":)"
        R"("train","volcano.sh/job-namespace":"default","volcano.sh/queue-name":"research","volcano.sh/task-index":"{0}",)"
        R"("volcano.sh/task-spec":"worker"}},"annotations":{{"scheduling.k8s.io/group-name":)"
        R"("train-0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7","volcano.sh/job-name":"train","volcano.sh/job-retry-count":"0",)"
        R"("volcano.sh/job-version":"4","volcano.sh/queue-name":"research","volcano.sh/task-index":"{0}",)"
        R"("volcano.sh/task-spec":"worker","volcano.sh/template-uid":"train-worker"}},"ownerReferences":[{{"apiVersion":)"
        R"("batch.volcano.sh/v1alpha1","kind":"Basalt","name":"train","uid":"0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7",)"
        R"("controller":true,"blockOwnerDeletion":false}}]}},"spec":{{"schedulerName":"volcano","nodeName":"node-{1}",)"
        R"("restartPolicy":"Never","containers":[{{"name":"main","image":"registry.example.com/ml/train:2026.01",)"
        R"("command":["python","-m","train","--epochs=90"],"env":[{{"name":"VC_TASK_INDEX","value":"{0}"}},)"
        R"({{"name":"VK_TASK_INDEX","value":"{0}"}},{{"name":"NCCL_DEBUG","value":"INFO"}}],"resources":{{"limits":)"
        R"({{"cpu":"10m","memory":"1Mi"}},"requests":{{"cpu":"10m","memory":"1Mi"}}}}}}]}}}})",
        i, node);
  }
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("asker");
  std::unique_ptr<http::Client> client_;
  std::vector<std::unique_ptr<http::Call>> calls_;
};

// Returns the CPU time of the API server since its start.
double ServerCpuSeconds(const realkube::Cluster& cluster) {
  std::string pid;
  std::ifstream(cluster.dir() + "/pids/kube-apiserver") >> pid;
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  long user = 0, system = 0;
  const size_t after_name = text.rfind(')');
  if (after_name == std::string::npos ||
      std::sscanf(text.c_str() + after_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) !=
          2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Returns the milliseconds of CPU time for one decoding, the least of several.
template <typename Decode>
double DecodeMs(const Decode& decode) {
  double best = 1e9;
  for (int i = 0; i < kDecode; ++i) {
    const double before = CpuSeconds();
    decode();
    best = std::min(best, CpuSeconds() - before);
  }
  return best * 1e3;
}

int Run() {
  constexpr int kNodes = 4;
  auto cluster = realkube::Cluster::Start({.nodes = kNodes});
  if (!cluster.ok()) {
    fmt::print(stderr, "{}\n", cluster.status().ToString());
    return 1;
  }
  const absl::StatusOr<http::CurlOptions> options = http::ReadKubeconfig((*cluster)->kubeconfig());
  if (!options.ok()) return 1;
  Asker asker(*options);
  for (int i = 0; i < kPods; i += 200) asker.Create(i, 200, kNodes);
  const std::string target = "/api/v1/pods?resourceVersion=0";
  // The loop ends once KWOK has written every status.
  Decoder decoder(ObjectKind::kPod);
  for (int running = 0, looks = 0; running < kPods && looks < 600; ++looks) {
    running = 0;
    const absl::StatusOr<DecodedList> list = decoder.DecodeList(asker.Get(target, "application/json", false).body);
    if (!list.ok()) return 1;
    for (const Decoded& item : list->items) running += item.object.pod().phase() == kube::v1::POD_PHASE_RUNNING ? 1 : 0;
    asker.Pause();
  }

  fmt::print("{} pods in one list, {} answers each\n", kPods, kAsk);
  fmt::print("{:<12} {:>14} {:>12} {:>16} {:>16}\n", "encoding", "bytes", "bytes/pod", "decode ms/list",
             "server ms/list");
  const struct {
    const char* name;
    const char* accept;
    bool compressed;
  } rows[] = {{"json", "application/json", false},
              {"json+gzip", "application/json", true},
              {"protobuf", "application/vnd.kubernetes.protobuf", false},
              {"cbor", "application/cbor", false}};
  std::string json_names;
  for (const auto& row : rows) {
    http::Response response = asker.Get(target, row.accept, row.compressed);
    if (response.status != 200) {
      fmt::print("{:<12} not served: HTTP {}\n", row.name, response.status);
      continue;
    }
    const double before = ServerCpuSeconds(**cluster);
    for (int i = 0; i < kAsk; ++i) response = asker.Get(target, row.accept, row.compressed);
    const double server_ms = (ServerCpuSeconds(**cluster) - before) * 1e3 / kAsk;
    double decode_ms = 0;
    if (std::string_view(row.accept) == "application/json") {
      decode_ms = DecodeMs([&] { const auto list = decoder.DecodeList(response.body); });
      json_names.clear();
      const absl::StatusOr<DecodedList> list = decoder.DecodeList(response.body);
      if (!list.ok()) return 1;
      for (const Decoded& item : list->items) json_names += Fingerprint(item.object.pod());
    } else if (std::string_view(row.accept).ends_with("protobuf")) {
      decode_ms = DecodeMs([&] { DecodePodListProtobuf(response.body); });
      std::string names;
      for (const kube::v1::Object& object : DecodePodListProtobuf(response.body)) names += Fingerprint(object.pod());
      if (names != json_names) {
        size_t at = 0;
        while (at < names.size() && at < json_names.size() && names[at] == json_names[at]) ++at;
        at = names.rfind('\n', at) + 1;
        fmt::print("the two decoders differ:\n{}\n{}\n", json_names.substr(at, json_names.find('\n', at) - at),
                   names.substr(at, names.find('\n', at) - at));
      }
    }
    // This is the size on the wire.
    const double bytes = static_cast<double>(row.compressed ? asker.Packed(target, row.accept) : response.body.size());
    fmt::print("{:<12} {:>14.0f} {:>12.0f} {:>16.2f} {:>16.1f}\n", row.name, bytes, bytes / kPods, decode_ms,
               server_ms);
  }
  return 0;
}

}  // namespace
}  // namespace basalt::gateway

int main() { return basalt::gateway::Run(); }
