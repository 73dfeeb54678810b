#pragma once

// The memory of the API server: the newest revision of every object, and per resource a limited log of changes, which
// serves watches and lists of past states. One counter numbers all changes. Not thread-safe: one loop.
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::kubesim {

struct ObjectKey {
  std::string ns;  // Empty for cluster-scoped objects.
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};

// One immutable state of one object. `object` has its resourceVersion already.
class Revision {
 public:
  Revision(json::value object, int64_t version) : object_(std::move(object)), version_(version) {}
  const json::value& object() const { return object_; }
  int64_t version() const { return version_; }
  // Returns the object as text. The text is encoded on first use, and shared by all lists and watches.
  const std::string& Text() const;

 private:
  const json::value object_;
  const int64_t version_;
  mutable std::string text_;
};
using RevisionPtr = std::shared_ptr<const Revision>;

struct Change {
  int64_t version = 0;
  ObjectKey key;
  RevisionPtr before;  // Null if the object was created.
  RevisionPtr after;   // Null if the object was deleted.
  // Returns the last state with the change's own resourceVersion, as a DELETED event has it. Made on first use.
  const RevisionPtr& Tombstone() const;

 private:
  mutable RevisionPtr tombstone_;
};

class Store {
 public:
  using Listener = std::function<void(const std::string& resource, const Change& change)>;
  // A visitor returns false to end the visit.
  using Visitor = std::function<bool(const ObjectKey& key, const RevisionPtr& revision)>;

  explicit Store(size_t log_limit) : log_limit_(log_limit) {}

  // Adds a listener, which is called in every change. Listeners run in the order of registration and must not write.
  void AddListener(Listener listener) { listeners_.push_back(std::move(listener)); }

  int64_t version() const { return version_; }
  RevisionPtr Get(std::string_view resource, const ObjectKey& key) const;
  size_t Count(std::string_view resource) const;
  bool HasAnyIn(std::string_view resource, std::string_view ns) const;

  // Stores an object and sets its metadata.resourceVersion. Requires: `object` has a metadata object.
  RevisionPtr Put(const std::string& resource, const ObjectKey& key, json::value object);
  // Rewrites the stored form of every object of the resource by `reading`, without a new resourceVersion and without an
  // event.
  void Reread(std::string_view resource, const std::function<void(json::value&)>& reading);
  // Deletes an object and returns the change. Requires: the object exists.
  const Change& Delete(const std::string& resource, const ObjectKey& key);

  // Visits in key order the objects of `ns`, or of all namespaces if it is empty. Begins behind `after`, or at the
  // start if it is null.
  void Visit(std::string_view resource, std::string_view ns, const ObjectKey* after, const Visitor& visit) const;
  // Visits the objects in their state at `version`. Returns false if that state is forgotten. The cost is the number of
  // changes since then, plus the visit.
  bool VisitAt(std::string_view resource, std::string_view ns, const ObjectKey* after, int64_t version,
               const Visitor& visit) const;

  // Returns the version up to which changes are forgotten.
  int64_t Floor(std::string_view resource) const;
  // Returns the first change after `version`. Null if there is none. Requires: version >= Floor(resource). The pointer
  // lives until the next change or Compact().
  const Change* Next(std::string_view resource, int64_t version) const;

  // Forgets all changes so far: requests with older resourceVersions are then answered 410.
  void Compact();

 private:
  struct Bucket {
    std::map<ObjectKey, RevisionPtr> objects;
    std::deque<Change> log;
    int64_t floor = 0;
  };
  const Bucket* FindBucket(std::string_view resource) const;
  const Change& Append(const std::string& resource, Bucket& bucket, Change change);

  const size_t log_limit_;
  int64_t version_ = 1;
  int64_t compacted_ = 0;
  std::map<std::string, Bucket, std::less<>> buckets_;
  std::vector<Listener> listeners_;
};

// Sets metadata.resourceVersion.
void StampVersion(json::value& object, int64_t version);

}  // namespace basalt::kubesim
