// Leases, by which processes elect a leader, and bytes in ConfigMaps. create_test and update_test have the rules that
// hold for objects of every kind.
#include <fmt/ranges.h>

#include "absl/strings/match.h"
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

constexpr char kLeases[] = "coordination.k8s.io/v1";

class LeaseConformance : public WriteConformance {
 protected:
  std::string Leases(std::string_view name = "") const { return Group(kLeases, "leases", name); }
  static std::string LeaseBody(std::string_view spec, std::string_view more_meta = "") {
    return J(
        fmt::format("{{apiVersion: {}, kind: Lease, metadata: {{name: a{}}}, spec: {}}}", kLeases, more_meta, spec));
  }
  Answer Make(std::string_view spec) { return Post(Leases(), LeaseBody(spec)); }
};

TEST_F(LeaseConformance, KeepsWhoHoldsItAndSinceWhen) {
  const Answer made = Make(
      "{holderIdentity: me, leaseDurationSeconds: 15, leaseTransitions: 0, acquireTime: '2026-01-02T03:04:05.678901Z', "
      "renewTime: '2026-01-02T03:04:06.000000Z'}");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(Get(Leases("a")).json, R"(
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: a, generation: null, uid: "*", resourceVersion: "*"}
spec: {holderIdentity: me, leaseDurationSeconds: 15, leaseTransitions: 0, acquireTime: '2026-01-02T03:04:05.678901Z', renewTime: '2026-01-02T03:04:06.000000Z'}
)"));
}

TEST_F(LeaseConformance, AnUpdateMakesOneThatIsNotThere) {
  const Answer put = Put(Leases("a"), LeaseBody("{holderIdentity: me}"));
  EXPECT_EQ(put.status, 201) << put;
  EXPECT_EQ(Get(Leases("a")).At({"spec", "holderIdentity"}), "me");
}

TEST_F(LeaseConformance, AVersionOfOneThatIsGoneMakesNothing) {
  const Answer made = Make("{holderIdentity: me}");
  EXPECT_EQ(Delete(Leases("a")).status, 200);
  const Answer put = Put(Leases("a"), ToText(made.json));
  EXPECT_EQ(
      StatusText(put),
      fmt::format("409 Conflict: Operation cannot be fulfilled on leases.coordination.k8s.io \"a\": StorageError: "
                  "invalid object, Code: 4, Key: /registry/leases/{}/a, ResourceVersion: 0, AdditionalErrorMsg: "
                  "Precondition failed: UID in precondition: {}, UID in object meta: ",
                  ns(), made.uid()));
  EXPECT_EQ(Get(Leases("a")).status, 404);
}

// Therefore the version alone does not keep a client from recreating a deleted object.
TEST_F(LeaseConformance, AVersionWithoutIdentityOfOneThatIsGoneMakesOne) {
  const Answer put = Put(Leases("a"), LeaseBody("{holderIdentity: me}", ", resourceVersion: '7'"));
  EXPECT_EQ(put.status, 201) << put;
}

TEST_F(LeaseConformance, APatchIsReadAsAWholeIsRead) {
  Make("{holderIdentity: me, leaseDurationSeconds: 15}");
  const Answer refused = Patch(Leases("a"), kMerge, J("spec: {renewTime: soon}"));
  EXPECT_TRUE(absl::StartsWith(StatusText(refused), "422 Invalid:  \"\" is invalid: patch: Invalid value: \"{"))
      << refused;
  EXPECT_TRUE(absl::EndsWith(StatusText(refused),
                             "}\": parsing time \"soon\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse "
                             "\"soon\" as \"2006\""))
      << refused;
  EXPECT_EQ(
      StatusText(Patch(Leases("a"), kMerge, J("spec: {leaseDurationSeconds: 0}"))),
      "422 Invalid: Lease.coordination.k8s.io \"a\" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must "
      "be greater than 0");
}

TEST_F(LeaseConformance, AnEmptyHolderIsNoMistake) {
  const Answer made = Make("{holderIdentity: '', leaseDurationSeconds: 1}");
  EXPECT_EQ(made.status, 201) << made;
}

TEST_F(LeaseConformance, NothingNeedsToBeInIt) {
  const Answer made = Post(Leases(), J("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}}"));
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, "spec: {}")) << made;
}

TEST_F(LeaseConformance, TimesAreWrittenInUtc) {
  const Answer made = Make("{renewTime: '2026-01-02T03:04:05.678901+01:00'}");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_EQ(made.At({"spec", "renewTime"}), "2026-01-02T02:04:05.678901Z");
}

// The server cannot read the object, or refuses it for each of the causes.
struct Refusal {
  const char* title;
  const char* spec;
  std::string unreadable;
  std::vector<std::string> causes = {};
};

void ExpectRefused(const Answer& refused, std::string_view kind, std::string_view group, const Refusal& row) {
  if (!row.unreadable.empty()) {
    EXPECT_EQ(StatusText(refused), fmt::format("400 BadRequest: {0} in version \"v1\" cannot be handled as a {0}: {1}",
                                               kind, row.unreadable));
    EXPECT_EQ(Why(refused), "");
    return;
  }
  const std::string causes = fmt::format("{}", fmt::join(row.causes, ", "));
  EXPECT_EQ(StatusText(refused), fmt::format("422 Invalid: {}{} \"a\" is invalid: {}", kind, group,
                                             row.causes.size() == 1 ? causes : fmt::format("[{}]", causes)));
  EXPECT_EQ(Why(refused), fmt::format("FieldValueInvalid {}", fmt::join(row.causes, "\nFieldValueInvalid ")));
}

