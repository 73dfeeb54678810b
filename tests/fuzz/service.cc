#include "tests/fuzz/service.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/decode/decode_job.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/obs/log.h"
#include "common/runtime/objects/object_identity.h"
#include "common/runtime/slots/slot_records.h"
#include "common/runtime/watch/watch_records.h"
#include "gateway/route/object_ref.h"
#include "gateway/route/routes.h"
#include "gateway/translate/decoder.h"

namespace basalt::fuzz {

using gateway::v1::Item;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;
using kube::v1::Object;

namespace {

// Returns the watch of the object. An object that replicas request by interest has the watch of its kind.
std::string WatchOf(const Object& object) {
  if (object.has_generic()) return fmt::format("{}apps/v1/ReplicaSet", kube::kWatchObjectsPrefix);
  if (object.has_workload()) return fmt::format("{}replicasets", kube::kWatchWorkloadsPrefix);
  std::string watch = runtime::WatchOf(object);
  return watch.empty() ? std::string(kube::kWatchQueues) : watch;
}

std::string KeyOf(const Object& object) {
  const gateway::ObjectRef ref = gateway::RefOf(object);
  return WatchOf(object) + " " + kube::ObjectKey(ref.ns, ref.name);
}

}  // namespace

// Other services and replicas, which answer anything.
class ServiceRun::Peers final : public rpc::PeerDirectory {
 public:
  explicit Peers(ServiceRun& run) : run_(run) {}
  std::shared_ptr<rpc::ServicePeer> Services(const gateway::v1::Member& member) override {
    if (member.service() != gateway::v1::SERVICE_KIND_POD_GROUP) return nullptr;
    return std::make_shared<Groups>(run_);
  }
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override {
    return std::make_shared<Others>(run_);
  }

 private:
  template <typename Response>
  static void Answer(ServiceRun& run, rpc::Done<Response> done) {
    absl::StatusOr<Response> answer = absl::UnavailableError("nobody is there");
    if (!run.input_.OneIn(4)) answer = run.input_.Make<Response>();
    run.loop_.Post([answer = std::move(answer), done = std::move(done)]() mutable { done(std::move(answer)); });
  }
  struct Groups final : rpc::PodGroupPeer {
    explicit Groups(ServiceRun& in) : run(in) {}
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest, absl::Duration,
                        rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      Answer(run, std::move(done));
    }
    void DeletePodGroup(podgroup::v1::DeletePodGroupRequest, absl::Duration,
                        rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
      Answer(run, std::move(done));
    }
    ServiceRun& run;
  };
  struct Others final : rpc::ReplicaPeer {
    explicit Others(ServiceRun& in) : run(in) {}
    void ExportRecords(replica::v1::ExportRecordsRequest, absl::Duration,
                       rpc::Done<replica::v1::ExportRecordsResponse> done) override {
      Answer(run, std::move(done));
    }
    ServiceRun& run;
  };

  ServiceRun& run_;
};

ServiceRun::ServiceRun(Input& input, gateway::v1::ServiceKind service)
    : input_(input),
      service_(service),
      store_(kv::OpenMemKv(kv::MakeMemDisk())),
      peers_(std::make_unique<Peers>(*this)) {
  obs::SetLogLevel(obs::Level::kNothing);
}

ServiceRun::~ServiceRun() = default;

void ServiceRun::Run(Begins begins) {
  begins_ = begins;
  if (begins == Begins::kWithRecords) PutRecords();
  runtime::RuntimeOptions options;
  options.service = service_;
  options.replica = "replica-0";
  options.name_secret = "the name secret of a replica";
  options.on_failure = [](const absl::Status& why) { Require(false, why.ToString()); };
  replica_ = std::make_unique<runtime::Replica>(options, loop_, std::vector<Loop*>{&loop_}, random_, *store_, gateway_,
                                                *peers_, nullptr, nullptr,
                                                [this](runtime::Context& context) { return MakeController(context); });
  MakeApi(*replica_);
  replica_->Start();
  time_.RunDueTasks();
  while (!input_.empty()) {
    Step();
    time_.RunDueTasks();
    gateway_.requests.clear();
  }
  time_.Advance(absl::Minutes(2));
  DropApi();
  replica_.reset();
}

