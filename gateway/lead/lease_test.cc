#include "gateway/lead/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/status_matchers.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

constexpr char kLease[] =
    R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"namespace":"n","name":"l","uid":"u",)"
    R"("resourceVersion":"7","labels":{"a":"b"},"annotations":{"x":"y","basalt.io/address":"h:1"}},)"
    R"("spec":{"holderIdentity":"basalt-gateway/gateway-0/one","leaseDurationSeconds":15,"leaseTransitions":3,)"
    R"("acquireTime":"2026-01-02T03:04:05.000000Z","renewTime":"2026-01-02T03:04:06.000000Z","newer":"kept"}})";

const absl::Time kNow = absl::FromUnixMicros(1'767'323'045'678'901);

LeaseClaim Claim() {
  return {.identity = "basalt-gateway/gateway-1/two", .address = "h:2", .duration = absl::Seconds(15), .now = kNow};
}

json::value Parsed(const std::string& text) { return *ParseJson(text); }

TEST(IdentityTest, NamesAPlaceAndTheProcessInIt) {
  const Holder holder{"gateway-0", "one"};
  EXPECT_EQ(IdentityOf(holder), "basalt-gateway/gateway-0/one");
  EXPECT_EQ(ParseIdentity("basalt-gateway/gateway-0/one"), holder);
  EXPECT_EQ(ParseIdentity("basalt-gateway/a/b/one"), (Holder{"a/b", "one"}));
  for (const char* foreign : {"", "vc-controller-manager-7d4_0f3", "basalt-gateway", "basalt-gateway/",
                              "basalt-gateway/a", "basalt-gateway//one", "basalt-gateway/a/", "Basalt-gateway/a/b"}) {
    EXPECT_EQ(ParseIdentity(foreign), std::nullopt) << foreign;
  }
}

TEST(LeaseTest, IsReadAsItStandsThere) {
  const absl::StatusOr<Lease> lease = ParseLease(kLease);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->holder(), (Holder{"gateway-0", "one"}));
  EXPECT_EQ(lease->address, "h:1");
  EXPECT_EQ(lease->duration, absl::Seconds(15));
  EXPECT_EQ(lease->renewed, "2026-01-02T03:04:06.000000Z");
  EXPECT_EQ(lease->transitions, 3);
  EXPECT_FALSE(lease->free());
}

TEST(LeaseTest, MissingFieldsAreNoMistake) {
  for (const char* text :
       {R"({"kind":"Lease","metadata":{"resourceVersion":"1"}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":null})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":null,"renewTime":null}})"}) {
    const absl::StatusOr<Lease> lease = ParseLease(text);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(lease->free());
    EXPECT_EQ(lease->duration, absl::ZeroDuration());
  }
}

TEST(LeaseTest, AnUnreadableLeaseIsNamed) {
  const struct {
    const char *text, *why;
  } rows[] = {
      {"", "understood"},
      {"<html>", "understood"},
      {"[]", "kind"},
      {R"({"kind":"Status"})", "kind"},
      {R"({"kind":"Lease"})", "resourceVersion"},
      {R"({"kind":"Lease","metadata":{}})", "resourceVersion"},
      {R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":[]})", "spec"},
      {R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":5}})", "holderIdentity"},
      {R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"leaseDurationSeconds":"x"}})",
       "leaseDurationSeconds"},
      {R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"renewTime":{}}})", "renewTime"},
  };
  for (const auto& row : rows) {
    const absl::StatusOr<Lease> lease = ParseLease(row.text);
    EXPECT_EQ(lease.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(lease.status().message()), HasSubstr(row.why));
  }
}

TEST(LeaseTest, OnlyARenewalOrAnotherHolderChangesItsMark) {
  const Lease lease = *ParseLease(kLease);
  const auto mark_with = [](std::string_view from, std::string_view to) {
    std::string text = kLease;
    text.replace(text.find(from), from.size(), to);
    return ParseLease(text)->mark;
  };
  EXPECT_EQ(mark_with(R"("7")", R"("8")"), lease.mark) << "somebody has set a label";
  EXPECT_NE(mark_with("04:06", "04:07"), lease.mark);
  EXPECT_NE(mark_with("/one", "/two"), lease.mark);
  EXPECT_NE(mark_with(R"("u")", R"("v")"), lease.mark) << "another object under the same name";
}

