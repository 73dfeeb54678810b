// People close, open, make and delete queues by basaltctl. services/queuesvc/testing has the rules, and what Commands
// of vcctl and edits of the status do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kQueues[] = "/apis/scheduling.volcano.sh/v1beta1/queues";
constexpr char kCommands[] = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";

class QueuesTest : public WorldTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WorldTest::SetUp());
    Make("team", "root");
    Make("nlp", "team");
    Make("vision", "team");
    ASSERT_TRUE(Becomes("vision", "Open"));
  }
  // All worlds of a real cluster have the same queues.
  void TearDown() override {
    for (const char* queue : {"nlp", "vision", "team"}) {
      EXPECT_THAT(world_.Call("DELETE", fmt::format("{}/{}", kQueues, queue)), testing::IsOk());
    }
  }

  void Make(std::string_view name, std::string_view parent) {
    Post(kQueues, fmt::format(R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{{)"
                              R"("name":"{}"}},"spec":{{"parent":"{}"}}}})",
                              name, parent));
    ASSERT_TRUE(Becomes(name, "Open"));
  }
  void Post(const std::string& path, const std::string& body) {
    const auto answer = world_.Call("POST", path, body);
    ASSERT_TRUE(answer.ok() && answer->status == 201) << path << ": " << (answer.ok() ? answer->body : "");
  }
  std::string TextAt(std::string_view queue, std::initializer_list<std::string_view> path, std::string_view member) {
    const json::value object = world_.KubeGet(fmt::format("{}/{}", kQueues, queue));
    const json::value* const found = object.is_null() ? nullptr : FindPath(object, path);
    return found == nullptr ? "" : std::string(FindString(*found, member));
  }
  std::string State(std::string_view queue) { return TextAt(queue, {"status"}, "state"); }
  bool Becomes(std::string_view queue, std::string_view state) {
    return Eventually(absl::Seconds(60), [&] { return State(queue) == state; });
  }
  std::string Mark(std::string_view queue) {
    return TextAt(queue, {"metadata", "annotations"}, "volcano.sh/closed-by-parent");
  }
  void Does(const std::string& action, const std::string& queue) {
    const Ran ran = world_.Ctl({"queue", action, queue, "--wait", "--timeout", "60s"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  }
  size_t Commands() {
    const json::value list = world_.KubeGet(kCommands);
    return list.is_null() ? 99 : Find(list, "items")->as_array().size();
  }
  std::string EventsOf(std::string_view queue) {
    const json::value list =
        world_.KubeGet(fmt::format("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{}", queue));
    std::string text;
    if (list.is_null()) return text;
    for (const json::value& event : Find(list, "items")->as_array()) {
      if (FindString(event.at("involvedObject"), "name") != queue) continue;
      text += fmt::format("{}: {}\n", FindString(event, "reason"), FindString(event, "message"));
    }
    return text;
  }
};

TEST_F(QueuesTest, ATreeIsClosedAndOpenedAndSaysWhy) {
  Does("close", "vision");
  const Ran closed = world_.Ctl({"queue", "close", "team", "--wait", "--timeout", "60s"});
  EXPECT_EQ(closed.exit_code, 0) << closed.err;
  EXPECT_THAT(closed.out, HasSubstr("queue team is Closed"));
  EXPECT_TRUE(Becomes("nlp", "Closed"));
  EXPECT_EQ(Mark("nlp"), "true");
  EXPECT_EQ(Mark("vision"), "") << "it was closed before";
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
    return world_.Ctl({"queue", "tree", "team"}).out.find("nlp      Closed by parent") != std::string::npos;
  })) << world_.Ctl({"queue", "tree"}).out;
  EXPECT_THAT(
      world_.Ctl({"queue", "explain", "nlp"}).out,
      AllOf(HasSubstr("queue nlp is Closed: no job is admitted"), HasSubstr("its parent team is Closed"),
            HasSubstr("basaltctl queue open team; queues that were closed with their parent are opened with it")));
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
    return EventsOf("team").find("CloseQueue: state Open -> Closed: command default/team-") != std::string::npos;
  })) << EventsOf("team");

  // A queue below a closed queue waits for its parent.
  const Ran waits = world_.Ctl({"queue", "open", "nlp", "--wait", "--timeout", "2s"});
  EXPECT_EQ(waits.exit_code, 1) << waits.out;
  EXPECT_THAT(waits.err, HasSubstr("basaltctl queue explain nlp"));
  EXPECT_THAT(world_.Ctl({"queue", "explain", "nlp"}).out, HasSubstr("OpenQueue waits until the parent is open"));
  Does("open", "team");
  EXPECT_TRUE(Becomes("nlp", "Open"));
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return Mark("nlp") == "false" && Commands() == 0; }));
  EXPECT_EQ(State("vision"), "Closed") << "it is opened by nobody but people";
  EXPECT_THAT(world_.Ctl({"queue", "history", "team"}).out,
              AllOf(HasSubstr("command done"), HasSubstr("Open → Closed")));
  EXPECT_EQ(world_.Ctl({"queue", "close", "root"}).exit_code, 1);
}

TEST_F(QueuesTest, QueuesAreMadeAndDeletedInATree) {
  const Ran made = world_.Ctl({"queue", "create", "speech", "--parent", "nlp", "--capability", "cpu=4"});
  EXPECT_EQ(made.out, "queue speech created\n") << made.err;
  EXPECT_TRUE(Becomes("speech", "Open"));
  EXPECT_EQ(TextAt("speech", {"spec", "capability"}, "cpu"), "4");
  EXPECT_THAT(world_.Ctl({"queue", "create", "speech", "--parent", "nlp"}).err,
              HasSubstr("queue speech exists already"));
  EXPECT_THAT(world_.Ctl({"queue", "create", "lost", "--parent", "gone"}).err,
              HasSubstr("spec.parent: queue gone does not exist"));
  EXPECT_THAT(world_.Ctl({"queue", "create", "bad", "--weight", "0"}).err, HasSubstr("spec.weight"));
  EXPECT_THAT(world_.Ctl({"queue", "delete", "nlp"}).err, HasSubstr("queue nlp is the parent of 1 queues, as speech"));
  EXPECT_THAT(world_.Ctl({"queue", "delete", "default"}).err, HasSubstr("cannot be deleted"));
  EXPECT_EQ(world_.Ctl({"queue", "delete", "speech"}).out, "queue speech deleted\n");
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return State("speech").empty(); }));
}

TEST_F(QueuesTest, AQueueIsClosedOnceItsJobsAreGoneAndTakesNoOthers) {
  const std::string file = world_.Submit("queued", JobManifest("queued", 1, "300s", "queue: nlp"));
  ASSERT_EQ(world_.Ctl({"job", "wait", "queued", "--for", "Running", "--timeout", "60s"}).exit_code, 0);
  Does("close", "team");
  EXPECT_TRUE(Becomes("nlp", "Closing"));
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
    const std::string out = world_.Ctl({"queue", "explain", "nlp"}).out;
    return out.find("1 pod groups name it") != std::string::npos &&
           out.find("Pod groups:\n  default/queued-") != std::string::npos;
  })) << world_.Ctl({"queue", "explain", "nlp"}).out;
  const Ran refused = world_.Ctl({"job", "submit", "-f", file, "--dry-run"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("nlp"));
  EXPECT_EQ(world_.Ctl({"job", "delete", "queued"}).exit_code, 0);
  EXPECT_TRUE(Becomes("nlp", "Closed"));
  Does("open", "team");
  EXPECT_TRUE(Becomes("nlp", "Open"));
}

}  // namespace
}  // namespace basalt::e2e
