// Label and field selectors of lists. Watches take the same selectors (watch_test.cc).
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

// ---- labels ----

struct Selected {
  const char* selector;
  const char* names;
};

// The objects a to e have the labels n=<name> and num=1…5; f has no labels.
class LabelSelectors : public Conformance, public ::testing::WithParamInterface<Selected> {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    for (int i = 0; i < 5; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      MakeSecret(name, fmt::format(R"({{"n":"{}","num":"{}"}})", name, i + 1));
    }
    MakeSecret("f");
  }
};

TEST_P(LabelSelectors, ChooseTheObjectsThatSatisfyEveryRequirement) {
  const Answer list = Get(Secrets() + Query({{"labelSelector", GetParam().selector}}));
  EXPECT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.Names(), GetParam().names) << GetParam().selector;
}

INSTANTIATE_TEST_SUITE_P(Conformance, LabelSelectors,
                         ::testing::Values(Selected{"n=a", "a"}, Selected{"n==a", "a"}, Selected{"n!=a", "b c d e f"},
                                           Selected{"n in (a,b)", "a b"}, Selected{"n notin (a,b)", "c d e f"},
                                           Selected{"n", "a b c d e"}, Selected{"!n", "f"}, Selected{"num>2", "c d e"},
                                           Selected{"num < 2", "a"}, Selected{"n=", ""}, Selected{"n!=", "a b c d e f"},
                                           Selected{"n in ()", ""}, Selected{"n in (a,,b)", "a b"},
                                           Selected{"num > 2,n!=e", "c d"}, Selected{"n in (a,b),n notin (b)", "a"},
                                           Selected{"n=a,n=b", ""}, Selected{"  n = a , num = 1  ", "a"},
                                           Selected{"in=a", ""}, Selected{"notin", ""}));

struct BadSelector {
  const char* name;
  const char* selector;
};

class BadLabelSelectors : public Conformance, public ::testing::WithParamInterface<BadSelector> {};

