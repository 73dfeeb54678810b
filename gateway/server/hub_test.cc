#include "gateway/server/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rpc/leader_hint.h"
#include "gateway/kube/fake_kube_access.h"
#include "gateway/route/testing.h"
#include "gateway/server/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.
using ::testing::HasSubstr;

constexpr WatchIndex kJobs = 0, kGroups = 1, kJobPods = 2, kQueues = 3;
constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;
const uint32_t kSlot = SlotOf("ns/j");

const std::vector<std::string> kWatches = {"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "pods/job",
                                           "queues.scheduling.volcano.sh"};

class HubTest : public HubBench<> {
 protected:
  HubTest() : HubBench(kWatches) { hub.Lead({}); }
  // Attaches a replica that has its slots.
  FakeReplica& Begin(const std::string& incarnation = "a") {
    FakeReplica& replica = Attach("r-0", incarnation);
    time.Advance(absl::Seconds(1));
    return replica;
  }
  absl::StatusOr<v1::WriteResponse> Refused(v1::WriteRequest request) {
    std::optional<absl::StatusOr<v1::WriteResponse>> got;
    hub.Write(std::move(request), [&](auto answer) { got = std::move(answer); });
    EXPECT_FALSE(got.has_value()) << "never before the call returns";
    time.RunDueTasks();
    return got.has_value() ? *std::move(got) : absl::InternalError("no answer");
  }
  absl::Status RefusedGet(v1::GetRequest request) {
    std::optional<absl::Status> got;
    hub.Get(std::move(request), [&](auto answer) { got = answer.status(); });
    EXPECT_FALSE(got.has_value()) << "never before the call returns";
    time.RunDueTasks();
    return got.value_or(absl::InternalError("no answer"));
  }
  v1::Topology GetTopology() {
    v1::Topology topology;
    hub.GetTopology({}, [&](auto answer) { topology = *std::move(answer); });
    time.RunDueTasks();
    return topology;
  }
  v1::WriteRequest PatchBy(const FakeReplica& replica) {
    v1::WriteRequest request;
    *request.mutable_owner() = replica.OwnerFor(kSlot);
    request.mutable_owner()->set_key("ns/j");
    request.mutable_resource()->set_group("batch.volcano.sh");
    request.mutable_resource()->set_plural("jobs");
    request.mutable_resource()->set_version("v1alpha1");
    request.set_namespace_("ns");
    request.set_name("j");
    request.mutable_patch()->set_type(v1::Patch::TYPE_MERGE);
    return request;
  }
};

