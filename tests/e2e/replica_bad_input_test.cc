// A process that is started with wrong flags or in a wrong place either ends with a clear error, or names the problem
// in a readiness target while it retries.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;

class ReplicaBadInputTest : public ::testing::Test {
 protected:
  // The suite has no TLS, because each test looks at the message about one flag. A process with a certificate of
  // another cluster would be refused before that message.
  static void SetUpTestSuite() { world_ = new World({.tls = false}); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(world_->ok()); }

  // Returns the command of a jobsvc beside the world's own. `flags` come last and override the others.
  static std::vector<std::string> Jobsvc(const testing::TempDir& dir, const std::vector<std::string>& flags) {
    std::vector<std::string> command = {BinDir() + "/jobsvc",
                                        "--gateway=" + world_->suite().gateway(),
                                        "--data_dir=" + (dir / "data"),
                                        "--replica=jobsvc-7",
                                        "--port_file=" + (dir / "port"),
                                        "--metrics_port_file=" + (dir / "metrics-port")};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }

  // Returns the reason that /readyz gives for one target. Empty if the target is ready.
  static std::string Why(const std::string& address, std::string_view target) {
    http::CurlOptions server;
    server.base_url = "http://" + address;
    const absl::StatusOr<json::value> body = ParseJson(FetchText(server, "/readyz"));
    if (!body.ok()) return "(cannot be read)";
    for (const json::value& entry : body->at("targets").as_array()) {
      if (FindString(entry, "name") == target) return std::string(FindString(entry, "why"));
    }
    return "(there is no such target)";
  }

  // Returns the command of a gateway beside the world's own, with another Lease.
  static std::vector<std::string> Gateway(const testing::TempDir& dir, const std::vector<std::string>& flags) {
    std::vector<std::string> command = {
        BinDir() + "/gateway",          "--kube_server=" + world_->suite().kube_server(),
        "--replica=gateway-7",          "--lease_name=elsewhere",
        "--listen=127.0.0.1:0",         "--port_file=" + (dir / "gateway-port"),
        "--metrics_listen=127.0.0.1:0", "--metrics_port_file=" + (dir / "gateway-metrics-port")};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  // Waits until the target of the process with that port gives a reason with `words`, or is ready if `words` is empty.
  static bool Says(const std::string& port_file, const std::string& target, const std::string& words) {
    return Eventually(absl::Seconds(30), [&] {
      const std::string port = ReadFile(port_file);
      if (port.empty()) return false;
      const std::string why = Why(fmt::format("127.0.0.1:{}", std::atoi(port.c_str())), target);
      return words.empty() ? why.empty() : why.find(words) != std::string::npos;
    });
  }

  // Starts jobsvc with `flags`, and waits until its target "gateway" gives a reason with `words`.
  static void ExpectError(const std::vector<std::string>& flags, const std::string& words) {
    const testing::TempDir dir;
    Child child(Jobsvc(dir, flags), dir / "out", dir / "err");
    std::string why;
    EXPECT_TRUE(Eventually(absl::Seconds(30),
                           [&] {
                             const std::string port = ReadFile(dir / "metrics-port");
                             if (!port.empty())
                               why = Why(fmt::format("127.0.0.1:{}", std::atoi(port.c_str())), "gateway");
                             return why.find(words) != std::string::npos;
                           }))
        << "it says '" << why << "', not '" << words << "'\n"
        << ReadFile(dir / "err");
    child.Signal(SIGTERM);
    EXPECT_EQ(child.Wait(absl::Seconds(20)), 0) << "told while it is tried again, and ends when it is told to";
  }

  static World* world_;
};
World* ReplicaBadInputTest::world_ = nullptr;

TEST_F(ReplicaBadInputTest, AGatewayThatDoesNotTakeTheReplicaIsNamed) {
  ExpectError({"--cluster=other"}, "cluster differs: the gateway has 'default', the replica 'other'");
  ExpectError({"--gateway=dns:///no..such:7700"}, "--gateway 'dns:///no..such:7700': no..such cannot be looked up: ");
  ExpectError({"--gateway=127.0.0.1:1"}, "Connection refused");
}

TEST_F(ReplicaBadInputTest, AGatewayIsFoundByANameThatStandsForMany) {
  const testing::TempDir dir;
  const std::string gateway = world_->suite().gateway();
  Child child(Jobsvc(dir, {"--gateway=dns:///no..such:1,dns:///127.0.0.1" + gateway.substr(gateway.find(':'))}),
              dir / "out", dir / "err");
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
    return world_->Ctl({"topology"}).out.find("jobsvc-7") != std::string::npos;
  })) << ReadFile(dir / "err");
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(absl::Seconds(20)), 0);
}

