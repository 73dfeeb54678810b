#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/sim_loop.h"
#include "gateway/kube/reflect/reflector.h"
#include "gateway/kube/testing.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using Content = std::map<std::string, int>;  // Name -> resourceVersion.

// The history of a handful of pods: the truth that a reflector follows.
class History {
 public:
  struct Entry {
    std::string type;
    std::string name;
    int version;
  };

  void Happen(Random& random) {
    const std::string name(1, static_cast<char>('a' + random.Uniform(6)));
    const bool exists = At(version_).count(name) != 0;
    ++version_;
    log_.push_back({!exists ? "ADDED" : random.OneIn(2) ? "MODIFIED" : "DELETED", name, version_});
  }
  Content At(int version) const {
    Content content;
    for (const Entry& entry : log_) {
      if (entry.version > version) break;
      if (entry.type == "DELETED") {
        content.erase(entry.name);
      } else {
        content[entry.name] = entry.version;
      }
    }
    return content;
  }
  // Returns the first event after `version`; null if there is none yet.
  const Entry* After(int version) const {
    for (const Entry& entry : log_) {
      if (entry.version > version) return &entry;
    }
    return nullptr;
  }
  void Compact() { oldest_ = version_; }
  int version() const { return version_; }
  int oldest() const { return oldest_; }

 private:
  int version_ = 10;
  int oldest_ = 0;
  std::vector<Entry> log_;
};

// Keeps the reported state, and compares it with the truth each time that a version is claimed.
class CheckingSink : public ReflectorSink {
 public:
  explicit CheckingSink(const History& history) : history_(history) {}

  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override {
    content_.clear();
    for (const Decoded& decoded : objects) Set(decoded.object);
    Claim(resource_version);
  }
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override {
    if (type == WatchType::kDeleted) {
      content_.erase(std::string(RefOf(decoded.object).name));
    } else {
      Set(decoded.object);
    }
    Claim(resource_version);
  }
  void OnBookmark(int64_t resource_version) override { Claim(resource_version); }
  void OnAbsent() override { ADD_FAILURE(); }
  void OnForbidden(const std::string&) override { ADD_FAILURE(); }
  void OnError(const absl::Status&) override {}

  int64_t claimed = 0;
  int claims = 0;

 private:
  void Set(const kube::v1::Object& object) {
    const ObjectRef name = RefOf(object);
    content_[std::string(name.name)] = static_cast<int>(name.resource_version);
  }
  void Claim(int64_t resource_version) {
    ASSERT_GE(resource_version, claimed) << "versions never go back";
    claimed = resource_version;
    ++claims;
    ASSERT_EQ(content_, history_.At(static_cast<int>(resource_version))) << "at " << resource_version;
  }

  const History& history_;
  Content content_;
};

// Plays the API server for the open request, one random step at a time.
class Server {
 public:
  Server(ScriptedClient& client, History& history, Random& random)
      : client_(client), history_(history), random_(random) {}

  void Step(bool calm) {
    if (client_.started() == 0 || !client_.last().open()) return;
    if (client_.started() != seen_) {
      seen_ = client_.started();
      Begin();
    } else if (!calm && random_.OneIn(12)) {
      End();
    } else if (client_.last().Query("watch") == "true") {
      Feed();
    }
  }

 private:
  void Begin() {
    ScriptedClient::Exchange& request = client_.last();
    if (request.Query("watch") != "true") return AnswerPage();
    streaming_ = request.Query("sendInitialEvents") == "true";
    if (!streaming_ && std::stoi(request.Query("resourceVersion")) < history_.oldest()) {
      if (random_.OneIn(2)) return request.Answer(410, Refusal(410, "Expired"));
      request.Head(200);
      return request.Chunk("{\"type\":\"ERROR\",\"object\":" + Refusal(410, "Expired") + "}\n");
    }
    request.Head(200);
    sent_ = streaming_ ? history_.version() : std::stoi(request.Query("resourceVersion"));
    if (!streaming_) return;
    for (const auto& [name, version] : history_.At(sent_)) {
      if (!Send(Line("ADDED", name, version))) return;
    }
  }
  void AnswerPage() {
    ScriptedClient::Exchange& request = client_.last();
    const std::string token = request.Query("continue");
    // Pages contain two items, all as of the version of the first page; the token is "version/name".
    const int version = token.empty() ? history_.version() : std::stoi(token);
    if (version < history_.oldest()) return request.Answer(410, Refusal(410, "Expired"));
    const std::string from = token.empty() ? "" : token.substr(token.find('/') + 1);
    std::vector<std::string> items;
    std::string next;
    for (const auto& [name, at] : history_.At(version)) {
      if (name < from) continue;
      if (items.size() == 2 && !request.Query("limit").empty()) {
        next = fmt::format("{}/{}", version, name);
        break;
      }
      items.push_back(Item(name, at));
    }
    request.Answer(200, Page(version, items, next));
  }
  void Feed() {
    const History::Entry* entry = history_.After(sent_);
    if (entry != nullptr && !random_.OneIn(4)) {
      sent_ = entry->version;
      Send(Line(entry->type, entry->name, entry->version));
      return;
    }
    // A bookmark may come at any time, also the one that ends a streaming list.
    Send(Bookmark(sent_, std::exchange(streaming_, false)));
  }
  void End() {
    const absl::Status statuses[] = {absl::OkStatus(), absl::UnknownError("reset"),
                                     absl::DeadlineExceededError("idle")};
    client_.last().End(statuses[random_.Uniform(3)]);
  }
  // Sends the text in up to three chunks. Returns false if the last ones do not arrive.
  bool Send(const std::string& text) {
    ScriptedClient::Exchange& request = client_.last();
    const size_t a = random_.Uniform(text.size() + 1);
    const size_t b = a + random_.Uniform(text.size() + 1 - a);
    request.Chunk(text.substr(0, a));
    if (random_.OneIn(40)) {
      End();
      return false;
    }
    request.Chunk(text.substr(a, b - a));
    request.Chunk(text.substr(b));
    return true;
  }

  ScriptedClient& client_;
  History& history_;
  Random& random_;
  size_t seen_ = 0;
  int sent_ = 0;
  bool streaming_ = false;
};

TEST(ReflectorPropertyTest, EachReportIsTheServersStateAtThatVersion) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    SimTime time;
    SimLoop loop(time, "gateway");
    ScriptedClient client;
    History history;
    CheckingSink sink(history);
    ReflectorOptions options;
    options.path = "/api/v1/pods";
    options.kind = ObjectKind::kPod;
    if (seed % 2 == 0) options.streaming_list = ReflectorOptions::StreamingList::kOff;
    Server server(client, history, random);
    Reflector reflector(loop, client, random, options, sink);
    reflector.Start();
    for (int i = 0; i < 400; ++i) {
      if (random.OneIn(2)) history.Happen(random);
      if (random.OneIn(40)) history.Compact();
      server.Step(/*calm=*/false);
      time.Advance(absl::Milliseconds(200));
      if (::testing::Test::HasFatalFailure()) return;
    }
    // Once the server is quiet, everything is known.
    for (int i = 0; i < 1000 && sink.claimed < history.version(); ++i) {
      server.Step(/*calm=*/true);
      time.Advance(absl::Seconds(1));
    }
    ASSERT_EQ(sink.claimed, history.version());
    ASSERT_GT(sink.claims, 20);
    ASSERT_LE(client.open(), 1U) << "never two requests at once";
  }
}

}  // namespace
}  // namespace basalt::gateway
