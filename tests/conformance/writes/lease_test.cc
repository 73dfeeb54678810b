// Leases, by which processes elect a leader, and bytes in ConfigMaps: refusals, and that no client overwrites a later
// write of another client.
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
  static std::string Changed(const Answer& made, std::string_view pointer, json::value value) {
    json::value next = made.json;
    SetAt(next, pointer, std::move(value));
    return ToText(next);
  }
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

TEST_F(LeaseConformance, IsReplacedByWhoKnowsItsVersion) {
  const Answer made = Make("{holderIdentity: me, leaseDurationSeconds: 15}");
  const Answer put = Put(Leases("a"), Changed(made, "/spec/holderIdentity", "you"));
  EXPECT_EQ(put.status, 200) << put;
  EXPECT_EQ(put.At({"spec", "holderIdentity"}), "you");
  EXPECT_EQ(put.uid(), made.uid());
  EXPECT_GT(NumberOf(put.version()), NumberOf(made.version()));
}

TEST_F(LeaseConformance, AStaleVersionIsAConflict) {
  const Answer made = Make("{holderIdentity: me, leaseDurationSeconds: 15}");
  EXPECT_EQ(Put(Leases("a"), Changed(made, "/spec/holderIdentity", "you")).status, 200);
  EXPECT_EQ(StatusText(Put(Leases("a"), Changed(made, "/spec/holderIdentity", "third"))),
            "409 Conflict: Operation cannot be fulfilled on leases.coordination.k8s.io \"a\": the object has been "
            "modified; please apply your changes to the latest version and try again");
  EXPECT_EQ(Get(Leases("a")).At({"spec", "holderIdentity"}), "you");
}

TEST_F(LeaseConformance, ASecondCreateIsRefused) {
  Make("{holderIdentity: me}");
  EXPECT_EQ(StatusText(Make("{holderIdentity: you}")),
            "409 AlreadyExists: leases.coordination.k8s.io \"a\" already exists");
}

TEST_F(LeaseConformance, AnUpdateMakesOneThatIsNotThere) {
  const Answer put = Put(Leases("a"), LeaseBody("{holderIdentity: me}"));
  EXPECT_EQ(put.status, 201) << put;
  EXPECT_EQ(Get(Leases("a")).At({"spec", "holderIdentity"}), "me");
}