void ServiceRun::PutRecords() {
  kv::WriteBatch batch;
  for (int records = 1 + input_.Below(12); records > 0; --records) {
    CountRun();
    const std::string key = input_.OneIn(2) ? "default/j" : input_.Text();
    const uint32_t slot = SlotOf(key);
    runtime::PutSlotEpoch(slot, 1, batch);
    switch (input_.Below(8)) {
      case 0:
        batch.Put(kv::Family::kAux, runtime::SlotWatchKey(slot),
                  input_.Make<storage::v1::SlotWatch>().SerializeAsString());
        break;
      case 1:
        batch.Put(kv::Family::kAux, runtime::ShownKey(slot, key),
                  input_.Make<storage::v1::PublishedObject>().SerializeAsString());
        break;
      case 2: {
        std::string anything;
        kv::PutSlot(anything, slot);
        const int parts = input_.Below(4);
        for (int part = 0; part < parts; ++part) kv::PutText(anything, input_.Text());
        batch.Put(static_cast<kv::Family>(input_.Below(kv::kFamilyCount)), anything, input_.Text());
        break;
      }
      default:
        PutRecord(slot, key, batch);
    }
  }
  Require(store_->Write(batch).ok(), "the store of a run has room");
}

// ---- messages of the gateway ----

void ServiceRun::Send(Item item) {
  if (!gateway_.attached()) return;
  CountMessage();
  if (std::exchange(streams_, gateway_.attaches) != gateway_.attaches) BeginStream();
  gateway_.Send({std::move(item)}, input_.OneIn(8) ? input_.Number() : 0);
}

void ServiceRun::BeginStream() {
  open_.clear();
  Item item;
  gateway::v1::Assignment& assignment = *item.mutable_assignment();
  assignment.set_epoch(1);
  *assignment.add_members() = replica_->self();
  if (service_ != gateway::v1::SERVICE_KIND_POD_GROUP) {
    gateway::v1::Member& groups = *assignment.add_members();
    groups.set_service(gateway::v1::SERVICE_KIND_POD_GROUP);
    groups.set_replica("pgsvc-0");
  }
  gateway_.Send({std::move(item)});
}

void ServiceRun::Open(uint32_t slot) {
  if (!open_.insert(slot).second) return;
  Item begin;
  begin.mutable_begin()->set_slot(slot);
  begin.mutable_begin()->set_epoch(1);
  begin.mutable_begin()->set_records_epoch(1);
  Send(std::move(begin));
  Item end;
  end.mutable_end()->set_slot(slot);
  for (const auto& [watch, version] : marks_) {
    gateway::v1::Mark& mark = *end.mutable_end()->add_marks();
    mark.set_watch(watch);
    mark.set_resource_version(version);
    mark.set_state(gateway::v1::Mark::STATE_READY);
  }
  Send(std::move(end));
}

void ServiceRun::SendTo(const Object& object, const std::string& watch, bool gone) {
  marks_[watch] = version_;
  const auto send = [&](uint32_t slot, const std::string& key) {
    Item item;
    if (gone) {
      gateway::v1::Tombstone& tombstone = *item.mutable_tombstone();
      tombstone.set_slot(slot);
      tombstone.set_watch(watch);
      tombstone.set_routing_key(key);
      tombstone.set_reason(input_.OneIn(4) ? gateway::v1::Tombstone::REASON_LEFT
                                           : gateway::v1::Tombstone::REASON_DELETED);
      *tombstone.mutable_last() = object;
      tombstone.set_state_dropped(input_.OneIn(8));
    } else {
      gateway::v1::ObjectState& state = *item.mutable_state();
      state.set_slot(slot);
      state.set_watch(watch);
      state.set_routing_key(key);
      *state.mutable_object() = object;
    }
    Send(std::move(item));
  };
  // An object that replicas request by interest goes to every replica that requests it.
  if (gateway::IsBroadcast(object) || object.has_generic()) send(kBroadcastSlot, "");
  for (const gateway::Route& route : gateway::Routes(object, {.kai_scheduler_names = {"kai-scheduler"}})) {
    if (route.service != service_) continue;
    Open(SlotOf(route.key));
    send(SlotOf(route.key), route.key);
  }
}

Object& ServiceRun::AnyObject() {
  if (objects_.empty()) Show(makes_.New());
  return std::next(objects_.begin(), input_.Below(static_cast<int>(objects_.size())))->second;
}

void ServiceRun::Show(Object object) {
  if (object.kind_case() == Object::KIND_NOT_SET) return;
  BoundPods(object);
  gateway::SetResourceVersion(object, ++version_);
  const std::string watch = WatchOf(object);
  SendTo(object, watch, /*gone=*/false);
  objects_[KeyOf(object)] = std::move(object);
}

void ServiceRun::Hide() {
  Object object = AnyObject();
  objects_.erase(KeyOf(object));
  gateway::SetResourceVersion(object, ++version_);
  SendTo(object, WatchOf(object), /*gone=*/true);
}

