#pragma once

// A ClusterView over a list of objects: for rules that are tried on objects which need not be in any cluster. Pure.
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/karta/karta_set.h"
#include "services/pgsvc/core/grouping/owner_walk.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

class ObjectSet final : public ClusterView {
 public:
  // `has_kai_classes`: the PriorityClasses exist that KAI installs.
  explicit ObjectSet(bool has_kai_classes = true) : has_kai_classes_(has_kai_classes) {}
  // Views point into the objects, which do not move when the set is moved.
  ObjectSet(const ObjectSet&) = delete;
  ObjectSet& operator=(const ObjectSet&) = delete;
  ObjectSet(ObjectSet&&) = default;
  ObjectSet& operator=(ObjectSet&&) = default;

  // INVALID_ARGUMENT names what is missing (apiVersion, kind or metadata.name), or that the object was added before.
  absl::Status Add(json::value object);
  // Called once all objects are added. An object without a UID gets the one by which another object names it as its
  // owner, or else one made from its kind and name. A reference without a UID gets that of its object.
  void CompleteUids();

  // The pods in the order in which they were added.
  const std::vector<ObjectView>& pods() const { return pods_; }
  // All objects, pods included, in the same order.
  std::vector<ObjectView> objects() const { return {objects_.begin(), objects_.end()}; }
  // See OwnersOf in owner_walk.h.
  absl::StatusOr<std::vector<ObjectView>> OwnersOf(ObjectView pod) const;

  bool HasPriorityClass(std::string_view name) const override;
  // Finds the object in whichever version it has.
  ObjectView Find(std::string_view api_version, std::string_view kind, std::string_view ns,
                  std::string_view name) const override;
  KartaChoice KartaFor(ObjectView top) const override { return kartas_.For(top); }
  std::vector<ObjectView> GroupsOwnedBy(std::string_view ns, std::string_view uid) const override;
  std::vector<ObjectView> PodsWithLabels(std::string_view ns, const Labels& labels) const override;

 private:
  // Returns the object that a reference in that namespace names; null if there is none.
  json::value* TargetOf(std::string_view api_version, std::string_view kind, std::string_view name,
                        std::string_view ns) const;

  using Key = std::tuple<std::string, std::string, std::string, std::string>;  // Group, kind, namespace, name.

  bool has_kai_classes_;
  std::deque<json::value> objects_;
  std::map<Key, json::value*> by_name_;
  std::vector<ObjectView> pods_;
  KartaSet kartas_;
};

}  // namespace basalt::pgsvc