// Returns the words for a value of another type than the field has.
std::string NotOf(std::string_view value, std::string_view field, std::string_view type) {
  return fmt::format("json: cannot unmarshal {} into Go struct field {} of type {}", value, field, type);
}

std::string NoTime(std::string_view text, std::string_view rest, std::string_view wanted) {
  return fmt::format(R"(parsing time "{}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{}" as "{}")", text,
                     rest, wanted);
}

std::string NotAboveZero(int value) {
  return fmt::format("spec.leaseDurationSeconds: Invalid value: {}: must be greater than 0", value);
}

constexpr char kFewerThanNone[] = "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0";
constexpr char kDurationField[] = "LeaseSpec.spec.leaseDurationSeconds";

class LeaseRefusals : public LeaseConformance, public ::testing::WithParamInterface<Refusal> {};

TEST_P(LeaseRefusals, SaysWhy) {
  ExpectRefused(Make(GetParam().spec), "Lease", ".coordination.k8s.io", GetParam());
  EXPECT_EQ(Get(Leases("a")).status, 404);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LeaseRefusals,
    ::testing::Values(
        Refusal{"NoTime", "{leaseDurationSeconds: 0}", "", {NotAboveZero(0)}},
        Refusal{"LessThanNoTime", "{leaseDurationSeconds: -5}", "", {NotAboveZero(-5)}},
        Refusal{"FewerThanNone", "{leaseTransitions: -1}", "", {kFewerThanNone}},
        Refusal{"Both", "{leaseDurationSeconds: 0, leaseTransitions: -1}", "", {NotAboveZero(0), kFewerThanNone}},
        Refusal{"WholeSeconds", "{renewTime: '2026-01-02T03:04:05Z'}", NoTime("2026-01-02T03:04:05Z", "Z", ".000000")},
        Refusal{"Milliseconds", "{acquireTime: '2026-01-02T03:04:05.123Z'}",
                NoTime("2026-01-02T03:04:05.123Z", ".123Z", ".000000")},
        Refusal{"NoTimeAtAll", "{acquireTime: soon}", NoTime("soon", "soon", "2006")},
        Refusal{"NumberAsTime", "{acquireTime: 5}", NotOf("number", "LeaseSpec.spec.acquireTime", "string")},
        Refusal{"TextAsDuration", "{leaseDurationSeconds: '15'}", NotOf("string", kDurationField, "int32")},
        Refusal{"BrokenDuration", "{leaseDurationSeconds: 1.5}", NotOf("number 1.5E0", kDurationField, "int32")},
        Refusal{"TooLong", "{leaseDurationSeconds: 2147483648}", NotOf("number 2147483648", kDurationField, "int32")},
        Refusal{"NumberAsHolder", "{holderIdentity: 5}", NotOf("number", "LeaseSpec.spec.holderIdentity", "string")},
        Refusal{"ListAsSpec", "[]", NotOf("array", "Lease.spec", "v1.LeaseSpec")}),
    kTitle);

class BytesConformance : public WriteConformance {
 protected:
  Answer Make(std::string_view rest) {
    return Post(Configs(), J(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, {}}}", rest)));
  }
};

TEST_F(BytesConformance, AreKeptAsTheyAre) {
  const Answer made = Make("binaryData: {b: AP+AcGI=, none: ''}, data: {t: text}");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(Get(Configs("a")).json, "{binaryData: {b: AP+AcGI=, none: ''}, data: {t: text}}"));
}

class BytesRefusals : public BytesConformance, public ::testing::WithParamInterface<Refusal> {};

std::string IllegalAt(int byte) { return fmt::format("illegal base64 data at input byte {}", byte); }

std::string NoKey(std::string_view field, std::string_view key) {
  return fmt::format(
      "{0}[{1}]: Invalid value: \"{1}\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
      "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      field, key);
}

TEST_P(BytesRefusals, SaysWhy) {
  ExpectRefused(Make(GetParam().spec), "ConfigMap", "", GetParam());
  EXPECT_EQ(Get(Configs("a")).status, 404);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BytesRefusals,
    ::testing::Values(Refusal{"OtherAlphabet", "binaryData: {b: 'not base64!'}", IllegalAt(3)},
                      Refusal{"NoPadding", "binaryData: {b: AAA}", IllegalAt(0)},
                      Refusal{"HalfAPadding", "binaryData: {b: AAAAAA=}", IllegalAt(7)},
                      Refusal{"MoreAfterPadding", "binaryData: {b: AAA=AAAA}", IllegalAt(4)},
                      Refusal{"OnlyPadding", "binaryData: {b: '===='}", IllegalAt(0)},
                      Refusal{"UrlAlphabet", "binaryData: {b: 'AP-_'}", IllegalAt(2)},
                      Refusal{"Number", "binaryData: {b: 5}", NotOf("number", "ConfigMap.binaryData", "[]uint8")},
                      Refusal{"List", "binaryData: [AAAA]",
                              NotOf("array", "ConfigMap.binaryData", "map[string][]uint8")},
                      Refusal{"Twice",
                              "binaryData: {b: AAAA}, data: {b: x}",
                              "",
                              {"data[b]: Invalid value: \"b\": duplicate of key present in binaryData"}},
                      Refusal{"NoKey", "binaryData: {'a b': AAAA}", "", {NoKey("binaryData", "a b")}},
                      Refusal{"NoKeyOfText", "data: {'a/b': x}", "", {NoKey("data", "a/b")}},
                      Refusal{"NumberAsText", "data: {b: 5}", NotOf("number", "ConfigMap.data", "string")}),
    kTitle);

}  // namespace
}  // namespace basalt::conformance