TEST(LeaseTest, TakingCountsATransitionAndKeepsWhatItDoesNotKnow) {
  const json::value taken = Parsed(TakenLease(*ParseLease(kLease), Claim()));
  EXPECT_EQ(ToText(*Find(taken, "spec")),
            R"({"holderIdentity":"basalt-gateway/gateway-1/two","leaseDurationSeconds":15,"leaseTransitions":4,)"
            R"("acquireTime":"2026-01-02T03:04:05.678901Z","renewTime":"2026-01-02T03:04:05.678901Z","newer":"kept"})");
  EXPECT_EQ(ToText(*Find(taken, "metadata")),
            R"({"namespace":"n","name":"l","uid":"u","resourceVersion":"7","labels":{"a":"b"},)"
            R"("annotations":{"x":"y","basalt.io/address":"h:2"}})");
}

TEST(LeaseTest, TransitionsFitTheServersField) {
  Lease lease = *ParseLease(kLease);
  for (const int64_t before : {int64_t{INT32_MAX}, int64_t{-1}}) {
    lease.transitions = before;
    EXPECT_EQ(FindInt(*Find(Parsed(TakenLease(lease, Claim())), "spec"), "leaseTransitions", -1), 0);
  }
}

TEST(LeaseTest, ARenewalChangesItsTimeAndNoMore) {
  LeaseClaim claim = Claim();
  claim.identity = "basalt-gateway/gateway-0/one";
  claim.address = "h:1";
  json::value expected = Parsed(kLease);
  expected.as_object()["spec"].as_object()["renewTime"] = "2026-01-02T03:04:05.678901Z";
  EXPECT_EQ(Parsed(RenewedLease(*ParseLease(kLease), claim)), expected);
}

TEST(LeaseTest, AReleasedLeaseIsFree) {
  const absl::StatusOr<Lease> released = ParseLease(ReleasedLease(*ParseLease(kLease), kNow, absl::ZeroDuration()));
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_TRUE(released->free());
  EXPECT_EQ(FindString(*FindPath(released->object, {"metadata", "annotations"}), "x"), "y");
}

TEST(LeaseTest, OwedTimeGoesWithTheLease) {
  LeaseClaim claim = Claim();
  claim.wait = absl::Seconds(3.75);
  const Lease taken = *ParseLease(TakenLease(*ParseLease(kLease), claim));
  EXPECT_EQ(taken.wait, absl::Seconds(3.75));
  EXPECT_EQ(ParseLease(ReleasedLease(taken, kNow, claim.wait))->wait, absl::Seconds(3.75));
  EXPECT_EQ(ParseLease(ReleasedLease(taken, kNow, absl::ZeroDuration()))->wait, absl::ZeroDuration());
  claim.wait = absl::ZeroDuration();
  EXPECT_EQ(ParseLease(RenewedLease(taken, claim))->wait, absl::ZeroDuration());
}

TEST(LeaseTest, AWaitThatAPersonWroteIsBounded) {
  const struct {
    const char* text;
    absl::Duration wait;
  } rows[] = {{"1s", absl::Seconds(1)}, {"soon", absl::Seconds(15)}, {"99h", absl::Seconds(15)}, {"-1s", {}}, {"", {}}};
  for (const auto& row : rows) {
    json::value lease = Parsed(kLease);
    lease.as_object()["metadata"].as_object()["annotations"].as_object()[kWaitAnnotation] = row.text;
    EXPECT_EQ(ParseLease(ToText(lease))->wait, row.wait) << row.text;
  }
}

TEST(LeaseTest, EmptiedByHandIsNotFree) {
  std::string text = kLease;
  const std::string_view holder = "basalt-gateway/gateway-0/one";
  text.replace(text.find(holder), holder.size(), "");
  EXPECT_FALSE(ParseLease(text)->free()) << "who held it may still write";
}

TEST(LeaseTest, ANewOneHasWhatTheServerDemands) {
  LeaseClaim claim = Claim();
  claim.duration = absl::Milliseconds(1500);
  EXPECT_EQ(NewLease("n", "l", claim),
            R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"namespace":"n","name":"l",)"
            R"("annotations":{"basalt.io/address":"h:2"}},"spec":{"holderIdentity":"basalt-gateway/gateway-1/two",)"
            R"("leaseDurationSeconds":2,"renewTime":"2026-01-02T03:04:05.678901Z",)"
            R"("acquireTime":"2026-01-02T03:04:05.678901Z","leaseTransitions":0}})");
}

}  // namespace
}  // namespace basalt::gateway
