#pragma once

// The state that the parts of the API server share: the loop, the store, the kinds; and the answer of a handled
// request. Everything is confined to one loop.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "kubesim/server/state/options.h"
#include "kubesim/server/state/registry.h"
#include "kubesim/server/state/store.h"
#include "kubesim/server/state/times.h"

namespace basalt::kubesim {

// Tasks and timers of one owner. None of them runs after this object has been destroyed.
class OwnedTasks {
 public:
  explicit OwnedTasks(Loop& loop) : loop_(loop), alive_(std::make_shared<char>()) {}
  void Post(Task task) { loop_.Post(Guarded(std::move(task))); }
  TimerId RunAfter(absl::Duration delay, Task task) { return loop_.RunAfter(delay, Guarded(std::move(task))); }
  void Cancel(TimerId id) { loop_.Cancel(id); }

 private:
  Task Guarded(Task task) {
    return [alive = std::weak_ptr<char>(alive_), task = std::move(task)]() mutable {
      if (!alive.expired()) task();
    };
  }
  Loop& loop_;
  std::shared_ptr<char> alive_;
};

struct Core {
  Core(Loop& its_loop, Random& its_random, ApiServerOptions its_options)
      : loop(its_loop),
        random(its_random),
        options(std::move(its_options)),
        store(options.event_log_size),
        tasks(its_loop) {}

  absl::Time Now() const { return loop.Now(); }
  std::string NowText() const { return Rfc3339(loop.Now()); }

  Loop& loop;
  Random& random;
  const ApiServerOptions options;
  Registry types;
  Store store;
  OwnedTasks tasks;
};

// The answer to a request. Either `revision` or `document` is set.
struct Answer {
  int code = 200;
  RevisionPtr revision;               // Sent in the representation that the client requests.
  json::value document;               // Sent as it is.
  std::vector<std::string> warnings;  // Texts of Warning headers.
};

inline std::string_view UidOf(const json::value& object) {
  const json::value* metadata = Find(object, "metadata");
  return metadata == nullptr ? std::string_view() : FindString(*metadata, "uid");
}

inline std::string_view MetaString(const json::value& object, std::string_view name) {
  const json::value* metadata = Find(object, "metadata");
  return metadata == nullptr ? std::string_view() : FindString(*metadata, name);
}

// Returns whether the metadata has this member, and it is not null.
inline bool HasMeta(const json::value& object, std::string_view name) {
  const json::value* found = FindPath(object, {"metadata", name});
  return found != nullptr && !found->is_null();
}

inline json::object& MetaOf(json::value& object) {
  json::value& metadata = object.as_object()["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  return metadata.get_object();
}

inline bool IsBeingDeleted(const json::value& object) { return HasMeta(object, "deletionTimestamp"); }

bool HasFinalizer(const json::value& object, std::string_view name);
bool HasAnyFinalizer(const json::value& object);
void AddFinalizer(json::value& object, std::string_view name);
void RemoveFinalizer(json::value& object, std::string_view name);

inline bool IsPod(const TypeInfo& type) { return type.group.empty() && type.plural == "pods"; }
inline bool IsNamespace(const TypeInfo& type) { return type.group.empty() && type.plural == "namespaces"; }
inline bool IsCrd(const TypeInfo& type) {
  return type.group == "apiextensions.k8s.io" && type.plural == "customresourcedefinitions";
}

inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";
inline constexpr std::string_view kCrdFinalizer = "customresourcecleanup.apiextensions.k8s.io";

}  // namespace basalt::kubesim