TEST_F(LeaseConformance, AVersionOfOneThatIsGoneMakesNothing) {
  const Answer made = Make("{holderIdentity: me}");
  EXPECT_EQ(Delete(Leases("a")).status, 200);
  const Answer put = Put(Leases("a"), Changed(made, "/spec/holderIdentity", "you"));
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

TEST_F(LeaseConformance, ChangingNothingKeepsTheVersion) {
  const Answer made = Make("{holderIdentity: me, leaseDurationSeconds: 15}");
  EXPECT_EQ(Put(Leases("a"), ToText(made.json)).version(), made.version());
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

TEST_F(LeaseConformance, NoSuchNamespaceIsNotFound) {
  const Answer refused = Post("/apis/coordination.k8s.io/v1/namespaces/nowhere-at-all/leases", LeaseBody("{}"));
  EXPECT_EQ(StatusText(refused), "404 NotFound: namespaces \"nowhere-at-all\" not found");
}

TEST_F(LeaseConformance, TimesAreWrittenInUtc) {
  const Answer made = Make("{renewTime: '2026-01-02T03:04:05.678901+01:00'}");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_EQ(made.At({"spec", "renewTime"}), "2026-01-02T02:04:05.678901Z");
}

struct Refusal {
  const char* title;
  const char* spec;
  const char* status_text;
  const char* causes;
};
class LeaseRefusals : public LeaseConformance, public ::testing::WithParamInterface<Refusal> {};

TEST_P(LeaseRefusals, Says) {
  const Answer refused = Make(GetParam().spec);
  EXPECT_EQ(StatusText(refused), GetParam().status_text) << refused;
  EXPECT_EQ(Why(refused), GetParam().causes);
  EXPECT_EQ(Get(Leases("a")).status, 404);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LeaseRefusals,
    ::testing::Values(
        Refusal{"NoTime", "{leaseDurationSeconds: 0}",
                "422 Invalid: Lease.coordination.k8s.io \"a\" is invalid: spec.leaseDurationSeconds: Invalid value: 0: "
                "must be greater than 0",
                "FieldValueInvalid spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
        Refusal{"LessThanNoTime", "{leaseDurationSeconds: -5}",
                "422 Invalid: Lease.coordination.k8s.io \"a\" is invalid: spec.leaseDurationSeconds: Invalid value: "
                "-5: must be greater than 0",
                "FieldValueInvalid spec.leaseDurationSeconds: Invalid value: -5: must be greater than 0"},
        Refusal{"FewerThanNone", "{leaseTransitions: -1}",
                "422 Invalid: Lease.coordination.k8s.io \"a\" is invalid: spec.leaseTransitions: Invalid value: -1: "
                "must be greater than or equal to 0",
                "FieldValueInvalid spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
        Refusal{
            "Both", "{leaseDurationSeconds: 0, leaseTransitions: -1}",
            "422 Invalid: Lease.coordination.k8s.io \"a\" is invalid: [spec.leaseDurationSeconds: Invalid value: 0: "
            "must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]",
            "FieldValueInvalid spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0\nFieldValueInvalid "
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
        Refusal{"WholeSeconds", "{renewTime: '2026-01-02T03:04:05Z'}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: parsing time "
                "\"2026-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
                ""},
        Refusal{"Milliseconds", "{acquireTime: '2026-01-02T03:04:05.123Z'}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: parsing time "
                "\"2026-01-02T03:04:05.123Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".123Z\" as "
                "\".000000\"",
                ""},
        Refusal{"NoTimeAtAll", "{acquireTime: soon}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: parsing time \"soon\" as "
                "\"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"soon\" as \"2006\"",
                ""},
        Refusal{"NumberAsTime", "{acquireTime: 5}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal number "
                "into Go struct field LeaseSpec.spec.acquireTime of type string",
                ""},
        Refusal{"TextAsDuration", "{leaseDurationSeconds: '15'}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal string "
                "into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
                ""},
        Refusal{"BrokenDuration", "{leaseDurationSeconds: 1.5}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal number "
                "1.5E0 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
                ""},
        Refusal{"TooLong", "{leaseDurationSeconds: 2147483648}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal number "
                "2147483648 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
                ""},
        Refusal{"NumberAsHolder", "{holderIdentity: 5}",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal number "
                "into Go struct field LeaseSpec.spec.holderIdentity of type string",
                ""},
        Refusal{"ListAsSpec", "[]",
                "400 BadRequest: Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal array "
                "into Go struct field Lease.spec of type v1.LeaseSpec",
                ""}),
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

TEST_F(BytesConformance, AreReplacedByWhoKnowsTheVersion) {
  const Answer made = Make("binaryData: {b: AAAA}");
  json::value next = made.json;
  SetAt(next, "/binaryData/b", "AQEB");
  EXPECT_EQ(Put(Configs("a"), ToText(next)).status, 200);
  SetAt(next, "/binaryData/b", "AgIC");
  EXPECT_EQ(Put(Configs("a"), ToText(next)).status, 409);
  EXPECT_EQ(Get(Configs("a")).At({"binaryData", "b"}), "AQEB");
}

class BytesRefusals : public BytesConformance, public ::testing::WithParamInterface<Refusal> {};

TEST_P(BytesRefusals, Says) {
  const Answer refused = Make(GetParam().spec);
  EXPECT_EQ(StatusText(refused), GetParam().status_text) << refused;
  EXPECT_EQ(Why(refused), GetParam().causes);
  EXPECT_EQ(Get(Configs("a")).status, 404);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BytesRefusals,
    ::testing::Values(
        Refusal{"OtherAlphabet", "binaryData: {b: 'not base64!'}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at "
                "input byte 3",
                ""},
        Refusal{"NoPadding", "binaryData: {b: AAA}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at "
                "input byte 0",
                ""},
        Refusal{"HalfAPadding", "binaryData: {b: AAAAAA=}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at "
                "input byte 7",
                ""},
        Refusal{"MoreAfterPadding", "binaryData: {b: AAA=AAAA}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at "
                "input byte 4",
                ""},
        Refusal{"OnlyPadding", "binaryData: {b: '===='}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at "
                "input byte 0",
                ""},
        Refusal{"UrlAlphabet", "binaryData: {b: 'AP-_'}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at "
                "input byte 2",
                ""},
        Refusal{"Number", "binaryData: {b: 5}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
                "number into Go struct field ConfigMap.binaryData of type []uint8",
                ""},
        Refusal{"List", "binaryData: [AAAA]",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
                "array into Go struct field ConfigMap.binaryData of type map[string][]uint8",
                ""},
        Refusal{"Twice", "binaryData: {b: AAAA}, data: {b: x}",
                "422 Invalid: ConfigMap \"a\" is invalid: data[b]: Invalid value: \"b\": duplicate of key present in "
                "binaryData",
                "FieldValueInvalid data[b]: Invalid value: \"b\": duplicate of key present in binaryData"},
        Refusal{"NoKey", "binaryData: {'a b': AAAA}",
                "422 Invalid: ConfigMap \"a\" is invalid: binaryData[a b]: Invalid value: \"a b\": a valid config key "
                "must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
                "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                "FieldValueInvalid binaryData[a b]: Invalid value: \"a b\": a valid config key must consist of "
                "alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used "
                "for validation is '[-._a-zA-Z0-9]+')"},
        Refusal{"NoKeyOfText", "data: {'a/b': x}",
                "422 Invalid: ConfigMap \"a\" is invalid: data[a/b]: Invalid value: \"a/b\": a valid config key must "
                "consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
                "regex used for validation is '[-._a-zA-Z0-9]+')",
                "FieldValueInvalid data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric "
                "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for "
                "validation is '[-._a-zA-Z0-9]+')"},
        Refusal{"NumberAsText", "data: {b: 5}",
                "400 BadRequest: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
                "number into Go struct field ConfigMap.data of type string",
                ""}),
    kTitle);

}  // namespace
}  // namespace basalt::conformance