TEST_F(HubTest, AHelloFromElsewhereIsRefusedNamingBothValues) {
  const struct {
    std::function<void(v1::Hello&)> change;
    absl::StatusCode code;
    const char* message;
  } rows[] = {
      {[](auto& h) { h.set_cluster("d"); }, absl::StatusCode::kFailedPrecondition,
       "cluster differs: the gateway has 'c', the replica 'd'"},
      {[](auto& h) {
         *h.mutable_protocols() = rpc::RangeOf({2, 3});
       },
       absl::StatusCode::kFailedPrecondition, "(the gateway is of release 1, the replica of release '1')"},
      {[](auto& h) { h.clear_protocols(); }, absl::StatusCode::kFailedPrecondition,
       "protocols differ: the other process states none"},
      {[](auto& h) { h.set_slot_count(64); }, absl::StatusCode::kFailedPrecondition,
       "slot count differs: the gateway has '1024', the replica '64'"},
      {[](auto& h) { h.set_last_epoch(int64_t{1} << 62); }, absl::StatusCode::kFailedPrecondition,
       "the last epoch cannot be: the gateway is in epoch 0, the replica reports 4611686018427387904"},
      {[](auto& h) { h.set_last_epoch(-1); }, absl::StatusCode::kFailedPrecondition,
       "the gateway is in epoch 0, the replica reports -1"},
      {[](auto& h) { h.add_record_inventory()->set_epoch((int64_t{1} << 32) + 1); },
       absl::StatusCode::kFailedPrecondition,
       "the epoch of held slots cannot be: the gateway is in epoch 0, the replica reports 4294967297"},
      {[](auto& h) { h.add_record_inventory()->add_slots(1024); }, absl::StatusCode::kInvalidArgument,
       "hello.record_inventory[0].slots[0]: is 1024; slots are 0 to 1023"},
      {[](auto& h) { h.mutable_self()->clear_service(); }, absl::StatusCode::kInvalidArgument, "Hello.self.service"},
      {[](auto& h) { h.mutable_self()->clear_replica(); }, absl::StatusCode::kInvalidArgument,
       "Hello.self.replica has to be a DNS name of 1 to 253 bytes"},
      {[](auto& h) { h.mutable_self()->set_replica(std::string(254, 'r')); }, absl::StatusCode::kInvalidArgument,
       "hello.self.replica: has 254 bytes; it may have 253"},
      {[](auto& h) { h.mutable_self()->set_replica("r\x1b[2J"); }, absl::StatusCode::kInvalidArgument, "it is 'r?[2J'"},
      {[](auto& h) { h.mutable_self()->clear_incarnation(); }, absl::StatusCode::kInvalidArgument,
       "Hello.self.incarnation has to be printable and not empty"},
      {[](auto& h) { h.mutable_self()->set_incarnation(std::string(65, 'i')); }, absl::StatusCode::kInvalidArgument,
       "hello.self.incarnation: has 65 bytes; it may have 64"},
      {[](auto& h) { h.mutable_self()->set_incarnation("a\nb"); }, absl::StatusCode::kInvalidArgument, "it is 'a?b'"},
      {[](auto& h) { h.mutable_self()->set_address(std::string(260, 'a')); }, absl::StatusCode::kInvalidArgument,
       "hello.self.address: has 260 bytes; it may have 259"},
      {[](auto& h) { h.mutable_self()->set_address("a b"); }, absl::StatusCode::kInvalidArgument,
       "Hello.self.address has to be printable"},
      {[](auto& h) { h.set_cluster(std::string(1000, 'c')); }, absl::StatusCode::kInvalidArgument,
       "hello.cluster: has 1000 bytes; it may have 253"},
      {[](auto& h) { h.clear_name_secret(); }, absl::StatusCode::kInvalidArgument, "Hello.name_secret has 0 bytes"},
      {[](auto& h) { h.set_name_secret("123456789012345"); }, absl::StatusCode::kInvalidArgument,
       "Hello.name_secret has 15 bytes"},
      {[](auto& h) { h.set_name_secret(std::string(65, 't')); }, absl::StatusCode::kInvalidArgument,
       "Hello.name_secret has 65 bytes"},
  };
  for (const auto& row : rows) {
    FakeReplica replica(time, loop, hub, MemberOf(kJob, "r-0"));
    v1::Hello hello = replica.Hello();
    row.change(hello);
    replica.SayHello(hello);
    ASSERT_TRUE(replica.closed.has_value()) << row.message;
    EXPECT_EQ(replica.closed->code(), row.code);
    EXPECT_THAT(std::string(replica.closed->message()), HasSubstr(row.message));
    EXPECT_LT(replica.closed->message().size(), 300u) << "what is long is not told again";
  }
  FakeReplica silent(time, loop, hub, MemberOf(kJob, "r-0"));
  v1::AttachRequest ack;
  ack.mutable_ack();
  silent.Say(ack);
  EXPECT_EQ(silent.closed->code(), absl::StatusCode::kInvalidArgument);
  time.RunDueTasks();
}

TEST_F(HubTest, AServiceHasABoundedNumberOfReplicas) {
  for (int i = 0; i < 128; ++i) Attach(fmt::format("r-{}", i));
  const FakeReplica& beyond = Attach("r-128");
  ASSERT_TRUE(beyond.closed.has_value());
  EXPECT_EQ(beyond.closed->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(beyond.closed->message()), HasSubstr("128 replicas already"));
  EXPECT_FALSE(Attach("r-7").closed.has_value()) << "whoever is known comes back";
  EXPECT_FALSE(Attach("q-0", "a", v1::SERVICE_KIND_QUEUE).closed.has_value()) << "each service has room of its own";
}

TEST_F(HubTest, ReplicasShareSlotsAndEachHearsOnlyItsOwn) {
  FakeReplica& a = Attach("r-0");
  FakeReplica& b = Attach("r-1");
  FakeReplica& q = Attach("q-0", "a", v1::SERVICE_KIND_QUEUE);
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(a.ends + b.ends, static_cast<int>(kSlotCount));
  EXPECT_EQ(q.ends, static_cast<int>(kSlotCount));
  EXPECT_EQ(a.assignment.members_size(), 3);
  for (FakeReplica* replica : {&a, &b, &q}) replica->items.clear();

  hub.cache().Apply(kJobPods, JobPod("j", "p", 11));
  hub.cache().Apply(kQueues, Queue("red", 12));
  hub.cache().Apply(kGroups, PodGroup("g", 13, "red", "j"));
  time.RunDueTasks();
  FakeReplica& owner = a.epochs.contains(kSlot) ? a : b;
  FakeReplica& other = a.epochs.contains(kSlot) ? b : a;
  EXPECT_EQ(owner.TakeText(), "ns/j p@11 |  red@12 | ns/j g@13");
  EXPECT_EQ(other.TakeText(), " red@12");
  EXPECT_EQ(q.TakeText(), " red@12 | red g@13");
}

