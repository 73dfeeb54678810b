#pragma once

// Helpers for tests: a server under simulated time, requests as one-liners, watches that collect their events.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "kubesim/server/api_server.h"

namespace basalt::kubesim {

struct Reply {
  int status = 0;  // 0 if there is no answer yet, or the connection broke.
  bool ended = false;
  bool broken = false;  // The writer was destroyed without End().
  http::Headers headers;
  std::string body;
  json::value json;

  std::string reason() const { return std::string(FindString(json, "reason")); }
  std::string At(std::initializer_list<std::string_view> path) const {
    const json::value* found = FindPath(json, path);
    if (found == nullptr) return "";
    return found->is_string() ? std::string(found->get_string()) : ToText(*found);
  }
  std::string version() const { return At({"metadata", "resourceVersion"}); }
  std::string uid() const { return At({"metadata", "uid"}); }
};

// Collects the answer of a handler. Shared with the handler.
class TestWriter : public http::ResponseWriter {
 public:
  explicit TestWriter(std::shared_ptr<Reply> reply) : reply_(std::move(reply)) {}
  ~TestWriter() override {
    if (!reply_->ended) reply_->broken = true;
  }
  void Head(int status, const http::Headers& headers) override {
    reply_->status = status;
    reply_->headers = headers;
  }
  void Chunk(std::string_view data) override { reply_->body += data; }
  void End() override { reply_->ended = true; }
  bool closed() const override { return closed_; }
  void OnClose(std::function<void()> on_close) override { on_close_ = std::move(on_close); }
  size_t buffered() const override { return buffered_; }

  void Close() {
    closed_ = true;
    if (on_close_) std::exchange(on_close_, nullptr)();
  }
  void set_buffered(size_t bytes) { buffered_ = bytes; }

 private:
  std::shared_ptr<Reply> reply_;
  std::function<void()> on_close_;
  bool closed_ = false;
  size_t buffered_ = 0;
};

struct TestWatch {
  std::shared_ptr<Reply> reply;
  std::weak_ptr<TestWriter> writer;
  size_t read = 0;

  // Returns the events since the last call.
  std::vector<json::value> Take() {
    std::vector<json::value> events;
    while (true) {
      const size_t end = reply->body.find('\n', read);
      if (end == std::string::npos) return events;
      auto event = ParseJson(std::string_view(reply->body).substr(read, end - read));
      EXPECT_TRUE(event.ok()) << event.status();
      if (event.ok()) events.push_back(*std::move(event));
      read = end + 1;
    }
  }
  // Returns the events since the last call as "ADDED a@7 MODIFIED a@8". A bookmark has no name.
  std::string TakeText() {
    std::string text;
    for (const json::value& event : Take()) {
      const json::value* name = FindPath(event, {"object", "metadata", "name"});
      const json::value* version = FindPath(event, {"object", "metadata", "resourceVersion"});
      if (!text.empty()) text += ' ';
      text += FindString(event, "type");
      if (name != nullptr) text += fmt::format(" {}", name->get_string().c_str());
      if (version != nullptr) text += fmt::format("@{}", version->get_string().c_str());
    }
    return text;
  }
};

class TestServer {
 public:
  explicit TestServer(ApiServerOptions options = {})
      : loop_(time_, "kubesim"), server_(std::make_unique<ApiServer>(loop_, random_, std::move(options))) {
    time_.RunDueTasks();
  }

  Reply Do(std::string method, std::string target, std::string body = "", http::Headers headers = {}) {
    const auto reply = Begin(std::move(method), std::move(target), std::move(body), std::move(headers));
    if (auto parsed = ParseJson(reply->body); parsed.ok()) reply->json = *std::move(parsed);
    return *reply;
  }
  // Sends a request and returns its reply, which may still be incomplete.
  std::shared_ptr<Reply> Begin(std::string method, std::string target, std::string body = "",
                               http::Headers headers = {}) {
    auto reply = std::make_shared<Reply>();
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    if (!request.body.empty() && http::FindHeader(request.headers, "Content-Type").empty()) {
      request.headers.emplace_back("Content-Type", "application/json");
    }
    server_->Handle(request, std::make_shared<TestWriter>(reply));
    if (run_due_tasks_) time_.RunDueTasks();
    return reply;
  }
  Reply Get(std::string target, std::string accept = "") {
    return Do("GET", std::move(target), "", accept.empty() ? http::Headers() : http::Headers{{"Accept", accept}});
  }
  Reply Post(std::string target, std::string body) { return Do("POST", std::move(target), std::move(body)); }
  Reply Delete(std::string target, std::string body = "") { return Do("DELETE", std::move(target), std::move(body)); }
  Reply Merge(std::string target, std::string body) {
    return Do("PATCH", std::move(target), std::move(body), {{"Content-Type", "application/merge-patch+json"}});
  }
  TestWatch Watch(std::string target, std::string accept = "") {
    TestWatch watch;
    watch.reply = std::make_shared<Reply>();
    http::Request request;
    request.target = std::move(target);
    if (!accept.empty()) request.headers.emplace_back("Accept", accept);
    auto writer = std::make_shared<TestWriter>(watch.reply);
    watch.writer = writer;
    server_->Handle(request, std::move(writer));
    if (run_due_tasks_) time_.RunDueTasks();
    return watch;
  }

  // Creates a pod in namespace default. `more_spec` and `meta` begin with commas.
  Reply MakePod(std::string_view name, std::string_view labels = "{}", std::string_view more_spec = "",
                std::string_view meta = "") {
    return Post("/api/v1/namespaces/default/pods",
                fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{}{}}},)"
                            R"("spec":{{"containers":[{{"name":"c","image":"i"}}]{}}}}})",
                            name, labels, meta, more_spec));
  }
  Reply MakeConfig(std::string name, std::string meta = "", std::string data = "{}") {
    return Post("/api/v1/namespaces/default/configmaps",
                fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"{}}},"data":{}}})", name,
                            meta, data));
  }

  SimTime& time() { return time_; }
  ApiServer& server() { return *server_; }
  void Destroy() { server_.reset(); }
  // Sets whether a request's tasks (deliveries, the garbage collector) run at once. Otherwise the test runs them.
  void set_run_due_tasks(bool run) { run_due_tasks_ = run; }

 private:
  SimTime time_;
  SimLoop loop_;
  SeededRandom random_{7};
  std::unique_ptr<ApiServer> server_;
  bool run_due_tasks_ = true;
};

}  // namespace basalt::kubesim
