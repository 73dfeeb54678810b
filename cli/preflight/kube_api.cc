#include "cli/preflight/kube_api.h"

#include <fmt/format.h>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/http.h"
#include "common/http/target.h"

namespace basalt::cli {

std::string KubeAnswer::message() const {
  const std::string_view words = FindString(body, "message");
  return words.empty() ? fmt::format("the server answered {}", status) : std::string(words);
}

absl::Status ForEachItem(KubeApi& api, std::string_view path, std::string_view selector,
                         const std::function<void(const json::value&)>& visit, KubeAnswer& answer) {
  std::string next;
  do {
    std::string target = fmt::format("{}?limit=500", path);
    if (!selector.empty()) target += fmt::format("&{}", selector);
    if (!next.empty()) target += "&continue=" + http::Escape(next);
    BASALT_ASSIGN_OR_RETURN(answer, api.Get(std::move(target)));
    if (!answer.ok()) return absl::OkStatus();
    const json::value* items = Find(answer.body, "items");
    if (items != nullptr && items->is_array()) {
      for (const json::value& item : items->get_array()) visit(item);
    }
    next = TextAt(answer.body, {"metadata", "continue"});
  } while (!next.empty());
  return absl::OkStatus();
}

Finding Unreadable(std::string_view check, std::string_view what, const absl::Status& status,
                   const KubeAnswer& answer) {
  Finding finding{std::string(check), Result::kUnchecked, "", ""};
  if (!status.ok()) {
    finding.what = fmt::format("{} could not be read: {}", what, ToStd(status.message()));
    finding.cure = "try again";
  } else {
    finding.what = fmt::format("{} could not be read: {}", what, answer.message());
    finding.cure = answer.status == 403 ? "run the check as somebody who may read it, as a cluster's admin" : "";
  }
  return finding;
}

std::string NameOf(const json::value& object) {
  const std::string ns = TextAt(object, {"metadata", "namespace"});
  const std::string name = TextAt(object, {"metadata", "name"});
  return ns.empty() ? name : ns + "/" + name;
}

std::string TextAt(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* found = FindPath(object, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace basalt::cli
