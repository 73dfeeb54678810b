#include "services/pgsvc/api/pod_group_query_service.h"

#include <string>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/pod_group_part.grpc.pb.h"
#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/rpc/error_details.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/grpc/forward/list_all.h"
#include "common/rpc/grpc/forward/serve.h"
#include "common/rpc/grpc/unary.h"
#include "services/pgsvc/api/pod_group_list.h"
#include "services/pgsvc/api/pod_group_watch.h"

namespace basalt::pgsvc {
namespace {

using podgroup::v1::ExplainGroupingRequest;
using podgroup::v1::ExplainGroupingResponse;
using podgroup::v1::GetPodGroupHistoryRequest;
using podgroup::v1::GetPodGroupRequest;
using podgroup::v1::ListGroupingRulesRequest;
using podgroup::v1::ListGroupingRulesResponse;
using podgroup::v1::ListPartRequest;
using podgroup::v1::ListPartResponse;
using podgroup::v1::ListPodGroupsRequest;
using podgroup::v1::ListPodGroupsResponse;
using podgroup::v1::PodGroup;
using podgroup::v1::PodGroupHistory;
using podgroup::v1::PodGroupPartService;
using podgroup::v1::PodGroupQueryService;
using podgroup::v1::TryGroupingRequest;
using podgroup::v1::TryGroupingResponse;
using podgroup::v1::WatchPartRequest;
using podgroup::v1::WatchPartResponse;
using podgroup::v1::WatchPodGroupsRequest;
using podgroup::v1::WatchPodGroupsResponse;

// Checks a question about one group or pod. A slash would make a key of another kind.
template <typename Request>
absl::Status CheckQuestion(const Request& asked) {
  if (asked.name().empty()) return rpc::InvalidField("name", "is required");
  std::vector<std::pair<const char*, std::string>> texts = {{"name", asked.name()}, {"namespace", asked.namespace_()}};
  if constexpr (requires { asked.group(); }) texts.emplace_back("group", asked.group());
  for (const auto& [field, text] : texts) {
    if (text.find('/') != std::string::npos) return rpc::InvalidField(field, "has a slash");
  }
  if (!podgroup::v1::Profile_IsValid(asked.profile())) return rpc::InvalidField("profile", "is unknown");
  return absl::OkStatus();
}

// The members that both services share. Tasks on the loop hold a reference, so that their members outlive them.
struct Core {
  Core(Loop& api_loop, std::shared_ptr<rpc::InflightLimiter> of_server, std::unique_ptr<Workers> own_workers,
       std::unique_ptr<rpc::Members> known, std::shared_ptr<watch::WatchHub> hub, RuleOptions rules)
      : loop(api_loop),
        limiter(std::move(of_server)),
        workers(std::move(own_workers)),
        members(std::move(known)),
        api(*workers, std::move(hub), std::move(rules)),
        groups(std::make_shared<rpc::Forwarder<PodGroupQueryService>>(loop, *members)),
        parts(std::make_shared<rpc::Forwarder<PodGroupPartService>>(loop, *members)) {}

  Loop& loop;
  const std::shared_ptr<rpc::InflightLimiter> limiter;
  const std::unique_ptr<Workers> workers;
  const std::unique_ptr<rpc::Members> members;
  PodGroupApi api;
  rpc::ConnectionShares watches;
  const std::shared_ptr<rpc::Forwarder<PodGroupQueryService>> groups;
  const std::shared_ptr<rpc::Forwarder<PodGroupPartService>> parts;
};

// Returns the object that a question about a group concerns. Groups of KAI's form have another API group.
template <typename Request>
rpc::Target TargetOfGroup(const Request& asked) {
  rpc::Target target = rpc::TargetOfOne(asked);
  if (asked.profile() == podgroup::v1::PROFILE_KAI) target.group = kube::kKaiPodGroups.group;
  return target;
}

class QueryService final : public PodGroupQueryService::CallbackService {
 public:
  explicit QueryService(std::shared_ptr<Core> core) : core_(std::move(core)) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    core_->loop.Post([] {});
  }
  ~QueryService() override {
    trying_.reset();
    core_->groups->Stop();
    core_->parts->Stop();
  }

