#pragma once

// What is remembered of the objects that plugins have made of one job, in the form that the status keeps
// (ControlledState::objects): "<plural>/<name>" -> "<hash> <uid>", or an empty text where the object may exist and
// nobody knows: a process that died may have made it. Pure.
#include <map>
#include <string>
#include <string_view>

#include "common/kube/kinds.h"
#include "services/jobsvc/core/compiled_job.h"

namespace basalt::jobsvc {

class MadeObjects {
 public:
  using Map = std::map<std::string, std::string>;

  // The kind of that plural, of those that plugins make; also where the present spec does not name it any more.
  static kube::Kind KindOf(std::string_view plural);

  const Map& all() const { return objects_; }
  bool empty() const { return objects_.empty(); }
  // Those that were expected before stay.
  void Load(const Map& objects) {
    for (const auto& [key, remembered] : objects) objects_.insert_or_assign(key, remembered);
  }
  // It is there, with that of which the hash is.
  void Remember(const std::string& key, std::string_view hash, std::string_view uid);
  // It may be there from here on.
  void Expect(const std::string& key) { objects_.try_emplace(key); }
  // Whether it is there is not known any more.
  void Doubt(const std::string& key) { objects_[key].clear(); }
  void DoubtAll();
  void Erase(const std::string& key) { objects_.erase(key); }

  // It is known to be there.
  bool Has(const std::string& key) const;
  // It is there, and what a plugin keeps up to date in it is that of the present spec.
  bool IsCurrent(const WantedObject& object) const;
  // It is there, and a plugin wants it changed.
  bool IsOutdated(const WantedObject& object) const;
  // Empty: nobody knows.
  std::string UidOf(const std::string& key) const;

 private:
  std::string_view HashOf(const std::string& key) const;

  Map objects_;
};

}  // namespace basalt::jobsvc
