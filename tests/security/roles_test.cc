// Compares the roles of deploy/rbac with the requests that the gateway permits to services, and with the list that
// people read.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/json.h"
#include "common/base/yaml.h"
#include "common/kube/names.h"
#include "gateway/access/permissions.h"

namespace basalt::security {
namespace {

using ::testing::IsEmpty;

std::string ReadText(const std::string& file) {
  std::ifstream stream(std::string(BASALT_SOURCE_DIR) + "/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return text.str();
}

std::vector<json::value> DocumentsOf(const std::string& file) {
  const absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(ReadText(file));
  EXPECT_TRUE(documents.ok()) << file << documents.status();
  return documents.ok() ? *documents : std::vector<json::value>();
}

std::vector<std::string> TextsOf(const json::value& rule, std::string_view field) {
  std::vector<std::string> texts;
  const json::value* const list = Find(rule, field);
  if (list == nullptr) return texts;
  for (const json::value& text : list->as_array()) texts.emplace_back(text.as_string());
  return texts;
}

// Returns the rights of the roles in the file, each as "where group resource verb". The core group is "core". A rule
// about one object has the object's name behind the resource.
std::set<std::string> RightsIn(const std::string& file, const std::string& where) {
  std::set<std::string> rights;
  for (const json::value& document : DocumentsOf(file)) {
    const json::value* const rules = Find(document, "rules");
    if (rules == nullptr) continue;
    const json::value* const ns = FindPath(document, {"metadata", "namespace"});
    for (const json::value& rule : rules->as_array()) {
      const std::vector<std::string> names = TextsOf(rule, "resourceNames");
      for (const std::string& group : TextsOf(rule, "apiGroups")) {
        for (const std::string& resource : TextsOf(rule, "resources")) {
          for (const std::string& verb : TextsOf(rule, "verbs")) {
            rights.insert(fmt::format("{} {} {}{} {}", ns == nullptr ? where : std::string(ns->as_string()),
                                      group.empty() ? "core" : group, resource,
                                      names.empty() ? "" : " " + fmt::format("{}", fmt::join(names, " ")), verb));
          }
        }
      }
    }
  }
  return rights;
}

std::set<std::string> Without(const std::set<std::string>& all, const std::set<std::string>& these) {
  std::set<std::string> left;
  for (const std::string& one : all) {
    if (!these.contains(one)) left.insert(one);
  }
  return left;
}

std::set<std::string> AllRights() {
  std::set<std::string> all = RightsIn("deploy/rbac/gateway.yaml", "everywhere");
  all.merge(RightsIn("deploy/rbac/plugins/ssh.yaml", "plugins/ssh.yaml"));
  all.merge(RightsIn("deploy/rbac/plugins/svc.yaml", "plugins/svc.yaml"));
  return all;
}

// Returns "group resource verb" of each right, without the place where it is bound.
std::set<std::string> Anywhere(const std::set<std::string>& rights) {
  std::set<std::string> bare;
  for (const std::string& right : rights) bare.insert(right.substr(right.find(' ') + 1));
  return bare;
}

TEST(RolesTest, TableAndRolesGrantTheSame) {
  std::set<std::string> granted;
  for (const gateway::Grant& grant : gateway::Grants()) {
    granted.insert(
        fmt::format("{} {} {}", grant.kind.group.empty() ? "core" : grant.kind.group, grant.resource, grant.verb));
  }
  std::set<std::string> roles = Anywhere(AllRights());
  roles.merge(Anywhere(RightsIn("deploy/rbac/kai/gateway.yaml", "everywhere")));
  EXPECT_THAT(Without(granted, roles), IsEmpty()) << "the API server refuses it";
  std::set<std::string> unused;
  for (const std::string& right : Without(roles, granted)) {
    // The gateway itself needs the rights to watch and to lead.
    const bool is_watch = right.ends_with(" list") || right.ends_with(" watch");
    const bool is_lead = right.starts_with("coordination.k8s.io ") || right.starts_with("core configmaps ");
    if (!is_watch && !is_lead) unused.insert(right);
  }
  EXPECT_THAT(unused, IsEmpty()) << "nobody asks for it";
}

TEST(RolesTest, ThePageOfRightsIsTheListOfTheManifests) {
  std::set<std::string> listed;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(ReadText("docs/rights.md"), '\n'))) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.size() != 6 || cells[0] == "| where") continue;
    for (const std::string& verb : std::vector<std::string>(absl::StrSplit(cells[3], ", "))) {
      listed.insert(fmt::format("{} {} {} {}", cells[0].substr(2), cells[1], cells[2], verb));
    }
    EXPECT_TRUE(cells[5].find('`') != std::string::npos) << "no test: " << line;
  }
  std::set<std::string> all = AllRights();
  // The gateway needs these rights to check users' rights and to act in their names.
  all.merge(RightsIn("deploy/rbac/users/gateway.yaml", "users"));
  all.merge(RightsIn("deploy/rbac/impersonation/gateway.yaml", "impersonation"));
  EXPECT_THAT(Without(all, listed), IsEmpty()) << "not on the page";
  EXPECT_THAT(Without(listed, all), IsEmpty()) << "in no manifest";
}

TEST(RolesTest, ObjectsOfPluginsAreWithinReachOnlyWhereBound) {
  for (const std::string& right : RightsIn("deploy/rbac/gateway.yaml", "everywhere")) {
    if (right.starts_with("basalt-system ")) continue;
    for (const char* resource : {" secrets", " configmaps", " services", " networkpolicies"}) {
      EXPECT_EQ(right.find(resource), std::string::npos) << right;
    }
  }
  for (const char* file : {"deploy/rbac/plugins/ssh.yaml", "deploy/rbac/plugins/svc.yaml"}) {
    for (const json::value& document : DocumentsOf(file)) {
      EXPECT_NE(FindString(document, "kind"), "ClusterRoleBinding") << file;
    }
    for (const std::string& right : RightsIn(file, "x")) {
      EXPECT_TRUE(!right.ends_with(" list") && !right.ends_with(" watch")) << right;
    }
  }
  // The rights cover one Lease and one ConfigMap by their names. The right to create cannot be limited to a name.
  for (const std::string& right : RightsIn("deploy/rbac/gateway.yaml", "everywhere")) {
    if (!right.starts_with("basalt-system ") || right.ends_with(" create")) continue;
    EXPECT_NE(right.find(" basalt-gateway"), std::string::npos) << right;
  }
}

}  // namespace
}  // namespace basalt::security
