#pragma once

// The objects that plugins have made for one job, in the form that the status keeps (ControlledState::objects):
// "<plural>/<name>" -> "<hash> <uid>". The text is empty if the object may or may not exist: a process that died may
// have made it. Pure.
#include <map>
#include <string>
#include <string_view>

#include "common/kube/kinds.h"
#include "services/jobsvc/core/spec/compiled_job.h"

namespace basalt::jobsvc {

class MadeObjects {
 public:
  using Map = std::map<std::string, std::string>;

  // Returns the kind of that plural, among those that plugins make, even if the present spec does not name it any more.
  static kube::Kind KindOf(std::string_view plural);

  const Map& all() const { return objects_; }
  bool empty() const { return objects_.empty(); }
  // Adds the objects. Those that were expected before stay.
  void Load(const Map& objects) {
    for (const auto& [key, remembered] : objects) objects_.insert_or_assign(key, remembered);
  }
  // The object is there, with the content that has that hash.
  void Remember(const std::string& key, std::string_view hash, std::string_view uid);
  // The object may be there from here on.
  void Expect(const std::string& key) { objects_.try_emplace(key); }
  // It is not known any more whether the object is there.
  void Doubt(const std::string& key) { objects_[key].clear(); }
  void DoubtAll();
  void Erase(const std::string& key) { objects_.erase(key); }

  // True if the object is known to be there.
  bool Has(const std::string& key) const;
  // True if the object is there, and a plugin that keeps it up to date would not change it under the present spec.
  bool IsCurrent(const WantedObject& object) const;
  // True if the object is there, and a plugin wants it changed.
  bool IsOutdated(const WantedObject& object) const;
  // Empty if the UID is not known.
  std::string UidOf(const std::string& key) const;

 private:
  std::string_view HashOf(const std::string& key) const;

  Map objects_;
};

}  // namespace basalt::jobsvc