// The tables of the flags are those of gateway_names_test, members_test, metrics_token_test and listen_test.
TEST_F(ReplicaBadInputTest, AFlagThatCannotBeMeantEndsTheProcessAtOnce) {
  const std::string gateway = BinDir() + "/gateway", kube = "--kube_server=" + world_->suite().kube_server();
  const testing::TempDir dir;
  const struct {
    std::vector<std::string> command;
    const char* words;
  } rows[] = {
      {Jobsvc(dir, {"--gateway=localhost"}), "--gateway: 'localhost' has no port"},
      {Jobsvc(dir, {"--workers=0"}), "--workers: 0 is not between 1 and 64"},
      {Jobsvc(dir, {"--workers=65"}), "--workers: 65 is not between 1 and 64"},
      {Jobsvc(dir, {"--listen=0.0.0.0:0"}), "--listen: '0.0.0.0:0' is reached from other machines"},
      {Jobsvc(dir, {"--metrics_listen=[::]:0"}), "--metrics_listen: '[::]:0' is reached from other machines"},
      {{gateway, kube, "--listen=[::]:7700"}, "--listen: '[::]:7700' is reached from other machines"},
      {{gateway, kube, "--metrics_listen=0.0.0.0:0"}, "--metrics_listen: '0.0.0.0:0' is reached from other machines"},
      {{BinDir() + "/kubesim", "--address=0.0.0.0"}, "--address: '0.0.0.0:0' is reached from other machines"},
      {{gateway, kube, "--members=jobsvc=three"}, "--members: 'jobsvc=three'"},
      {{gateway, kube, "--lease_name="}, "--lease_name is empty, and needs a name, also for a single gateway"},
      {{gateway, kube, "--lease_duration=1ms"}, "--lease_duration is 1ms, and has to be between 1s and 1h"},
      {{gateway, kube, "--metrics_token_file=/dev/null"}, "--metrics_token_file: /dev/null: has no token"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.words);
    const Ran ran = world_->Run(row.command, absl::Seconds(20));
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_THAT(ran.err, HasSubstr(row.words));
    EXPECT_FALSE(std::filesystem::exists(dir / "data")) << "nothing is made for what cannot run";
  }
}

// Fewer replicas attach than --members requires. The attached replica waits, and the gateway names the missing ones.
TEST_F(ReplicaBadInputTest, MembersThatDoNotComeAreNamedUntilTheyDo) {
  const testing::TempDir dir, other_dir;
  Child gateway(Gateway(dir, {"--members=jobsvc=2"}), dir / "gateway-out", dir / "gateway-err");
  const std::string port_file = dir / "gateway-metrics-port";
  EXPECT_TRUE(Says(port_file, "members", "jobsvc: 0 of 2 attached")) << ReadFile(dir / "gateway-err");
  const std::string address = fmt::format("--gateway=127.0.0.1:{}", std::atoi(ReadFile(dir / "gateway-port").c_str()));
  Child first(Jobsvc(dir, {address}), dir / "out", dir / "err");
  EXPECT_TRUE(Says(port_file, "members", "jobsvc: 1 of 2 attached")) << ReadFile(dir / "err");
  Child second(Jobsvc(other_dir, {address, "--replica=jobsvc-8"}), other_dir / "out", other_dir / "err");
  EXPECT_TRUE(Says(port_file, "members", "")) << ReadFile(other_dir / "err");
}

TEST_F(ReplicaBadInputTest, ALeaseOfAnotherControllerIsNamedAndLedWithOnceItIsGone) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const auto made = world_->Call(
      "POST", leases,
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"vc-controller-manager"},)"
      R"("spec":{"holderIdentity":"host_1f2e","leaseDurationSeconds":600}})");
  ASSERT_TRUE(made.ok() && made->status == 201);
  const testing::TempDir dir;
  Child gateway(Gateway(dir, {"--lease_name=vc-controller-manager"}), dir / "gateway-out", dir / "gateway-err");
  const std::string port_file = dir / "gateway-metrics-port";
  EXPECT_TRUE(Says(port_file, "lease",
                   "Lease default/vc-controller-manager is held by 'host_1f2e', which is no gateway of ours"))
      << ReadFile(dir / "gateway-err");
  const auto removed = world_->Call("DELETE", leases + "/vc-controller-manager");
  ASSERT_TRUE(removed.ok() && removed->status == 200);
  EXPECT_TRUE(Says(port_file, "lease", "")) << ReadFile(dir / "gateway-err");
  const json::value taken = world_->KubeGet(leases + "/vc-controller-manager");
  EXPECT_THAT(std::string(FindString(*Find(taken, "spec"), "holderIdentity")), HasSubstr("basalt-gateway/gateway-7/"));
  gateway.Signal(SIGTERM);
  EXPECT_EQ(gateway.Wait(absl::Seconds(20)), 0);
}

TEST_F(ReplicaBadInputTest, ASecondProcessOnOneDiskEndsAndTheFirstGoesOn) {
  const testing::TempDir dir;
  const std::string disk = world_->suite().data_dir("jobsvc");
  const Ran ran = world_->Run(Jobsvc(dir, {"--replica=jobsvc-0", "--data_dir=" + disk}), absl::Seconds(20));
  EXPECT_EQ(ran.exit_code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(disk));
  EXPECT_THAT(ran.err, HasSubstr("another process"));
  const Ran rebuilt =
      world_->Run(Jobsvc(dir, {"--replica=jobsvc-0", "--rebuild", "--data_dir=" + disk}), absl::Seconds(20));
  EXPECT_EQ(rebuilt.exit_code, 1) << "--rebuild takes no disk from under another: " << rebuilt.err;
  EXPECT_THAT(world_->suite().Casualties(), ::testing::IsEmpty());
  EXPECT_EQ(world_->Ctl({"job", "list"}).exit_code, 0);
}

}  // namespace
}  // namespace basalt::e2e