TEST_F(HubTest, ASecondProcessOfThatNameIsRefusedWhileTheFirstAcknowledges) {
  FakeReplica& a = Begin("one");
  FakeReplica& b = Attach("r-0", "two");
  ASSERT_TRUE(b.closed.has_value());
  EXPECT_EQ(b.closed->code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(a.closed.has_value());

  a.acknowledges = false;
  hub.cache().Apply(kJobPods, JobPod("j", "p", 11));
  time.Advance(absl::Seconds(6));
  FakeReplica& c = Attach("r-0", "three");
  EXPECT_EQ(a.closed->code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(c.closed.has_value());
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(c.epochs[kSlot], 2);
  EXPECT_THAT(c.TakeText(), HasSubstr("ns/j p@11"));
}

TEST_F(HubTest, ANewStreamOfTheSameProcessReplacesTheFirst) {
  FakeReplica& a = Begin();
  FakeReplica& again = Attach("r-0");
  EXPECT_EQ(a.closed->code(), absl::StatusCode::kAborted);
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(again.epochs[kSlot], 1) << "the owner did not change";
  EXPECT_EQ(again.ends, static_cast<int>(kSlotCount));
}

TEST_F(HubTest, ANameIsItsReplicasAlsoWhileItIsAway) {
  FakeReplica& a = Begin("one");
  a.Close(absl::OkStatus());
  time.RunDueTasks();
  const auto thief = [&] {
    replicas.push_back(std::make_unique<FakeReplica>(time, loop, hub, MemberOf(kJob, "r-0", "theirs")));
    v1::Hello hello = replicas.back()->Hello();
    hello.set_name_secret("a secret that was guessed");
    replicas.back()->SayHello(hello);
    return replicas.back()->closed.value_or(absl::OkStatus());
  };
  EXPECT_EQ(thief().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(Attach("r-0", "two").closed.has_value()) << "it has started anew, with the secret on its disk";
  time.Advance(absl::Seconds(1));
  replicas.clear();
  time.Advance(absl::Seconds(6));
  EXPECT_TRUE(thief().ok()) << "nobody has the name any more: the disk may have been lost";
}

TEST_F(HubTest, WhoseCertificateStatesTheNameNeedsNoSecretOfBefore) {
  Attach("r-0", "one").Close(absl::OkStatus());
  time.RunDueTasks();
  FakeReplica again(time, loop, hub, MemberOf(kJob, "r-0", "two"));
  again.is_certified = true;
  v1::Hello hello = again.Hello();
  hello.set_name_secret("its disk was lost: a new secret");
  again.SayHello(hello);
  EXPECT_FALSE(again.closed.has_value());
}

TEST_F(HubTest, AProcessHasATokenThatTheGatewayHasDrawn) {
  FakeReplica& a = Attach("r-0", "one");
  const std::string token = a.token;
  EXPECT_EQ(token.size(), 36u);
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(Attach("r-0", "one").token, token) << "what the process has sent may still arrive";
  EXPECT_NE(Attach("r-1", "one").token, token);
  replicas.clear();
  EXPECT_NE(Attach("r-0", "two").token, token);
}

// Everybody can learn names, incarnations and epochs from GetTopology.
TEST_F(HubTest, WhoKnowsAllOfAReplicaButItsSecretsTakesNothingFromIt) {
  FakeReplica& a = Begin();
  FakeReplica thief(time, loop, hub, MemberOf(kJob, "r-0"));
  v1::Hello hello = thief.Hello();
  hello.set_name_secret("a secret that was guessed");
  thief.SayHello(hello);
  ASSERT_TRUE(thief.closed.has_value());
  EXPECT_EQ(thief.closed->code(), absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(a.closed.has_value());

  v1::WriteRequest write = PatchBy(a);
  v1::GetRequest get;
  *get.mutable_owner() = write.owner();
  *get.mutable_resource() = write.resource();
  get.set_namespace_("ns");
  get.set_name("j");
  for (const std::string& token : std::vector<std::string>{"", "a token that was guessed", Attach("r-1").token}) {
    write.mutable_owner()->set_token(token);
    get.mutable_owner()->set_token(token);
    EXPECT_EQ(Refused(write).status().code(), absl::StatusCode::kUnauthenticated) << token;
    EXPECT_EQ(RefusedGet(get).code(), absl::StatusCode::kUnauthenticated) << token;
  }
  EXPECT_TRUE(kube.writes.empty());
  EXPECT_TRUE(kube.gets.empty());
  EXPECT_THAT(metrics->Text(), HasSubstr(R"(gateway_refusals_total{call="get",reason="token",service="job"} 3)"));
  EXPECT_THAT(metrics->Text(), HasSubstr(R"(gateway_refusals_total{call="write",reason="token",service="job"} 3)"));
  EXPECT_THAT(metrics->Text(), HasSubstr(R"(gateway_refusals_total{call="attach",reason="secret",service="job"} 1)"));
}

TEST_F(HubTest, AReplicaThatIsAttachedReadsAndWritesWhatItsServiceNeedsOfItsSlotsAlone) {
  FakeReplica& a = Begin();
  v1::GetRequest get;
  *get.mutable_owner() = PatchBy(a).owner();
  get.mutable_resource()->set_version("v1");
  get.mutable_resource()->set_plural("secrets");
  get.set_namespace_("kube-system");
  get.set_name("token");
  EXPECT_EQ(RefusedGet(get).code(), absl::StatusCode::kPermissionDenied);
  v1::WriteRequest write = PatchBy(a);
  write.set_name("another");
  EXPECT_EQ(Refused(write).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(kube.writes.empty());
  EXPECT_TRUE(kube.gets.empty());
  EXPECT_THAT(metrics->Text(), HasSubstr(R"(gateway_refusals_total{call="get",reason="object",service="job"} 1)"));

  // A body is checked where it is read.
  hub.Write(PatchBy(a), [](auto) {});
  kube.Answer(absl::PermissionDeniedError("create.body: not of that job"));
  EXPECT_THAT(metrics->Text(), HasSubstr(R"(gateway_refusals_total{call="write",reason="body",service="job"} 1)"));

  // The job's own Secret may be requested, and is answered without its content.
  hub.cache().Apply(kJobs, Job("j", 11));
  get.set_namespace_("ns");
  get.set_name("j-ssh");
  std::optional<v1::GetResponse> got;
  hub.Get(get, [&](auto answer) { got = *answer; });
  ASSERT_EQ(kube.gets.size(), 1u);
  EXPECT_FALSE(kube.gets.front().first.has_owner()) << "the token goes no further";
  v1::GetResponse response;
  response.mutable_object()->mutable_generic()->set_json(R"({"data":{"key":"c2VjcmV0"}})");
  response.mutable_object()->mutable_generic()->mutable_meta()->set_uid("u");
  kube.gets.front().second(response);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->object().generic().meta().uid(), "u");
  EXPECT_EQ(got->object().generic().json(), "");

  v1::AttachRequest interest;
  interest.mutable_interest()->set_watch("secrets");
  interest.mutable_interest()->set_namespace_("ns");
  interest.mutable_interest()->set_name("token");
  a.Say(interest);
  ASSERT_TRUE(a.closed.has_value());
  EXPECT_EQ(a.closed->code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(HubTest, AStaleOwnersWriteIsRefusedNamingBoth) {
  FakeReplica& a = Begin("one");
  const v1::WriteRequest stale = PatchBy(a);
  a.Close(absl::OkStatus());
  time.RunDueTasks();
  FakeReplica& b = Begin("two");
  const auto refused = Refused(stale);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("belongs to 'r-0' (two) in epoch 2, not to 'r-0' (one) in epoch 1"));
  EXPECT_TRUE(kube.writes.empty());
  hub.Write(PatchBy(b), [](auto) {});
  EXPECT_EQ(kube.writes.size(), 1u);
}

TEST_F(HubTest, ASlotOpensForItsNewOwnerOnlyWhenEarlierWritesAreAnswered) {
  FakeReplica& a = Begin("one");
  bool answered = false;
  hub.Write(PatchBy(a), [&](auto) { answered = true; });
  a.Close(absl::OkStatus());
  time.RunDueTasks();
  FakeReplica& b = Begin("two");
  EXPECT_EQ(kube.stale, 1) << "what was not sent is to be dropped";
  EXPECT_EQ(b.ends, static_cast<int>(kSlotCount) - 1);
  EXPECT_FALSE(b.epochs.contains(kSlot));
  const v1::Topology topology = GetTopology();
  ASSERT_EQ(topology.moves_size(), 1);
  EXPECT_EQ(topology.moves(0).stage(), v1::Move::STAGE_DRAINING);
  EXPECT_EQ(topology.moves(0).slots(), 1u);
  EXPECT_EQ(topology.members(0).waiting_slots(), 1u);
  kube.Answer(absl::UnknownError("lost"));
  time.RunDueTasks();
  EXPECT_TRUE(answered);
  EXPECT_EQ(b.epochs[kSlot], 2);
}

TEST_F(HubTest, SlotsWhoseOwnersStreamHasEndedWaitForIt) {
  FakeReplica& a = Begin();
  EXPECT_EQ(GetTopology().moves_size(), 0);
  a.Close(absl::OkStatus());
  time.RunDueTasks();
  const v1::Topology away = GetTopology();
  ASSERT_EQ(away.moves_size(), 1);
  EXPECT_EQ(away.moves(0).stage(), v1::Move::STAGE_WAITING);
  EXPECT_EQ(away.moves(0).to(), "r-0");
  EXPECT_EQ(away.moves(0).slots(), kSlotCount);
  EXPECT_EQ(away.members(0).waiting_slots(), kSlotCount);
  Attach("r-0");
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(GetTopology().moves_size(), 0);
  EXPECT_THAT(metrics->Text(), HasSubstr("basalt_gateway_slots_moved_total 1024\n")) << "they have not moved again";
}

// A replica without a store imports no records and keeps none.
TEST_F(HubTest, UnavailableRecordsAreNotGrantedFromThereAgain) {
  FakeReplica& a = Begin();
  v1::AttachRequest leave;
  leave.mutable_leave();
  FakeReplica& b = Connect("r-1");
  v1::Hello hello = b.Hello();
  hello.set_keeps_records(false);
  b.SayHello(hello);
  a.Say(leave);
  v1::AttachRequest released;
  released.mutable_released()->set_epoch(1000);
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) released.mutable_released()->add_slots(slot);
  a.Say(released);
  time.Advance(absl::Seconds(1));
  ASSERT_FALSE(b.grants.empty());
  const std::vector<v1::SlotGrant> grants = std::exchange(b.grants, {});
  ASSERT_EQ(grants.size(), kSlotCount);
  for (const v1::SlotGrant& grant : grants) {
    v1::AttachRequest taken;
    taken.mutable_records_imported()->set_epoch(grant.epoch());
    taken.mutable_records_imported()->add_slots(grant.slot());
    taken.mutable_records_imported()->add_unavailable(grant.slot());
    b.Say(taken);
  }
  time.Advance(absl::Seconds(1));
  EXPECT_TRUE(b.grants.empty());
  EXPECT_EQ(b.ends, static_cast<int>(kSlotCount));
}

// The replica stores the records that it decides by before it writes: those are the newest, acknowledged or not.
TEST_F(HubTest, WhoHasWrittenHasRecordsOfTheSlot) {
  FakeReplica& a = Connect("r-0", "one");
  a.acknowledges = false;
  a.SayHello();
  time.Advance(absl::Seconds(1));
  hub.Write(PatchBy(a), [](auto) {});
  kube.Answer(v1::WriteResponse());
  a.Close(absl::OkStatus());
  time.RunDueTasks();
  FakeReplica& b = Attach("r-0", "two");  // The process starts on an empty disk.
  time.Advance(absl::Seconds(1));
  EXPECT_TRUE(b.epochs.contains(kSlot));
  EXPECT_THAT(metrics->Text(), HasSubstr("basalt_gateway_slots_without_records_total 1\n"));
}

// The server deletes by name, and nobody knows how far it has come.
TEST_F(HubTest, ADeletionByLabelsWithoutAnAnswerHoldsItsSlotUntilTheServerMustHaveGivenUp) {
  hub.cache().Apply(kJobs, Job("j", 11));
  for (const auto code : {absl::StatusCode::kUnknown, absl::StatusCode::kDeadlineExceeded}) {
    FakeReplica& a = Attach("r-0", "one");
    time.Advance(absl::Seconds(1));
    v1::WriteRequest request = PatchBy(a);
    request.clear_name();
    request.mutable_resource()->set_group("");
    request.mutable_resource()->set_plural("pods");
    request.mutable_resource()->set_version("v1");
    request.mutable_delete_collection()->set_label_selector("volcano.sh/job-name=j,basalt.dev/job-uid=uid-j");
    request.set_timeout_ms(8000);
    bool answered = false;
    hub.Write(std::move(request), [&](auto) { answered = true; });
    a.Close(absl::OkStatus());
    time.Advance(absl::Seconds(2));
    FakeReplica& b = Attach("r-0", "two");
    kube.Answer(absl::Status(code, "lost"));
    time.Advance(absl::Seconds(6));
    EXPECT_TRUE(answered);
    EXPECT_EQ(b.ends, static_cast<int>(kSlotCount) - 1);
    EXPECT_FALSE(b.epochs.contains(kSlot));
    time.Advance(absl::Seconds(2));
    EXPECT_TRUE(b.epochs.contains(kSlot));
    b.Close(absl::OkStatus());
    time.RunDueTasks();
  }
}

TEST_F(HubTest, TheAnswerOfAWriteIsMergedLikeAWatchEvent) {
  FakeReplica& a = Attach("r-0");
  FakeReplica& q = Attach("q-0", "a", v1::SERVICE_KIND_QUEUE);
  time.Advance(absl::Seconds(1));
  a.items.clear();
  q.items.clear();
  hub.Write(PatchBy(a), [](auto) {});
  v1::WriteResponse response;
  *response.mutable_object() = PodGroup("g", 15, "red", "j");
  kube.Answer(response);
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "ns/j g@15");
  EXPECT_EQ(q.TakeText(), "red g@15");
  hub.cache().Apply(kGroups, PodGroup("g", 15, "red", "j"));
  time.RunDueTasks();
  EXPECT_EQ(a.TakeText(), "");
}

TEST_F(HubTest, AConflictNamesTheUidThatTheCacheKnows) {
  FakeReplica& a = Begin();
  hub.cache().Apply(kJobs, Job("j", 12, "known"));
  std::string uid;
  hub.Write(PatchBy(a), [&](auto answer) { uid = answer->error().existing_uid(); });
  v1::WriteResponse response;
  response.mutable_error()->set_code(409);
  response.mutable_error()->set_reason("AlreadyExists");
  kube.Answer(response);
  EXPECT_EQ(uid, "known");
  EXPECT_THAT(metrics->Text(),
              HasSubstr("basalt_gateway_writes_total{code=\"409\",resource=\"jobs\",verb=\"patch\"} 1"));
}

TEST_F(HubTest, ADeletionThatLeftNothingBehindIsNoRefusal) {
  FakeReplica& a = Begin();
  std::optional<v1::WriteResponse> got;
  hub.Write(PatchBy(a), [&](auto answer) { got = *answer; });
  v1::WriteResponse response;
  response.set_gone(true);
  kube.Answer(response);
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->gone());
  EXPECT_FALSE(got->has_error());
}

TEST_F(HubTest, TheSlotsOfALostReplicaMoveAfterTheGraceWithItsTombstones) {
  FakeReplica& a = Attach("r-0");
  FakeReplica& b = Attach("r-1");
  time.Advance(absl::Seconds(1));
  hub.cache().Apply(kJobPods, JobPod("j", "p", 11));
  time.RunDueTasks();
  FakeReplica& owner = a.epochs.contains(kSlot) ? a : b;
  FakeReplica& heir = a.epochs.contains(kSlot) ? b : a;
  owner.Close(absl::OkStatus());
  time.RunDueTasks();
  hub.cache().Remove(kJobPods, JobPod("j", "p", 12));
  time.Advance(absl::Seconds(4));
  EXPECT_FALSE(heir.epochs.contains(kSlot));
  heir.items.clear();
  time.Advance(absl::Seconds(2));
  EXPECT_EQ(heir.epochs[kSlot], 2);
  EXPECT_THAT(heir.TakeText(), HasSubstr("deleted ns/j p@12"));
  EXPECT_EQ(heir.assignment.members_size(), 1);
  const v1::Topology topology = GetTopology();
  ASSERT_EQ(topology.members_size(), 1);
  EXPECT_EQ(topology.members(0).slots(), kSlotCount);
  EXPECT_TRUE(topology.members(0).attached());
}

// A store whose answers the test gives.
class ScriptedStore final : public AssignmentStore {
 public:
  explicit ScriptedStore(Loop&) {}
  void Load(std::function<void(absl::StatusOr<std::optional<storage::v1::AssignmentRecord>>)>) override {}
  void Save(storage::v1::AssignmentRecord record, std::function<void(absl::Status)> done) override {
    saved.push_back(std::move(record));
    answer = std::move(done);
  }
  std::vector<storage::v1::AssignmentRecord> saved;
  std::function<void(absl::Status)> answer;
};

// No watch shows a Secret.
TEST_F(HubTest, AnObjectThatTheCacheDoesNotKnowIsReadAndComparedBeforeItIsWritten) {
  FakeReplica& replica = Begin();
  hub.cache().Apply(kJobs, Job("j", 11));
  const auto patch = [&](const std::string& uid) {
    v1::WriteRequest request = PatchBy(replica);
    request.mutable_resource()->clear_group();
    request.mutable_resource()->set_plural("secrets");
    request.mutable_resource()->set_version("v1");
    request.set_name("j-ssh");
    request.set_timeout_ms(5'000);
    request.mutable_patch()->set_uid(uid);
    return request;
  };
  const auto found = [](const std::string& uid, const std::string& job_uid) {
    v1::GetResponse response;
    FillMeta(*response.mutable_object()->mutable_generic()->mutable_meta(), "j-ssh", 30, uid);
    kube::v1::OwnerReference& owner =
        *response.mutable_object()->mutable_generic()->mutable_meta()->add_owner_references();
    owner.set_api_version("batch.volcano.sh/v1alpha1");
    owner.set_kind("Job");
    owner.set_name("j");
    owner.set_uid(job_uid);
    return response;
  };
  v1::GetResponse missing;
  missing.mutable_error()->set_code(404);
  const struct {
    std::string asked;
    absl::StatusOr<v1::GetResponse> found;
    absl::StatusCode code;
    int error;  // The code of Kubernetes; -1 if the object is written.
  } rows[] = {
      {"s", missing, absl::StatusCode::kOk, 404},
      {"s", absl::UnavailableError("no connection"), absl::StatusCode::kUnavailable, 0},
      {"s", found("another", "uid-j"), absl::StatusCode::kOk, 409},
      {"", found("s", "uid-of-another-job"), absl::StatusCode::kPermissionDenied, 0},
      {"s", found("s", "uid-of-another-job"), absl::StatusCode::kPermissionDenied, 0},
      {"", found("s", "uid-j"), absl::StatusCode::kOk, -1},
  };
  for (const auto& row : rows) {
    std::optional<absl::StatusOr<v1::WriteResponse>> answer;
    hub.Write(patch(row.asked), [&](auto got) { answer = std::move(got); });
    ASSERT_EQ(kube.gets.size(), 1u);
    EXPECT_EQ(kube.gets.front().first.name(), "j-ssh");
    EXPECT_TRUE(kube.writes.empty());
    time.Advance(absl::Seconds(2));
    auto answered = std::move(kube.gets.front().second);
    kube.gets.pop_front();
    answered(row.found);
    ASSERT_EQ(kube.writes.size(), row.error == -1 ? 1u : 0u);
    if (row.error == -1) {
      const v1::WriteRequest& sent = kube.writes.front().first;
      EXPECT_EQ(sent.patch().uid(), "s");
      EXPECT_EQ(sent.patch().resource_version(), 30);
      EXPECT_EQ(sent.timeout_ms(), 3'000) << "what the read has left";
      kube.Answer(v1::WriteResponse());
    }
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status().code(), row.code) << answer->status();
    if (answer->ok() && row.error > 0) {
      EXPECT_EQ((*answer)->error().code(), row.error);
    }
  }
  // The object is known by now.
  hub.Write(patch("s"), [](auto) {});
  EXPECT_TRUE(kube.gets.empty());
  ASSERT_EQ(kube.writes.size(), 1u);
  kube.Answer(v1::WriteResponse());
}

TEST_F(HubTest, AWriteWhoseSlotMovesWhileItsObjectIsReadIsNotSent) {
  FakeReplica& replica = Begin();
  hub.cache().Apply(kJobs, Job("j", 11));
  v1::WriteRequest request = PatchBy(replica);
  request.mutable_resource()->clear_group();
  request.mutable_resource()->set_plural("configmaps");
  request.mutable_resource()->set_version("v1");
  request.set_name("j-svc");
  std::optional<absl::Status> answer;
  hub.Write(request, [&](auto got) { answer = got.status(); });
  ASSERT_EQ(kube.gets.size(), 1u);
  hub.Follow("gateway-1", "10.0.0.1:7700");
  kube.gets.front().second(v1::GetResponse());
  EXPECT_TRUE(kube.writes.empty());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code(), absl::StatusCode::kUnavailable) << *answer;
}

class HubLeadingTest : public HubBench<ScriptedStore> {
 protected:
  HubLeadingTest() : HubBench(kWatches, {.cluster = "c", .replica = "gateway-1", .version = "1"}) {}
};

TEST_F(HubLeadingTest, WhoDoesNotLeadRefusesAndNamesTheLeader) {
  hub.Follow("gateway-0", "10.0.0.1:7700");
  const absl::Status refused = *Attach("r-0").closed;
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "gateway 'gateway-1' does not lead, 'gateway-0' at 10.0.0.1:7700 does");
  EXPECT_EQ(rpc::LeaderOf(refused), "10.0.0.1:7700");
  std::optional<absl::Status> written;
  hub.Write({}, [&](auto answer) { written = answer.status(); });
  time.RunDueTasks();
  EXPECT_EQ(written->code(), absl::StatusCode::kUnavailable);
  std::optional<v1::Topology> topology;
  hub.GetTopology({}, [&](auto answer) { topology = *answer; });
  time.RunDueTasks();
  EXPECT_FALSE(topology->leads());
  EXPECT_EQ(topology->leader(), "gateway-0");
  EXPECT_EQ(topology->leader_address(), "10.0.0.1:7700");
}

TEST_F(HubLeadingTest, AnAssignmentIsToldWhenItIsSavedAndNotBefore) {
  hub.Lead({});
  FakeReplica& a = Attach("r-0");
  time.Advance(absl::Seconds(2));
  ASSERT_EQ(store.saved.size(), 1u);
  EXPECT_EQ(a.assignment.epoch(), 0);
  EXPECT_EQ(a.ends, 0);
  store.answer(absl::UnavailableError("the API server is away"));
  time.Advance(absl::Seconds(1));
  ASSERT_EQ(store.saved.size(), 2u) << "again";
  EXPECT_EQ(a.assignment.epoch(), 0);
  store.answer(absl::OkStatus());
  time.RunDueTasks();
  EXPECT_EQ(a.assignment.epoch(), 1);
  EXPECT_EQ(a.ends, static_cast<int>(kSlotCount));
}

TEST_F(HubLeadingTest, WhoIsMissingOfThoseExpectedIsSaidOnceForEachChange) {
  std::vector<std::string> reported;
  HubOptions options{.cluster = "c", .version = "1"};
  options.ownership.expected = {{v1::SERVICE_KIND_JOB, 2}, {v1::SERVICE_KIND_POD_GROUP, 1}};
  options.on_members = [&](const std::string& differs) { reported.push_back(differs); };
  MemoryAssignmentStore memory(loop);
  Hub counted(loop, random, kube, memory, *metrics, {"jobs.batch.volcano.sh"}, options);
  counted.cache().Replace(0, {}, 10);
  counted.Lead({});
  std::vector<std::unique_ptr<FakeReplica>> attached;
  for (const auto& [service, name] :
       {std::pair(kJob, "jobsvc-0"), std::pair(kJob, "jobsvc-1"), std::pair(v1::SERVICE_KIND_POD_GROUP, "pgsvc-0")}) {
    attached.push_back(std::make_unique<FakeReplica>(time, loop, counted, MemberOf(service, name)));
    attached.back()->SayHello();
    time.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(reported,
              ::testing::ElementsAre("jobsvc: 0 of 2 attached, pgsvc: 0 of 1 attached",
                                     "jobsvc: 1 of 2 attached, pgsvc: 0 of 1 attached", "pgsvc: 0 of 1 attached", ""));
  reported.clear();
  attached.pop_back();
  time.RunDueTasks();
  counted.Follow("gateway-1", "10.0.0.1:7700");
  EXPECT_THAT(reported, ::testing::ElementsAre("pgsvc: 0 of 1 attached", "")) << "it is for the next leader to say";
  attached.clear();
  time.RunDueTasks();
}

TEST_F(HubLeadingTest, WhoFindsThatAnotherHasSavedLeadsNoMore) {
  hub.Lead({});
  FakeReplica& a = Attach("r-0");
  time.Advance(absl::Seconds(2));
  store.answer(absl::AbortedError("epoch 7 is there"));
  time.RunDueTasks();
  EXPECT_FALSE(hub.leads());
  ASSERT_TRUE(a.closed.has_value());
  EXPECT_EQ(a.closed->code(), absl::StatusCode::kUnavailable);
}

TEST_F(HubLeadingTest, AnAnswerOfAnEarlierTermIsForgotten) {
  hub.Lead({});
  Attach("r-0");
  time.Advance(absl::Seconds(2));
  const auto late = std::move(store.answer);
  hub.Follow("", "");
  hub.Lead({});
  late(absl::OkStatus());
  time.RunDueTasks();
  EXPECT_TRUE(hub.leads());
  EXPECT_EQ(Attach("r-0", "b").assignment.epoch(), 0);
}

TEST_F(HubLeadingTest, ANewLeaderGoesOnWithTheSavedSlotsAndTheirEpochs) {
  hub.Lead({});
  Attach("r-0");
  time.Advance(absl::Seconds(2));
  store.answer(absl::OkStatus());
  time.RunDueTasks();
  hub.Follow("", "");
  replicas.clear();
  time.RunDueTasks();
  const storage::v1::AssignmentRecord saved = store.saved.back();
  store.saved.clear();
  hub.Lead(saved);
  replicas.push_back(std::make_unique<FakeReplica>(time, loop, hub, MemberOf(kJob, "r-0", "a")));
  v1::Hello hello = replicas.back()->Hello();
  hello.set_last_epoch(1);
  v1::RecordInventory& held = *hello.add_record_inventory();
  held.set_epoch(1);
  for (uint32_t i = 0; i < kSlotCount; ++i) held.add_slots(i);
  replicas.back()->SayHello(hello);
  time.Advance(absl::Seconds(1));
  EXPECT_TRUE(store.saved.empty()) << "nothing has changed";
  EXPECT_EQ(replicas.back()->ends, static_cast<int>(kSlotCount));
  EXPECT_EQ(replicas.back()->epochs[kSlot], 1);
  EXPECT_EQ(replicas.back()->assignment.epoch(), 1);
}

}  // namespace
}  // namespace basalt::gateway
