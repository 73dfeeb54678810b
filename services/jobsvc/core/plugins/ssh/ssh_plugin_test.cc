#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"

namespace basalt::jobsvc {
namespace {

std::string DataOf(const std::string& object, std::string_view key) {
  const json::value parsed = json::parse(object);
  std::string decoded;
  const std::string_view text = FindString(*Find(parsed, "data"), key);
  EXPECT_TRUE(absl::Base64Unescape(absl::string_view(text.data(), text.size()), &decoded)) << key;
  return decoded;
}

TEST(SshPluginTest, SecretHoldsConfigOfAllHosts) {
  const JobView job = JobWith({{"m", 1, R"({"spec":{"hostname":"head","containers":[]}})"}, {"w", 2}});
  const std::vector<WantedObject> objects = MakePlugin("ssh", Words({"--ssh-port=2222"}))->Objects(job);
  ASSERT_EQ(objects.size(), 1u);
  const WantedObject& secret = objects[0];
  EXPECT_EQ(secret.plural, "secrets");
  EXPECT_EQ(secret.name, "j-ssh");
  EXPECT_EQ(secret.object_namespace, "ns");
  EXPECT_TRUE(secret.needs_ssh_keys);
  EXPECT_EQ(DataOf(secret.json, "config"),
            "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
            "Host head\n  HostName head.j\n  Port 2222\n"
            "Host j-w-0\n  HostName j-w-0.j\n  Port 2222\n"
            "Host j-w-1\n  HostName j-w-1.j\n  Port 2222\n");
  EXPECT_EQ(DataOf(secret.patch, "config"), DataOf(secret.json, "config"));
  const SshKeyPair keys = *MakeFakeKeySource()->MakeSshKeyPair("uid-1");
  const std::string complete = WithSshKeys(secret, keys);
  EXPECT_EQ(DataOf(complete, "id_rsa"), keys.private_pem);
  EXPECT_EQ(DataOf(complete, "id_rsa.pub"), keys.public_openssh);
  EXPECT_EQ(DataOf(complete, "authorized_keys"), keys.public_openssh);
  EXPECT_EQ(DataOf(complete, "config"), DataOf(secret.json, "config"));
  EXPECT_EQ(FindString(json::parse(complete), "type"), "Opaque");
}

TEST(SshPluginTest, GivenKeysAreStoredVerbatim) {
  const JobView job = JobWith({{"w", 1}});
  const auto plugin = MakePlugin("ssh", Words({"--ssh-private-key=priv", "--ssh-public-key=pub", "--ssh-port=70000"}));
  const WantedObject secret = plugin->Objects(job).front();
  EXPECT_FALSE(secret.needs_ssh_keys);
  EXPECT_EQ(DataOf(secret.json, "id_rsa"), "priv");
  EXPECT_EQ(DataOf(secret.json, "id_rsa.pub"), "pub");
  EXPECT_EQ(DataOf(secret.json, "authorized_keys"), "pub");
  EXPECT_NE(DataOf(secret.json, "config").find("  Port 22\n"), std::string::npos);
}

TEST(SshPluginTest, MountsTheSecretReadableByItsOwnerAlone) {
  const std::string volume = R"("volumes":[{"name":"j-ssh","secret":{"secretName":"j-ssh","defaultMode":384,"items":[
    {"key":"id_rsa","path":".ssh/id_rsa"},{"key":"id_rsa.pub","path":".ssh/id_rsa.pub"},
    {"key":"authorized_keys","path":".ssh/authorized_keys"},{"key":"config","path":".ssh/config"}]}}])";
  const std::string mount = R"("volumeMounts":[{"name":"j-ssh","mountPath":"/root/.ssh","subPath":".ssh"}])";
  ExpectJson(EditedPod(*MakePlugin("ssh"), JobWith({{"w"}}), 0),
             R"({"spec":{)" + volume + R"(,"containers":[{"name":"c",)" + mount +
                 R"(}],"initContainers":[{"name":"i",)" + mount + "}]}}");
}

TEST(SshPluginTest, AnotherPathIsReadableByAll) {
  const JobView job = JobWith({{"w"}});
  const json::value pod =
      json::parse(EditedPod(*MakePlugin("ssh", Words({"--ssh-key-file-path=/home/user/.ssh"})), job, 0));
  const json::object& secret = pod.at("spec").at("volumes").as_array()[0].at("secret").as_object();
  EXPECT_EQ(secret.at("defaultMode").as_int64(), 420);
  EXPECT_EQ(FindString(pod.at("spec").at("containers").as_array()[0].at("volumeMounts").as_array()[0], "mountPath"),
            "/home/user/.ssh");
}

TEST(SshPluginTest, DoubtsKeysThatDoNotBelongTogether) {
  struct Row {
    PluginArguments arguments;
    std::vector<std::string> doubts;
  };
  const std::string pem = "--ssh-private-key=-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\n";
  for (const Row& row :
       {Row{{}, {}}, Row{Words({"--ssh-port=2222"}), {}}, Row{Words({pem, "--ssh-public-key=ssh-rsa x"}), {}},
        Row{Words({pem}), {"has --ssh-private-key without --ssh-public-key"}},
        Row{Words({"--ssh-private-key=x"}), {"has --ssh-private-key without --ssh-public-key"}},
        Row{Words({"--ssh-public-key=ssh-rsa x"}), {"has --ssh-public-key without --ssh-private-key"}},
        Row{Words({"--ssh-private-key=priv", "--ssh-public-key=pub"}),
            {"has an --ssh-private-key that is no key in PEM"}},
        Row{Words({"--ssh-private-key=-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----",
                   "--ssh-public-key=ssh-ed25519 x"}),
            {"has an --ssh-private-key without the newline at its end"}},
        Row{Words({"--ssh-private-key=", "--ssh-public-key="}), {}}}) {
    ExpectDoubts(*MakePlugin("ssh", row.arguments), JobWith({{"w"}}), row.doubts);
  }
}

}  // namespace
}  // namespace basalt::jobsvc