  grpc::ServerUnaryReactor* GetPodGroup(grpc::CallbackServerContext* context, const GetPodGroupRequest* request,
                                        PodGroup* response) override {
    return AskOwner(context, request, response, podgroup::v1::PROFILE_COMPAT, &PodGroupApi::Get,
                    [](auto& stub, auto... arguments) { stub.async()->GetPodGroup(arguments...); });
  }
  grpc::ServerUnaryReactor* GetPodGroupHistory(grpc::CallbackServerContext* context,
                                               const GetPodGroupHistoryRequest* request,
                                               PodGroupHistory* response) override {
    return AskOwner(context, request, response, podgroup::v1::PROFILE_COMPAT, &PodGroupApi::History,
                    [](auto& stub, auto... arguments) { stub.async()->GetPodGroupHistory(arguments...); });
  }
  grpc::ServerUnaryReactor* ListGroupingRules(grpc::CallbackServerContext* context,
                                              const ListGroupingRulesRequest* request,
                                              ListGroupingRulesResponse* response) override {
    return ServeAdmitted(context, request, response, &PodGroupApi::ListGroupingRules);
  }
  grpc::ServerUnaryReactor* TryGrouping(grpc::CallbackServerContext* context, const TryGroupingRequest* request,
                                        TryGroupingResponse* response) override {
    return ServeAdmitted(context, request, response, &PodGroupApi::TryGrouping, trying_);
  }
  grpc::ServerUnaryReactor* ExplainGrouping(grpc::CallbackServerContext* context, const ExplainGroupingRequest* request,
                                            ExplainGroupingResponse* response) override {
    return rpc::ServeUnary(
        core_->loop, core_->limiter, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context, *core_->members)](ExplainGroupingRequest asked,
                                                                          rpc::Done<ExplainGroupingResponse> done) {
          if (const absl::Status wrong = CheckQuestion(asked); !wrong.ok()) return done(wrong);
          rpc::Target target = TargetOfGroup(asked);
          target.name.clear();  // This name is a pod's: the user needs the right on all groups of the namespace.
          auto serve = [core, caller, asked = std::move(asked)](rpc::Done<ExplainGroupingResponse> answered) mutable {
            ExplainHere(core, std::move(caller), std::move(asked), std::move(answered));
          };
          rpc::Admit<ExplainGroupingRequest, ExplainGroupingResponse>(
              core->loop, *core->members, caller, std::move(target), std::move(done), std::move(serve));
        });
  }
  grpc::ServerUnaryReactor* ListPodGroups(grpc::CallbackServerContext* context, const ListPodGroupsRequest* request,
                                          ListPodGroupsResponse* response) override {
    return rpc::ServeList<PodGroupList>(core_, core_->parts, context, request, response);
  }
  grpc::ServerWriteReactor<WatchPodGroupsResponse>* WatchPodGroups(grpc::CallbackServerContext* context,
                                                                   const WatchPodGroupsRequest* request) override {
    return rpc::ServeWatch<WatchedPodGroups>(core_, *core_->members, core_->parts, context, request);
  }

 private:
  // Answers at this replica, whatever it owns: on the loop `beside`, unless it is null.
  template <typename Request, typename Response, typename Method>
  grpc::ServerUnaryReactor* ServeAdmitted(grpc::CallbackServerContext* context, const Request* request,
                                          Response* response, Method method,
                                          const std::shared_ptr<Loop>& beside = nullptr) {
    return rpc::ServeUnary(
        core_->loop, core_->limiter, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context, *core_->members), method, is_beside = beside != nullptr,
         weak = std::weak_ptr<Loop>(beside)](Request asked, rpc::Done<Response> done) {
          auto serve = [core, method, is_beside, weak, asked = std::move(asked)](rpc::Done<Response> answered) mutable {
            auto handler = rpc::HandlerOf<Request, Response>(core, method);
            if (!is_beside) return handler(std::move(asked), std::move(answered));
            const std::shared_ptr<Loop> loop = weak.lock();  // The service ends, and the call with it.
            if (loop == nullptr) return;                     // The service ends; so does the call.
            loop->Post([handler, asked = std::move(asked), answered = std::move(answered)]() mutable {
              handler(std::move(asked), std::move(answered));
            });
          };
          rpc::Admit<Request, Response>(core->loop, *core->members, caller, rpc::Target(), std::move(done),
                                        std::move(serve));
        });
  }

  template <typename Request, typename Response>
  struct Turn {
    rpc::Caller caller;
    Request asked;        // With the profile whose turn it is.
    bool is_any = false;  // Further profiles have their turn, too.
    rpc::Done<Response> done;
    absl::Status unavailable = absl::OkStatus();  // The answer of an earlier owner that is unavailable now.
  };
  // Passes a question about one group or pod to its owner. Without a profile, the owners for the profiles from `first`
  // on are asked in turn.
  template <typename Request, typename Response, typename Method, typename Start>
  grpc::ServerUnaryReactor* AskOwner(grpc::CallbackServerContext* context, const Request* request, Response* response,
                                     podgroup::v1::Profile first, Method method, Start start) {
    return rpc::ServeUnary(
        core_->loop, core_->limiter, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context, *core_->members), first, method, start](
            Request asked, rpc::Done<Response> done) {
          if (const absl::Status wrong = CheckQuestion(asked); !wrong.ok()) return done(wrong);
          rpc::Target target = TargetOfGroup(asked);
          auto serve = [core, caller, first, method, start,
                        asked = std::move(asked)](rpc::Done<Response> answered) mutable {
            const bool is_any = asked.profile() == podgroup::v1::PROFILE_UNSPECIFIED;
            if (is_any) asked.set_profile(first);
            Turn<Request, Response> turn{
                .caller = caller, .asked = std::move(asked), .is_any = is_any, .done = std::move(answered)};
            AskInTurn(core, std::move(turn), method, start);
          };
          rpc::Admit<Request, Response>(core->loop, *core->members, caller, std::move(target), std::move(done),
                                        std::move(serve));
        });
  }

  static constexpr auto StartExplain = [](auto& stub, auto... arguments) {
    stub.async()->ExplainGrouping(arguments...);
  };
  // Passes the question to the owner of the group, or of the namespace, that the request names.
  static void Explain(const std::shared_ptr<Core>& core, rpc::Caller caller, ExplainGroupingRequest asked,
                      rpc::Done<ExplainGroupingResponse> done) {
    Turn<ExplainGroupingRequest, ExplainGroupingResponse> turn{
        .caller = std::move(caller), .asked = std::move(asked), .is_any = false, .done = std::move(done)};
    AskInTurn(core, std::move(turn), &PodGroupApi::ExplainGrouping, StartExplain);
  }

  static void ExplainHere(const std::shared_ptr<Core>& core, rpc::Caller caller, ExplainGroupingRequest asked,
                          rpc::Done<ExplainGroupingResponse> done) {
    const bool is_compat = asked.profile() == podgroup::v1::PROFILE_COMPAT;
    const bool is_any = asked.profile() == podgroup::v1::PROFILE_UNSPECIFIED;
    if (!is_any && (!is_compat || !asked.group().empty())) {
      return Explain(core, std::move(caller), std::move(asked), std::move(done));
    }
    FindGroups(core, caller, asked,
               [core, caller, asked, done = std::move(done)](absl::StatusOr<ListPodGroupsResponse> found) mutable {
                 if (!found.ok()) return done(found.status());
                 core->loop.Post([core, caller = std::move(caller), asked = std::move(asked), found = *std::move(found),
                                  done = std::move(done)]() mutable {
                   ExplainFound(core, std::move(caller), std::move(asked), found, std::move(done));
                 });
               });
  }

  // Finds the groups of the pod that the question names, at the replicas that have the pod.
  static void FindGroups(const std::shared_ptr<Core>& core, const rpc::Caller& caller,
                         const ExplainGroupingRequest& asked, rpc::Done<ListPodGroupsResponse> done) {
    ListPodGroupsRequest list;
    list.set_namespace_(asked.namespace_().empty() ? "default" : asked.namespace_());
    list.set_pod(asked.name());
    const auto local = [core](ListPartRequest part, rpc::Done<ListPartResponse> answered) {
      core->api.ListPart(std::move(part), std::move(answered));
    };
    rpc::ListAll<PodGroupList>(*core->parts, caller, list, std::move(done), local,
                               [](auto& stub, auto... arguments) { stub.async()->ListPart(arguments...); });
  }
  // `found` are the groups of the pod.
  static void ExplainFound(const std::shared_ptr<Core>& core, rpc::Caller caller, ExplainGroupingRequest asked,
                           const ListPodGroupsResponse& found, rpc::Done<ExplainGroupingResponse> done) {
    const bool is_compat = asked.profile() == podgroup::v1::PROFILE_COMPAT;
    for (const PodGroup& group : found.pod_groups()) {
      if (is_compat && group.profile() != podgroup::v1::PROFILE_COMPAT) continue;
      // The right on Volcano's groups does not include KAI's.
      if (caller.client.is_user && group.profile() == podgroup::v1::PROFILE_KAI) continue;
      asked.set_profile(group.profile());
      asked.set_group(group.object().meta().name());
      return Explain(core, std::move(caller), std::move(asked), std::move(done));
    }
    if (is_compat) {
      return done(MakeStatus(absl::StatusCode::kNotFound, "there is no pod of that name in that profile"));
    }
    // A pod whose group is not known yet is in no group.
    asked.set_profile(podgroup::v1::PROFILE_RICH);
    Turn<ExplainGroupingRequest, ExplainGroupingResponse> turn{
        .caller = std::move(caller), .asked = std::move(asked), .is_any = true, .done = std::move(done)};
    AskInTurn(core, std::move(turn), &PodGroupApi::ExplainGrouping, StartExplain);
  }

  template <typename Request>
  static const std::string& NameOfGroup(const Request& asked) {
    if constexpr (requires { asked.group(); }) {
      return asked.group();
    } else {
      return asked.name();
    }
  }
  // If no owner has the requested object, one that is unavailable may have it.
  template <typename Request, typename Response, typename Method, typename Start>
  static void AskInTurn(const std::shared_ptr<Core>& core, Turn<Request, Response> turn, Method method, Start start) {
    const Request& asked = turn.asked;
    const std::string& name = NameOfGroup(asked);
    const uint32_t slot = SlotOf(RoutingKeyOf(asked.profile(), asked.namespace_(), name));
    std::string what = "pod group " + RoutingKeyOf(podgroup::v1::PROFILE_COMPAT, asked.namespace_(), name);
    rpc::Caller caller = turn.caller;
    Request request = asked;
    auto answered = [core, turn = std::move(turn), method, start](absl::StatusOr<Response> answer) mutable {
      // A user who asks for any profile gets Volcano's groups; KAI's must be requested by their profile.
      const auto last = turn.caller.client.is_user ? podgroup::v1::PROFILE_RICH : podgroup::v1::PROFILE_KAI;
      const bool is_last = !turn.is_any || turn.asked.profile() == last;
      if (absl::IsUnavailable(answer.status()) && turn.unavailable.ok()) turn.unavailable = answer.status();
      const bool is_undecided = absl::IsNotFound(answer.status()) || absl::IsUnavailable(answer.status());
      if (is_last || !is_undecided) {
        return turn.done(absl::IsNotFound(answer.status()) && !turn.unavailable.ok() ? turn.unavailable
                                                                                     : std::move(answer));
      }
      turn.asked.set_profile(static_cast<podgroup::v1::Profile>(turn.asked.profile() + 1));
      core->loop.Post(
          [core, turn = std::move(turn), method, start]() mutable { AskInTurn(core, std::move(turn), method, start); });
    };
    core->groups->Route(std::move(caller), slot, std::move(what), rpc::Repeat::kIdempotent, std::move(request),
                        rpc::Done<Response>(std::move(answered)), rpc::HandlerOf<Request, Response>(core, method),
                        rpc::Remote<Response>(start));
  }

  const std::shared_ptr<Core> core_;
  // Grouping many objects takes long and needs nothing of the cluster: other calls do not wait for it.
  std::shared_ptr<Loop> trying_ = MakeThreadLoop("trying");
};

