#include "common/identity/rights.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/gateway/v1/user.pb.h"
#include "basalt/job/v1/job.pb.h"
#include "basalt/job/v1/job_part.pb.h"
#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/queue/v1/queue_part.pb.h"
#include "basalt/replica/v1/replica.pb.h"

namespace basalt::identity {
namespace {

const google::protobuf::FileDescriptor* const kFiles[] = {
    gateway::v1::Hello::descriptor()->file(),
    gateway::v1::UserToken::descriptor()->file(),
    job::v1::Job::descriptor()->file(),
    job::v1::ListPartRequest::descriptor()->file(),
    podgroup::v1::CallBatch::descriptor()->file(),
    podgroup::v1::ListPodGroupsRequest::descriptor()->file(),
    podgroup::v1::ListPartRequest::descriptor()->file(),
    queue::v1::Queue::descriptor()->file(),
    queue::v1::ListPartRequest::descriptor()->file(),
    replica::v1::SlotRecord::descriptor()->file(),
};

TEST(RightsTest, EachRpcHasItsRowAndEachRowAnRpc) {
  std::set<std::string> rpcs;
  for (const auto* file : kFiles) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int k = 0; k < service.method_count(); ++k) {
        const std::string path = "/" + std::string(service.full_name()) + "/" + std::string(service.method(k)->name());
        rpcs.insert(path);
        bool is_callable = false;
        for (const Role role : kRoles) is_callable |= MayCall(role, path);
        is_callable |= FindRight(path)->users.kind != UserRight::Kind::kNone;
        EXPECT_TRUE(is_callable) << path;
      }
    }
  }
  for (const Right& right : AllRights()) {
    if (right.service.starts_with("grpc.")) continue;
    const std::string begin = "/" + std::string(right.service) + "/";
    const auto first = rpcs.lower_bound(right.method == "*" ? begin : begin + std::string(right.method));
    ASSERT_NE(first, rpcs.end()) << begin << right.method;
    if (right.users.kind != UserRight::Kind::kNone) {
      // The right of a user is looked up by the name of the request.
      const std::string package(right.service.substr(0, right.service.rfind('.') + 1));
      EXPECT_EQ(FindRightOfRequest(package + std::string(right.method) + "Request"), &right);
    }
    EXPECT_TRUE(right.method == "*" ? first->starts_with(begin) : *first == begin + std::string(right.method))
        << begin << right.method;
  }
}

TEST(RightsTest, OnlyTheRolesOfARowMayCall) {
  struct Case {
    const char* path;
    std::set<Role> may;
  };
  const std::set<Role> services = {Role::kJobsvc, Role::kPgsvc, Role::kQueuesvc};
  const Case cases[] = {{"/basalt.gateway.v1.GatewayService/Attach", services},
                        {"/basalt.gateway.v1.GatewayService/GetTopology", {std::begin(kRoles), std::end(kRoles)}},
                        {"/basalt.job.v1.JobService/SubmitJob", {Role::kOperator, Role::kJobsvc}},
                        {"/basalt.job.v1.JobService/ListJobs", {Role::kReader, Role::kOperator, Role::kJobsvc}},
                        {"/basalt.podgroup.v1.PodGroupService/Call", {Role::kJobsvc}},
                        {"/basalt.queue.v1.QueuePartService/ListPart", {Role::kQueuesvc}},
                        {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {Role::kOperator}},
                        {"/basalt.gateway.v1.GatewayService/Unknown", {}},
                        {"/basalt.gateway.v1.GatewayService", {}},
                        {"basalt.gateway.v1.GatewayService/Attach", {}},
                        {"", {}}};
  for (const Case& test : cases) {
    for (const Role role : kRoles) {
      EXPECT_EQ(MayCall(role, test.path), test.may.contains(role)) << NameOf(role) << " " << test.path;
    }
  }
}

std::string UsersOf(const UserRight& right) {
  switch (right.kind) {
    case UserRight::Kind::kNone:
      return "–";
    case UserRight::Kind::kAnybody:
      return "anybody";
    case UserRight::Kind::kEveryUser:
      return "every user";
    case UserRight::Kind::kKubernetes:
      break;
  }
  const std::string where = right.in_namespace.empty() ? "" : fmt::format(" in `{}`", right.in_namespace);
  return fmt::format("`{} {}.{}`{}", right.verb, right.resource, right.group, where);
}

TEST(RightsTest, ThePageOfSecurityHasTheTable) {
  std::string table;
  for (const Right& right : AllRights()) {
    table +=
        fmt::format("| `{}` | {} |", right.service, right.method == "*" ? "all" : fmt::format("`{}`", right.method));
    for (const Role role : kRoles) table += (right.roles & Only({role})) != 0 ? " yes |" : " – |";
    table += fmt::format(" {} | {} |\n", UsersOf(right.users), right.why);
  }
  std::ifstream file(std::string(BASALT_SOURCE_DIR) + "/docs/security.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(page.find("|---|---|---|---|---|---|---|---|---|---|\n" + table), std::string::npos) << table;
}

}  // namespace
}  // namespace basalt::identity
