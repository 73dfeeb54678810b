#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/core/merge_keys.h"
#include "kubesim/schema/patch/patch.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }
std::string_view KeyOf(const json::key_value_pair& member) { return {member.key().data(), member.key().size()}; }

// Returns the content that a patch adds at a place without a value: without directives, nulls and items to delete.
json::value WithoutDirectives(const json::value& patch) {
  if (const json::object* object = patch.if_object()) {
    json::object out;
    for (const auto& member : *object) {
      if (StartsWith(KeyOf(member), "$") || member.value().is_null()) continue;
      out[member.key()] = WithoutDirectives(member.value());
    }
    return out;
  }
  if (const json::array* array = patch.if_array()) {
    json::array out;
    for (const json::value& item : *array) {
      if (!FindString(item, kDirective).empty()) continue;
      out.push_back(WithoutDirectives(item));
    }
    return out;
  }
  return patch;
}

class Merger {
 public:
  explicit Merger(std::string_view kind) : kind_(kind) {}

  // Merges `patch` into `target`. `name` is the name of the member that contains them.
  absl::Status MergeObject(json::object& target, const json::object& patch, std::string_view name) {
    if (const json::value* directive = patch.if_contains("$patch")) {
      const std::string_view word =
          directive->is_string() ? std::string_view(directive->get_string().data(), directive->get_string().size())
                                 : std::string_view();
      if (word == "replace") {
        target = WithoutDirectives(json::value(patch)).get_object();
        return absl::OkStatus();
      }
      if (word == "delete") {
        target.clear();
        return absl::OkStatus();
      }
      if (word != "merge") return Invalid(fmt::format("unknown directive $patch: {}", ToText(*directive)));
    }
    if (const json::value* retain = patch.if_contains("$retainKeys")) Retain(target, *retain);
    for (const auto& member : patch) {
      const std::string_view key = KeyOf(member);
      if (key == kDirective || key == kRetainKeys || StartsWith(key, kOrderPrefix)) continue;
      if (StartsWith(key, kDeletePrefix)) {
        DeletePrimitives(target, key.substr(kDeletePrefix.size()), member.value());
        continue;
      }
      BASALT_RETURN_IF_ERROR(MergeMember(target, key, member.value(), name));
    }
    for (const auto& member : patch) {
      const std::string_view key = KeyOf(member);
      if (StartsWith(key, kOrderPrefix)) Reorder(target, key.substr(kOrderPrefix.size()), member.value(), name);
    }
    return absl::OkStatus();
  }

 private:
  static void Retain(json::object& target, const json::value& retain) {
    const json::array* names = retain.if_array();
    if (names == nullptr) return;
    std::set<std::string> kept;
    for (const json::value& name : *names) {
      if (name.is_string()) kept.insert(std::string(name.get_string()));
    }
    std::vector<std::string> dropped;
    for (const auto& member : target) {
      if (!kept.contains(std::string(member.key()))) dropped.emplace_back(member.key());
    }
    for (const std::string& key : dropped) target.erase(key);
  }

  static void DeletePrimitives(json::object& target, std::string_view field, const json::value& values) {
    json::value* list = target.if_contains(field);
    if (list == nullptr || !list->is_array() || !values.is_array()) return;
    const json::array& gone = values.get_array();
    json::array kept;
    for (const json::value& item : list->get_array()) {
      if (std::find(gone.begin(), gone.end(), item) == gone.end()) kept.push_back(item);
    }
    *list = std::move(kept);
  }

  absl::Status MergeMember(json::object& target, std::string_view key, const json::value& patch,
                           std::string_view parent) {
    const json::string_view name(key.data(), key.size());
    if (patch.is_null()) {
      target.erase(name);
      return absl::OkStatus();
    }
    json::value* found = target.if_contains(name);
    if (patch.is_object()) {
      if (FindString(patch, kDirective) == "delete") {
        target.erase(name);
        return absl::OkStatus();
      }
      if (found == nullptr || !found->is_object()) {
        target[name] = WithoutDirectives(patch);
        return absl::OkStatus();
      }
      return MergeObject(found->get_object(), patch.get_object(), key);
    }
    if (patch.is_array()) {
      const MergeRule rule = StrategicRule(kind_, parent, key);
      if (rule.type == ListType::kAtomic || found == nullptr || !found->is_array()) {
        target[name] = WithoutDirectives(patch);
        return absl::OkStatus();
      }
      if (rule.type == ListType::kSet) {
        MergeSet(found->get_array(), patch.get_array());
      } else {
        BASALT_RETURN_IF_ERROR(MergeList(found->get_array(), patch.get_array(), rule.keys.front(), key));
      }
      // The items that the patch names get the order of the patch.
      Reorder(target, key, patch, parent);
      return absl::OkStatus();
    }
    target[name] = patch;
    return absl::OkStatus();
  }

