#pragma once

// The tests of deploy/certificates share this fixture: a component is created on a real cluster, the answers of a
// signer are mounted as kubelet mounts a volume, and the suite of real processes runs on these files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/yaml.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "tests/conformance/client.h"
#include "tests/realkube/running.h"

namespace basalt::realkube {

class CertificatesTest : public ::testing::Test {
 protected:
  static constexpr char kNamespace[] = "basalt-system";
  static constexpr int kReplicas = 2;
  static constexpr char kMapping[] =
      "ns/basalt-system/sa/basalt-gateway=gateway,ns/basalt-system/sa/basalt-jobsvc=jobsvc,"
      "ns/basalt-system/sa/basalt-pgsvc=pgsvc,ns/basalt-system/sa/basalt-queuesvc=queuesvc,"
      "ns/basalt-system/sa/basalt-operator=operator";

  // The administrator impersonates this user; without a name the administrator asks.
  struct User {
    std::string name, group;
  };
  struct Process {
    std::string role, replica;
  };

  void SetUp() override {
    ASSERT_NE(e2e::RealCluster(), nullptr);
    const absl::StatusOr<http::CurlOptions> admin = http::ReadKubeconfig(e2e::RealCluster()->kubeconfig());
    ASSERT_THAT(admin, basalt::testing::IsOk());
    connection_ = std::make_unique<conformance::Connection>(*admin);
  }

  // Every process of the suite that StartSuite starts, and the operator.
  static std::vector<Process> Processes() {
    std::vector<Process> all = {{"gateway", "gateway-0"}, {"operator", "operator"}};
    for (const char* role : {"jobsvc", "pgsvc", "queuesvc"}) {
      for (int i = 0; i < kReplicas; ++i) all.push_back({role, fmt::format("{}-{}", role, i)});
    }
    return all;
  }

  static std::vector<json::value> Manifests(const std::string& file) {
    auto documents = ParseYamlDocuments(e2e::ReadFile(BASALT_SOURCE_DIR "/deploy/certificates/" + file));
    EXPECT_THAT(documents, basalt::testing::IsOk());
    return documents.ok() ? *std::move(documents) : std::vector<json::value>();
  }

  // Where objects of that kind are created. Every kind of these tests has a regular plural.
  static std::string CollectionOf(const json::value& object) {
    const std::string_view version = FindString(object, "apiVersion");
    const std::string_view ns = FindString(*Find(object, "metadata"), "namespace");
    return fmt::format("/{}/{}{}/{}s", version == "v1" ? "api" : "apis", version,
                       ns.empty() ? "" : fmt::format("/namespaces/{}", ns),
                       absl::AsciiStrToLower(ToAbsl(FindString(object, "kind"))));
  }

  static http::Headers HeadersOf(const User& user, std::string type = "application/json") {
    http::Headers headers = {{"Content-Type", std::move(type)}};
    if (!user.name.empty()) headers.push_back({"Impersonate-User", user.name});
    if (!user.group.empty()) headers.push_back({"Impersonate-Group", user.group});
    return headers;
  }
  conformance::Answer Send(std::string method, std::string target, const json::value& body = nullptr,
                           const User& user = {}, std::string type = "application/json") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers = HeadersOf(user, std::move(type));
    if (!body.is_null()) request.body = ToText(body);
    return connection_->Send(std::move(request));
  }
  // The server refuses what the schema of the object does not have.
  conformance::Answer Create(const json::value& object, const User& user = {}) {
    return Send("POST", CollectionOf(object) + "?fieldValidation=Strict", object, user);
  }
  void CreateAll(const std::string& file) {
    for (const json::value& object : Manifests(file)) {
      const conformance::Answer answer = Create(object);
      EXPECT_TRUE(answer.ok()) << answer;
    }
  }

  // A folder as basaltctl certs has it, whose innermost folders are volumes of kubelet: the files are links through
  // ..data, which is exchanged as a whole.
  void Mount(const Process& process, const std::vector<std::pair<std::string, std::string>>& files) {
    namespace fs = std::filesystem;
    const fs::path volume = fs::path(dir_ / "certificates") / process.role / process.replica;
    const std::string version = fmt::format("..{}", ++mounted_);
    fs::create_directories(volume / version);
    for (const auto& [name, text] : files) {
      e2e::WriteFile(volume / version / name, text);
      if (!fs::is_symlink(volume / name)) fs::create_symlink("..data/" + name, volume / name);
    }
    fs::create_directory_symlink(version, volume / "..data_tmp");
    fs::rename(volume / "..data_tmp", volume / "..data");
  }

  void StartSuite() {
    e2e::WorldOptions options;
    options.replicas = kReplicas;
    options.suite_flags = {"--tls_refresh=1s"};
    options.certificates_dir = dir_ / "certificates";
    options.identity_mapping = kMapping;
    world_ = std::make_unique<e2e::World>(options);
    ASSERT_TRUE(world_->ok());
  }
  void ExpectAJobCompletes(const std::string& name) {
    const std::string file = dir_ / "job.yaml";
    e2e::WriteFile(file, fmt::format("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {}}}\n"
                                     "spec:\n  minAvailable: 1\n  tasks:\n  - name: t\n    replicas: 2\n"
                                     "    template:\n      spec: {{restartPolicy: Never, containers: [{{name: c, "
                                     "image: i}}]}}\n",
                                     name));
    const e2e::Ran ran = world_->Ctl({"job", "submit", "-f", file, "--watch"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_THAT(ran.out, ::testing::HasSubstr("Completed"));
  }

  const basalt::testing::TempDir dir_;
  int mounted_ = 0;
  std::unique_ptr<conformance::Connection> connection_;
  std::unique_ptr<e2e::World> world_;
};

}  // namespace basalt::realkube