TEST_P(BadLabelSelectors, AreBadRequestsForListAndWatch) {
  for (const std::string& path : {Secrets(), Jobs()}) {
    const Answer list = Get(path + Query({{"labelSelector", GetParam().selector}}));
    EXPECT_EQ(list.status, 400) << list;
    EXPECT_EQ(list.reason(), "BadRequest");
    EXPECT_NE(list.message(), "");
    Watch watch(Server(), path + Query({{"watch", "true"}, {"labelSelector", GetParam().selector}}));
    EXPECT_EQ(watch.Status(), 400);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, BadLabelSelectors,
    ::testing::Values(BadSelector{"NoOperator", "a b"}, BadSelector{"UnknownOperator", "n ~ a"},
                      BadSelector{"OpenParenthesis", "n in (a"}, BadSelector{"NoParenthesis", "n in a"},
                      BadSelector{"TwoValues", "n=a=b"}, BadSelector{"NoKey", "=a"}, BadSelector{"OnlyAComma", ","},
                      BadSelector{"TrailingComma", "n=a,"}, BadSelector{"OnlyNot", "!"},
                      BadSelector{"NotWithAValue", "!n=a"}, BadSelector{"KeyBeginsBadly", "-n=a"},
                      BadSelector{"ValueBeginsBadly", "n=-a"}, BadSelector{"TwoSlashes", "a/b/c=d"},
                      BadSelector{"GreaterThanText", "n>x"}, BadSelector{"GreaterThanNothing", "n>"},
                      BadSelector{"LongKey", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
                      BadSelector{"LongValue",
                                  "n=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}),
    [](const auto& row) { return row.param.name; });

TEST_F(Conformance, ALabelSelectorThatCannotBeReadIsToldWithWhatWasExpected) {
  EXPECT_EQ(Get(Secrets() + Query({{"labelSelector", "a b"}})).message(),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
}

TEST_F(Conformance, ASelectorOfLabelsWithAPrefix) {
  MakePod("a", R"({"volcano.sh/job-name":"j"})");
  MakePod("b", R"({"volcano.sh/job-name":"k"})");
  EXPECT_EQ(Get(Pods() + Query({{"labelSelector", "volcano.sh/job-name=j"}})).Names(), "a");
  EXPECT_EQ(Get(Pods() + Query({{"labelSelector", "volcano.sh/job-name in (j,k)"}})).Names(), "a b");
}

// ---- fields ----

class PodFieldSelectors : public Conformance, public ::testing::WithParamInterface<Selected> {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    MakePod("a", "{}", R"(,"schedulerName":"volcano")");
    MakePod("b", "{}", R"(,"restartPolicy":"Never","hostNetwork":true)");
    MakePod("c", "{}", R"(,"nodeName":"some-node")");
  }
};

TEST_P(PodFieldSelectors, ChooseByFieldsOfSpecAndStatus) {
  const Answer list = Get(Pods() + Query({{"fieldSelector", GetParam().selector}}));
  EXPECT_EQ(list.status, 200) << list;
  EXPECT_EQ(list.Names(), GetParam().names) << GetParam().selector;
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, PodFieldSelectors,
    ::testing::Values(Selected{"metadata.name=b", "b"}, Selected{"metadata.name==b", "b"},
                      Selected{"metadata.name!=b", "a c"}, Selected{"metadata.name=a,metadata.name=b", ""},
                      Selected{"metadata.name=a,", "a"}, Selected{"metadata.name=", ""}, Selected{",", "a b c"},
                      Selected{"metadata.namespace=elsewhere", ""}, Selected{"spec.nodeName=some-node", "c"},
                      Selected{"spec.nodeName=", "a b"}, Selected{"spec.nodeName!=", "c"},
                      Selected{"spec.schedulerName=volcano", "a"},
                      Selected{"spec.schedulerName=volcano,spec.nodeName=", "a"},
                      Selected{"spec.restartPolicy=Never", "b"}, Selected{"spec.hostNetwork=true", "b"},
                      Selected{"spec.hostNetwork=false", "a c"}, Selected{"spec.serviceAccountName=", "a b c"},
                      Selected{"status.phase=Pending", "a b c"}, Selected{"status.phase!=Pending", ""},
                      Selected{"status.podIP=", "a b c"}, Selected{"status.podIPs=", "a b c"},
                      Selected{"status.nominatedNodeName=", "a b c"}));

TEST_F(Conformance, AFieldSelectorFollowsThePodsPhase) {
  MakePod("a");
  const Answer done = Patch(Pods("a") + "/status", kMerge, R"({"status":{"phase":"Succeeded"}})");
  ASSERT_EQ(done.status, 200) << done;
  EXPECT_EQ(Get(Pods() + Query({{"fieldSelector", "status.phase=Succeeded"}})).Names(), "a");
  EXPECT_EQ(Get(Pods() + Query({{"fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"}})).Names(), "");
}

TEST_F(Conformance, OurKindsAreSelectedByNameAndNamespaceOnly) {
  MakeJob("a");
  MakeJob("b");
  EXPECT_EQ(Get(Jobs() + Query({{"fieldSelector", "metadata.name=a"}})).Names(), "a");
  EXPECT_EQ(Get(Jobs() + Query({{"fieldSelector", "metadata.namespace=" + ns()}})).Names(), "a b");
  EXPECT_EQ(Get(Jobs() + Query({{"fieldSelector", "metadata.name!=a"}})).Names(), "b");
}

struct UnknownField {
  const char* name;
  const char* path;
  const char* selector;
  const char* message;
};

class UnknownFields : public Conformance, public ::testing::WithParamInterface<UnknownField> {};

TEST_P(UnknownFields, AreBadRequests) {
  const Answer list = Get(GetParam().path + Query({{"fieldSelector", GetParam().selector}}));
  EXPECT_EQ(list.status, 400) << list;
  EXPECT_EQ(list.reason(), "BadRequest");
  EXPECT_EQ(list.message(), GetParam().message);
  Watch watch(Server(), GetParam().path + Query({{"watch", "true"}, {"fieldSelector", GetParam().selector}}));
  EXPECT_EQ(watch.Status(), 400);
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, UnknownFields,
    ::testing::Values(
        UnknownField{"OfAPod", "/api/v1/pods", "spec.foo=x", "field label not supported: spec.foo"},
        UnknownField{"LabelsOfAPod", "/api/v1/pods", "metadata.labels=x", "field label not supported: metadata.labels"},
        UnknownField{"UidOfASecret", "/api/v1/secrets", "metadata.uid=x", "field label not supported: metadata.uid"},
        UnknownField{"OfAJob", "/apis/batch.volcano.sh/v1alpha1/jobs", "spec.queue=x",
                     "field label not supported: spec.queue"},
        UnknownField{"PhaseOfAJob", "/apis/batch.volcano.sh/v1alpha1/jobs", "status.state.phase=x",
                     "field label not supported: status.state.phase"},
        UnknownField{"OfAConfigMap", "/api/v1/configmaps", "data=x",
                     R"("data" is not a known field selector: only "metadata.name", "metadata.namespace")"},
        UnknownField{"OfAReplicaSet", "/apis/apps/v1/replicasets", "status.replicas=1",
                     R"("status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace")"},
        UnknownField{"WithoutValue", "/api/v1/pods", "metadata.name",
                     "invalid selector: 'metadata.name'; can't understand 'metadata.name'"},
        UnknownField{"SetOperator", "/api/v1/pods", "metadata.name in (a)",
                     "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"},
        UnknownField{"WithoutName", "/api/v1/secrets", "=a", "field label not supported: "}),
    [](const auto& row) { return row.param.name; });

// Controllers select other kinds than pods by these fields.
TEST_F(Conformance, OtherKindsHaveSelectableFieldsOfTheirOwn) {
  for (const char* query :
       {"/api/v1/namespaces?fieldSelector=status.phase%3DTerminating%2Cmetadata.name%3Ddefault",
        "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue", "/api/v1/events?fieldSelector=involvedObject.name%3Dx",
        "/api/v1/events?fieldSelector=reason%3Dx%2Ctype%3DNormal", "/api/v1/secrets?fieldSelector=type%3Dx",
        "/api/v1/services?fieldSelector=spec.type%3Dx", "/apis/batch/v1/jobs?fieldSelector=status.successful%3D77"}) {
    const Answer list = Get(query);
    EXPECT_EQ(list.status, 200) << query << ": " << list;
    EXPECT_EQ(list.Names(), "") << query;
  }
}

}  // namespace
}  // namespace basalt::conformance