  // Merges sets. New items come first, in the order of the patch.
  static void MergeSet(json::array& target, const json::array& patch) {
    json::array merged;
    for (const json::value& item : patch) {
      if (std::find(target.begin(), target.end(), item) == target.end()) merged.push_back(item);
    }
    for (json::value& item : target) merged.push_back(std::move(item));
    target = std::move(merged);
  }

  absl::Status MergeList(json::array& target, const json::array& patch, const std::string& key, std::string_view name) {
    const bool replace = std::any_of(patch.begin(), patch.end(), [&](const json::value& item) {
      return FindString(item, kDirective) == "replace" && Find(item, key) == nullptr;
    });
    if (replace) {
      target = WithoutDirectives(patch).get_array();
      return absl::OkStatus();
    }
    json::array added;
    for (const json::value& item : patch) {
      const json::value* id = Find(item, key);
      if (id == nullptr) {
        return Invalid(fmt::format("map: {} does not contain declared merge key: {}", ToText(item), key));
      }
      const auto same = [&](const json::value& other) {
        const json::value* other_id = Find(other, key);
        return other_id != nullptr && *other_id == *id;
      };
      const auto found = std::find_if(target.begin(), target.end(), same);
      if (FindString(item, kDirective) == "delete") {
        target.erase(std::remove_if(target.begin(), target.end(), same), target.end());
      } else if (found == target.end() || !found->is_object()) {
        added.push_back(WithoutDirectives(item));
      } else {
        BASALT_RETURN_IF_ERROR(MergeObject(found->get_object(), item.get_object(), name));
      }
    }
    // New items come first, in the order of the patch.
    for (json::value& item : target) added.push_back(std::move(item));
    target = std::move(added);
    return absl::OkStatus();
  }

  // Puts the items that `order` names into that order. Another item goes before a named one that stood behind it.
  void Reorder(json::object& target, std::string_view field, const json::value& order, std::string_view parent) {
    json::value* list = target.if_contains(field);
    if (list == nullptr || !list->is_array() || !order.is_array()) return;
    const MergeRule rule = StrategicRule(kind_, parent, field);
    if (rule.type == ListType::kAtomic) return;
    const auto id = [&](const json::value& item) -> const json::value* {
      return rule.type == ListType::kMap ? Find(item, rule.keys.front()) : &item;
    };
    const json::array& items = list->get_array();
    std::vector<size_t> named;
    for (const json::value& wanted : order.get_array()) {
      const json::value* wanted_id = id(wanted);
      for (size_t i = 0; wanted_id != nullptr && i < items.size(); ++i) {
        const json::value* item_id = id(items[i]);
        if (item_id != nullptr && *item_id == *wanted_id && std::find(named.begin(), named.end(), i) == named.end()) {
          named.push_back(i);
          break;
        }
      }
    }
    std::vector<size_t> others;
    for (size_t i = 0; i < items.size(); ++i) {
      if (std::find(named.begin(), named.end(), i) == named.end()) others.push_back(i);
    }
    json::array sorted;
    size_t next_named = 0;
    size_t next_other = 0;
    while (next_named < named.size() || next_other < others.size()) {
      const bool take_other =
          next_other < others.size() && (next_named == named.size() || others[next_other] < named[next_named]);
      sorted.push_back(items[take_other ? others[next_other++] : named[next_named++]]);
    }
    *list = std::move(sorted);
  }

  std::string_view kind_;
};

}  // namespace

absl::StatusOr<json::value> ApplyStrategicPatch(const json::value& target, const json::value& patch,
                                                std::string_view kind) {
  if (!patch.is_object()) return Invalid("a strategic merge patch must be an object");
  json::value result = target.is_object() ? target : json::value(json::object());
  BASALT_RETURN_IF_ERROR(Merger(kind).MergeObject(result.get_object(), patch.get_object(), ""));
  return result;
}

}  // namespace basalt::kubesim
