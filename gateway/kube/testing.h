#pragma once

// For tests of this folder: an http::Client whose answers the test gives by hand, piece by piece, and texts of such
// answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/http.h"
#include "common/http/target.h"

namespace basalt::gateway {

// ---- an API server's texts about pods in the namespace n ----

inline std::string Item(std::string_view name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"n","uid":"u-{}","resourceVersion":"{}"}}}})", name,
                     name, version);
}
inline std::string Line(std::string_view type, std::string_view name, int version) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, Item(name, version));
}
inline std::string Bookmark(int version, bool end = false) {
  return fmt::format(R"({{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{}"{}}}}}}})", version,
                     end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") +
         "\n";
}
inline std::string Page(int version, const std::vector<std::string>& items, std::string_view next = "") {
  std::string text = fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[)", version, next);
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
  return text + "]}";
}
inline std::string Refusal(int code, std::string_view reason) {
  return fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"no: {}"}})", code, reason, reason);
}

class ScriptedClient : public http::Client {
 public:
  // One request and its answer.
  class Exchange {
   public:
    Exchange(http::Request request, http::ResponseObserver& observer)
        : request_(std::move(request)), observer_(&observer) {}

    const http::Request& request() const { return request_; }
    std::string Query(std::string_view name) const {
      return std::string(http::ParseTarget(request_.target).Query(name));
    }
    // False once the exchange has ended or was cancelled.
    bool open() const { return observer_ != nullptr; }

    void Head(int status, http::Headers headers = {}) {
      ASSERT_TRUE(open()) << request_.target;
      observer_->OnHead({status, std::move(headers)});
    }
    void Chunk(std::string_view data) {
      if (open()) observer_->OnChunk(data);
    }
    void End(const absl::Status& status = absl::OkStatus()) {
      ASSERT_TRUE(open()) << request_.target;
      std::exchange(observer_, nullptr)->OnEnd(status);
    }
    void Answer(int status, std::string_view body, http::Headers headers = {}) {
      Head(status, std::move(headers));
      Chunk(body);
      End();
    }
    void Cancel() { observer_ = nullptr; }

   private:
    http::Request request_;
    http::ResponseObserver* observer_;
  };

  std::unique_ptr<http::Call> Start(http::Request request, http::ResponseObserver& observer) override {
    exchanges_.push_back(std::make_shared<Exchange>(std::move(request), observer));
    return std::make_unique<ScriptedCall>(exchanges_.back());
  }

  size_t started() const { return exchanges_.size(); }
  Exchange& at(size_t index) { return *exchanges_.at(index); }
  Exchange& last() { return *exchanges_.back(); }
  size_t open() const {
    size_t count = 0;
    for (const auto& exchange : exchanges_) count += exchange->open() ? 1 : 0;
    return count;
  }

 private:
  class ScriptedCall : public http::Call {
   public:
    explicit ScriptedCall(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    ~ScriptedCall() override { exchange_->Cancel(); }

   private:
    std::shared_ptr<Exchange> exchange_;
  };

  std::vector<std::shared_ptr<Exchange>> exchanges_;
};

}  // namespace basalt::gateway