void ServiceRun::Step() {
  switch (input_.Below(16)) {
    case 0:
    case 1:
      return Show(makes_.New());
    case 2:
    case 3: {
      Object object = AnyObject();
      const gateway::ObjectRef ref = gateway::RefOf(object);
      const std::string ns(ref.ns), name(ref.name), uid(ref.uid);
      input_.Change(object);
      SetIdentity(object, ns, name, uid);
      return Show(std::move(object));
    }
    case 4:
      return Hide();
    case 5:
      return Send(input_.Make<Item>());
    case 6:
      if (gateway_.attached()) gateway_.Close(absl::UnavailableError("the stream has ended"));
      return;
    case 7:
    case 8:
      return time_.Advance(absl::Milliseconds(input_.OneIn(4) ? 1000 * input_.Below(3600) : input_.Below(3000)));
    case 9:
    case 10:
    case 11:
      return Answer();
    case 12: {
      CountMessage();
      auto request = Asked<replica::v1::ExportRecordsRequest>();
      *request.mutable_source() = replica_->self();
      return replica_->hand_over().ExportRecords(std::move(request), Ignored<replica::v1::ExportRecordsResponse>());
    }
    default:
      CountMessage();
      return Call();
  }
}

// ---- answers of the API server ----

void ServiceRun::Answer() {
  const auto refused = [this](gateway::v1::KubeError& error) {
    constexpr int kCodes[] = {400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503};
    input_.Change(error);
    error.set_code(kCodes[input_.Below(std::size(kCodes))]);
  };
  if (!gateway_.gets.empty() && input_.OneIn(2)) {
    CountMessage();
    auto done = std::move(gateway_.gets.front());
    gateway_.gets.erase(gateway_.gets.begin());
    gateway::v1::GetResponse response;
    if (input_.OneIn(2)) {
      refused(*response.mutable_error());
    } else {
      *response.mutable_object() = AnyObject();
    }
    return done(input_.OneIn(8) ? absl::StatusOr<gateway::v1::GetResponse>(absl::UnknownError("nobody knows"))
                                : std::move(response));
  }
  if (gateway_.writes.empty()) return;
  CountMessage();
  auto write = std::move(gateway_.writes.front());
  gateway_.writes.erase(gateway_.writes.begin());
  WriteResponse response;
  switch (input_.Below(8)) {
    case 0:
      refused(*response.mutable_error());
      break;
    case 1: {
      constexpr absl::StatusCode kCodes[] = {
          absl::StatusCode::kUnavailable,        absl::StatusCode::kUnknown,
          absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDeadlineExceeded,
          absl::StatusCode::kPermissionDenied,   absl::StatusCode::kResourceExhausted};
      return write.done(absl::Status(kCodes[input_.Below(std::size(kCodes))], "no"));
    }
    case 2:
      input_.Change(response);
      break;
    default:
      *response.mutable_object() = Written(write.request);
      response.set_gone(write.request.has_delete_() && !input_.OneIn(4));
  }
  write.done(std::move(response));
}

// Returns the object as it is stored after the request, nearly as an API server would store it.
Object ServiceRun::Written(const WriteRequest& request) {
  const gateway::v1::Resource& resource = request.resource();
  Object object;
  if (request.has_create()) {
    gateway::Decoder decoder(gateway::KindOf(resource.group(), resource.plural()));
    auto decoded = decoder.DecodeObject(request.create().body());
    if (decoded.ok()) object = std::move(decoded->object);
    SetIdentity(object, request.namespace_(), request.name(), makes_.NewUid());
  } else {
    for (const auto& [key, known] : objects_) {
      const gateway::ObjectRef ref = gateway::RefOf(known);
      if (ref.name == request.name() && key.starts_with(resource.plural())) object = known;
    }
  }
  if (object.has_job() && request.has_patch()) {
    const auto patched = kube::DecodeStoredJob(request.patch().body());
    kube::v1::JobStatus& status = *object.mutable_job()->mutable_status();
    if (patched.ok()) {
      if (patched->job.status().controlled_resources_size() > 0) status.clear_controlled_resources();
      if (patched->job.status().conditions_size() > 0) status.clear_conditions();
      if (patched->job.status().task_status_count_size() > 0) status.clear_task_status_count();
      status.MergeFrom(patched->job.status());
    }
  }
  if (object.kind_case() == Object::KIND_NOT_SET) return object;
  gateway::SetResourceVersion(object, ++version_);
  if (request.has_delete_()) {
    objects_.erase(KeyOf(object));
  } else {
    objects_[KeyOf(object)] = object;
  }
  return object;
}

}  // namespace basalt::fuzz
