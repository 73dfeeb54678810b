// The forms of objects that the Accept header requests.
#include "common/http/target.h"
#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

constexpr char kTable[] = "application/json;as=Table;g=meta.k8s.io;v=v1";
constexpr char kPartial[] = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
constexpr char kPartialList[] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

class ShowConformance : public Conformance {
 protected:
  static Answer As(std::string target, std::string accept) { return Get(std::move(target), {{"Accept", accept}}); }
};

// Returns the names of a Table's columns: those that are always shown, then "|" and those of wide output.
std::string Columns(const json::value& table) {
  std::string shown;
  std::string wide;
  const json::value* columns = Find(table, "columnDefinitions");
  if (columns == nullptr || !columns->is_array()) return "";
  for (const json::value& column : columns->get_array()) {
    std::string& out = FindInt(column, "priority") == 0 ? shown : wide;
    out += (out.empty() ? "" : ",") + At(column, {"name"});
  }
  return wide.empty() ? shown : shown + "|" + wide;
}

std::vector<json::value> Rows(const json::value& table) {
  const json::value* rows = Find(table, "rows");
  if (rows == nullptr || !rows->is_array()) return {};
  return {rows->get_array().begin(), rows->get_array().end()};
}

// Returns the cells of the object's row, without its age.
std::string Cells(const json::value& table, std::string_view name) {
  const json::value* columns = Find(table, "columnDefinitions");
  for (const json::value& row : Rows(table)) {
    if (NameOf(*Find(row, "object")) != name) continue;
    std::string out;
    size_t at = 0;
    for (const json::value& cell : Find(row, "cells")->get_array()) {
      const std::string column = At(columns->get_array()[at++], {"name"});
      if (column == "Age" || column == "AGE") continue;
      out += (out.empty() ? "" : " ") + ToText(cell);
    }
    return out;
  }
  return "no such row";
}

// ---- media types ----

struct Accepted {
  const char* name;
  const char* accept;
};

class AcceptedTypes : public Conformance, public ::testing::WithParamInterface<Accepted> {};

