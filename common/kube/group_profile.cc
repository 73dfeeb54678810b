#include "common/kube/group_profile.h"

#include <algorithm>

#include "common/kube/object_key.h"

namespace basalt::kube {
namespace {

constexpr std::string_view kRichSuffix = "/rich";
constexpr std::string_view kKaiSuffix = "/kai";

}  // namespace

std::string NamespaceKey(std::string_view ns, GroupProfile profile) {
  return std::string(ns) + (profile == GroupProfile::kRich ? "/" : "");
}

GroupProfile ProfileOf(std::string_view routing_key) {
  if (routing_key.find('/') == std::string_view::npos) return GroupProfile::kKai;
  return routing_key.ends_with('/') ? GroupProfile::kRich : GroupProfile::kCompat;
}

std::string_view NamespaceOf(std::string_view routing_key) { return routing_key.substr(0, routing_key.find('/')); }

std::string ShownGroupKey(std::string_view ns, std::string_view name, GroupProfile profile) {
  std::string key = ObjectKey(ns, name);
  if (profile == GroupProfile::kRich) key += kRichSuffix;
  if (profile == GroupProfile::kKai) key += kKaiSuffix;
  return key;
}

GroupProfile ProfileOfShown(std::string_view shown_key) {
  if (std::count(shown_key.begin(), shown_key.end(), '/') < 2) return GroupProfile::kCompat;
  return shown_key.ends_with(kKaiSuffix) ? GroupProfile::kKai : GroupProfile::kRich;
}

}  // namespace basalt::kube