class PartService final : public PodGroupPartService::CallbackService {
 public:
  explicit PartService(std::shared_ptr<Core> core) : core_(std::move(core)) {
    core_->loop.Post([] {});
  }

  grpc::ServerUnaryReactor* ListPart(grpc::CallbackServerContext* context, const ListPartRequest* request,
                                     ListPartResponse* response) override {
    return rpc::ServeHere(core_, context, request, response, &PodGroupApi::ListPart);
  }
  grpc::ServerWriteReactor<WatchPartResponse>* WatchPart(grpc::CallbackServerContext*,
                                                         const WatchPartRequest* request) override {
    return rpc::ServeWatchPart<WatchedPodGroups>(core_, request);
  }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueryServices(
    Loop& loop, std::shared_ptr<rpc::InflightLimiter> limiter, std::unique_ptr<Workers> workers,
    std::unique_ptr<rpc::Members> members, std::shared_ptr<watch::WatchHub> hub, RuleOptions rules) {
  const auto core = std::make_shared<Core>(loop, std::move(limiter), std::move(workers), std::move(members),
                                           std::move(hub), std::move(rules));
  std::vector<std::unique_ptr<rpc::GrpcService>> services;
  services.push_back(rpc::WrapService(std::make_unique<QueryService>(core)));
  services.push_back(rpc::WrapService(std::make_unique<PartService>(core)));
  return services;
}

}  // namespace basalt::pgsvc