TEST_P(AcceptedTypes, AnswerWithTheObjectAsJson) {
  MakeSecret("a");
  MakeJob("j");
  for (const std::string& path : {Secrets("a"), Jobs("j")}) {
    const Answer answer = Get(path, {{"Accept", GetParam().accept}});
    EXPECT_EQ(answer.status, 200) << answer;
    EXPECT_EQ(answer.Header("Content-Type"), "application/json");
    EXPECT_NE(answer.uid(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(ShowConformance, AcceptedTypes,
                         ::testing::Values(Accepted{"Json", "application/json"}, Accepted{"Anything", "*/*"},
                                           Accepted{"HtmlOrAnything", "text/html,*/*"},
                                           Accepted{"WithCharset", "application/json;charset=utf-8"},
                                           Accepted{"WithQuality", "application/json;q=0.5"},
                                           Accepted{"JsonSecond", "application/xml, application/json"},
                                           Accepted{"UnknownViewOrJson",
                                                    "application/json;as=Bogus;g=meta.k8s.io;v=v1,application/json"}),
                         [](const auto& row) { return row.param.name; });

class RefusedTypes : public Conformance, public ::testing::WithParamInterface<Accepted> {};

TEST_P(RefusedTypes, AreNotAcceptable) {
  MakeSecret("a");
  for (const std::string& path : {Secrets(), Secrets("a")}) {
    const Answer answer = Get(path, {{"Accept", GetParam().accept}});
    EXPECT_EQ(answer.status, 406) << answer;
    EXPECT_EQ(answer.reason(), "NotAcceptable");
    EXPECT_EQ(answer.At({"kind"}), "Status");
  }
}

INSTANTIATE_TEST_SUITE_P(
    ShowConformance, RefusedTypes,
    ::testing::Values(Accepted{"Html", "text/html"}, Accepted{"Xml", "application/xml"},
                      Accepted{"AnyApplication", "application/*"},
                      Accepted{"UnknownView", "application/json;as=Bogus;g=meta.k8s.io;v=v1"},
                      Accepted{"UnknownVersionOfATable", "application/json;as=Table;g=meta.k8s.io;v=v2"},
                      Accepted{"UnknownGroupOfATable", "application/json;as=Table;g=example.com;v=v1"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ShowConformance, YamlIsForPeople) {
  MakeSecret("a");
  EXPECT_EQ(As(Secrets("a"), "application/yaml").status, ByServer(406, 200));
}

TEST_F(ShowConformance, AnObjectThatIsNotThereIsAStatusWhateverIsAccepted) {
  for (const char* accept : {kTable, kPartial, "*/*"}) {
    const Answer answer = As(Secrets("nosuch"), accept);
    EXPECT_EQ(answer.status, 404) << answer;
    EXPECT_EQ(answer.At({"kind"}), "Status");
  }
}

// ---- metadata only ----

TEST_F(ShowConformance, MetadataOfAnObject) {
  const Answer made = MakeJob("j", R"({"x":"1"})");
  const Answer partial = As(Jobs("j"), kPartial);
  EXPECT_EQ(partial.At({"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(partial.At({"apiVersion"}), "meta.k8s.io/v1");
  EXPECT_EQ(partial.uid(), made.uid());
  EXPECT_EQ(partial.At({"metadata", "labels", "x"}), "1");
  EXPECT_EQ(Find(partial.json, "spec"), nullptr);
}

TEST_F(ShowConformance, MetadataOfAList) {
  for (const char* name : {"a", "b"}) MakeSecret(name);
  const Answer list = As(Secrets(), kPartialList);
  EXPECT_EQ(list.At({"kind"}), "PartialObjectMetadataList");
  EXPECT_EQ(list.At({"apiVersion"}), "meta.k8s.io/v1");
  EXPECT_EQ(list.Names(), "a b");
  EXPECT_GT(NumberOf(list.version()), 0);
  EXPECT_EQ(At(list.Items()[0], {"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(Find(list.Items()[0], "type"), nullptr);
}

TEST_F(ShowConformance, MetadataOfPages) {
  for (const char* name : {"a", "b", "c"}) MakeSecret(name);
  const Answer first = As(Secrets() + "?limit=2", kPartialList);
  EXPECT_EQ(first.Names(), "a b");
  EXPECT_EQ(first.At({"metadata", "remainingItemCount"}), "1");
  const Answer second = As(Secrets() + "?limit=2&continue=" + http::Escape(first.continue_token()), kPartialList);
  EXPECT_EQ(second.Names(), "c");
}

TEST_F(ShowConformance, TheMetadataOfOneIsNotTheMetadataOfAList) {
  MakeSecret("a");
  EXPECT_EQ(As(Secrets(), kPartial).status, 406);
  EXPECT_EQ(As(Secrets(), kPartial).reason(), "NotAcceptable");
}

TEST_F(ShowConformance, AWatchOfMetadata) {
  MakeSecret("a");
  Watch watch(Server(),
              Secrets() +
                  "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                  "allowWatchBookmarks=true",
              {{"Accept", kPartial}});
  const std::optional<Event> added = watch.Next();
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(added->type, "ADDED");
  EXPECT_EQ(added->name(), "a");
  EXPECT_EQ(added->At({"kind"}), "PartialObjectMetadata");
  const std::optional<Event> mark = watch.Next();
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->type, "BOOKMARK");
  EXPECT_EQ(mark->At({"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(mark->At({"metadata", "annotations", "k8s.io/initial-events-end"}), "true");
}

TEST_F(ShowConformance, AnAnswerToAWriteMayBeMetadataToo) {
  const Answer made = Post(Secrets(), SecretBody("a"), {{"Accept", kPartial}});
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_EQ(made.At({"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(NameOf(made.json), "a");
}

// ---- tables ----

struct TableOfKind {
  const char* name;
  const char* collection;  // The path below the namespace's path of the group.
  const char* group;       // "" is the core group's v1.
  const char* object;      // An object to make, whose name is x.
  const char* columns;
  const char* cells;
};

class Tables : public Conformance, public ::testing::WithParamInterface<TableOfKind> {
 protected:
  std::string Path() const {
    const TableOfKind& row = GetParam();
    return *row.group == '\0' ? Core(row.collection) : Group(row.group, row.collection);
  }
};

TEST_P(Tables, HaveTheColumnsThatKubectlShows) {
  const Answer made = Post(Path(), GetParam().object);
  ASSERT_EQ(made.status, 201) << made;
  const Answer table = Get(Path(), {{"Accept", kTable}});
  EXPECT_EQ(table.status, 200);
  EXPECT_EQ(table.At({"kind"}), "Table");
  EXPECT_EQ(table.At({"apiVersion"}), "meta.k8s.io/v1");
  EXPECT_GT(NumberOf(table.version()), 0);
  EXPECT_EQ(Columns(table.json), GetParam().columns);
  EXPECT_EQ(Cells(table.json, "x"), GetParam().cells);
}

INSTANTIATE_TEST_SUITE_P(
    ShowConformance, Tables,
    ::testing::Values(
        TableOfKind{"Pod", "pods", "",
                    R"({"metadata":{"name":"x"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})",
                    "Name,Ready,Status,Restarts,Age|IP,Node,Nominated Node,Readiness Gates",
                    R"("x" "0/1" "Pending" "0" "<none>" "n" "<none>" "<none>")"},
        TableOfKind{"ServiceAccount", "serviceaccounts", "", R"({"metadata":{"name":"x"}})", "Name,Age", R"("x")"},
        TableOfKind{"PodGroup", "podgroups", "scheduling.volcano.sh/v1beta1",
                    R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":"x"},)"
                    R"("spec":{"minMember":3,"queue":"q"}})",
                    "Name,STATUS,minMember,RUNNINGS,AGE|QUEUE", R"("x" null 3 null "q")"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ShowConformance, ATableOfOurJobsHasTheColumnsOfItsDefinition) {
  MakeJob("j");
  Patch(Jobs("j") + "/status", kMerge, R"({"status":{"state":{"phase":"Running"},"minAvailable":2,"running":1}})");
  const Answer table = As(Jobs(), kTable);
  ASSERT_EQ(table.status, 200) << table;
  EXPECT_EQ(Columns(table.json), "Name,STATUS,minAvailable,RUNNINGS,AGE|QUEUE");
  EXPECT_EQ(Cells(table.json, "j"), R"("j" "Running" 2 1 "default")");
}

TEST_F(ShowConformance, ATableOfOneObjectHasOneRowAndItsVersion) {
  const Answer made = MakeSecret("a");
  MakeSecret("b");
  const Answer table = As(Secrets("a"), kTable);
  EXPECT_EQ(table.At({"kind"}), "Table");
  EXPECT_EQ(table.version(), made.version());
  ASSERT_EQ(Rows(table.json).size(), 1U);
  EXPECT_EQ(At(Rows(table.json)[0], {"object", "metadata", "name"}), "a");
}

TEST_F(ShowConformance, ARowsObjectIsItsMetadataUnlessAskedOtherwise) {
  MakeSecret("a");
  const auto row = [&](std::string_view more) {
    const std::vector<json::value> rows = Rows(As(fmt::format("{}?{}", Secrets(), more), kTable).json);
    return rows.empty() ? json::value() : rows[0];
  };
  EXPECT_EQ(At(row(""), {"object", "kind"}), "PartialObjectMetadata");
  EXPECT_EQ(At(row("includeObject=Metadata"), {"object", "kind"}), "PartialObjectMetadata");
  EXPECT_EQ(At(row("includeObject=Object"), {"object", "kind"}), "Secret");
  EXPECT_EQ(At(row("includeObject=None"), {"object", "kind"}), "");
}

TEST_F(ShowConformance, AnUnknownIncludeObjectIsABadRequest) {
  const Answer table = As(Secrets() + "?includeObject=Bogus", kTable);
  EXPECT_EQ(table.status, 400) << table;
  EXPECT_EQ(table.message(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Bogus\": must be 'Metadata', "
            "'Object', 'None', or empty");
}

TEST_F(ShowConformance, ATableOfAPageContinues) {
  for (const char* name : {"a", "b", "c"}) MakeSecret(name);
  const Answer first = As(Secrets() + "?limit=2", kTable);
  EXPECT_EQ(Rows(first.json).size(), 2U);
  EXPECT_EQ(first.At({"metadata", "remainingItemCount"}), "1");
  const Answer second = As(Secrets() + "?limit=2&continue=" + http::Escape(first.continue_token()), kTable);
  EXPECT_EQ(Rows(second.json).size(), 1U);
}

TEST_F(ShowConformance, OnlyTheFirstTableOfAWatchHasColumns) {
  MakeSecret("a");
  Watch watch(Server(), Secrets() + "?watch=true", {{"Accept", kTable}});
  const std::optional<Event> first = watch.Next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->type, "ADDED");
  EXPECT_EQ(first->At({"kind"}), "Table");
  EXPECT_TRUE(Columns(first->object).starts_with("Name,")) << Columns(first->object);
  ASSERT_EQ(Rows(first->object).size(), 1U);
  EXPECT_EQ(At(Rows(first->object)[0], {"object", "metadata", "name"}), "a");
  MakeSecret("b");
  const std::optional<Event> second = watch.Next();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(Columns(second->object), "");
  EXPECT_EQ(At(Rows(second->object)[0], {"object", "metadata", "name"}), "b");
}

TEST_F(ShowConformance, ATableInAWatchHasTheVersionOfItsObject) {
  Watch watch(Server(), Secrets() + "?watch=true&resourceVersion=" + Get(Secrets()).version(), {{"Accept", kTable}});
  const Answer made = MakeSecret("a");
  const std::optional<Event> added = watch.Next();
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(added->version(), made.version());
}

TEST_F(ShowConformance, KubectlsOwnAcceptHeaderGivesATable) {
  MakeSecret("a");
  const Answer table = As(Secrets(),
                          "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"
                          "g=meta.k8s.io,application/json");
  EXPECT_EQ(table.At({"apiVersion"}), "meta.k8s.io/v1");
  EXPECT_EQ(table.At({"kind"}), "Table");
}

}  // namespace
}  // namespace basalt::conformance
