#pragma once

// A scripted Kubernetes, for tests of what asks it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gateway/kube/kube_access.h"

namespace basalt::gateway::testing {

class FakeKubeAccess : public KubeAccess {
  // An entry under `key` in `all` until the end of this object.
  template <typename Base, typename Callback>
  class Kept : public Base {
   public:
    Kept(std::map<std::string, Callback>& all, std::string key) : all_(all), key_(std::move(key)) {}
    ~Kept() override { all_.erase(key_); }

   private:
    std::map<std::string, Callback>& all_;
    const std::string key_;
  };
  class KeptKind : public Kept<KindWatch, KindListener*> {
   public:
    KeptKind(FakeKubeAccess& kube, const std::string& key) : Kept(kube.watched_kinds, key), kube_(kube) {}
    void Read(const std::string& ns, const std::string& name, rpc::Done<ReadObject> done) override {
      kube_.kind_reads.emplace_back(fmt::format("{}/{}", ns, name), std::move(done));
    }

   private:
    FakeKubeAccess& kube_;
  };

 public:
  void Write(v1::WriteRequest request, const std::string&, rpc::Done<v1::WriteResponse> done) override {
    writes.emplace_back(std::move(request), std::move(done));
  }
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override {
    gets.emplace_back(std::move(request), std::move(done));
  }
  std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns, const std::string& name,
                                     ObjectSeen seen) override {
    const std::string key = fmt::format("{}/{} {}/{}", resource.version(), resource.plural(), ns, name);
    EXPECT_TRUE(watched.emplace(key, std::move(seen)).second) << key << " is watched already";
    return std::make_unique<Kept<ObjectWatch, ObjectSeen>>(watched, key);
  }
  std::unique_ptr<KindSearch> FindKind(const WantedKind& wanted, bool absent, KindFound found) override {
    const std::string name = wanted.plural.empty() ? wanted.version + "/" + wanted.kind : wanted.plural;
    const std::string key =
        fmt::format("{}{}{}{}", name, wanted.group.empty() ? "" : ".", wanted.group, absent ? " again" : "");
    EXPECT_TRUE(searched.emplace(key, std::move(found)).second) << key << " is looked for already";
    return std::make_unique<Kept<KindSearch, KindFound>>(searched, key);
  }
  std::unique_ptr<KindWatch> WatchKind(const v1::Resource& resource, KindListener& listener) override {
    const std::string key = fmt::format("{}/{}", resource.version(), resource.plural());
    EXPECT_TRUE(watched_kinds.emplace(key, &listener).second) << key << " is watched already";
    return std::make_unique<KeptKind>(*this, key);
  }
  void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) override {
    for (const auto& [request, done] : writes) stale += is_stale(request.owner()) ? 1 : 0;
  }
  absl::Time ApiNow() override { return absl::FromUnixSeconds(77); }
  int64_t ApiTimeMs() override { return 77'000; }

  void Answer(absl::StatusOr<v1::WriteResponse> answer) {
    auto done = std::move(writes.front().second);
    writes.pop_front();
    done(std::move(answer));
  }

  std::deque<std::pair<v1::WriteRequest, rpc::Done<v1::WriteResponse>>> writes;
  std::deque<std::pair<v1::GetRequest, rpc::Done<v1::GetResponse>>> gets;
  std::map<std::string, ObjectSeen> watched;                             // By "version/plural namespace/name".
  std::map<std::string, KindListener*> watched_kinds;                    // By "version/plural".
  std::deque<std::pair<std::string, rpc::Done<ReadObject>>> kind_reads;  // By "namespace/name".
  // By "plural.group" or "version/Kind.group", with " again" behind it if the kind is known to be absent.
  std::map<std::string, KindFound> searched;
  int stale = 0;
};

}  // namespace basalt::gateway::testing
