#include "kubesim/server/read/list.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/target.h"
#include "kubesim/server/request/errors.h"
#include "kubesim/server/request/selectors.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kTooOldToken =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";

struct Plan {
  int64_t version = 0;  // The state to show.
  bool past = false;    // The state may differ from the current one.
  bool has_after = false;
  ObjectKey after;
  int64_t limit = 0;
};

absl::Status BadOption(std::string_view field, std::string_view why) {
  return Invalid({.group = "meta.k8s.io", .kind = "ListOptions"}, "",
                 {{"FieldValueForbidden", std::string(field), fmt::format("Forbidden: {}", why)}});
}

absl::StatusOr<Plan> MakePlan(const Core& core, const RequestInfo& info) {
  const http::Target& target = info.target;
  const std::string_view version_text = target.Query("resourceVersion");
  const std::string_view match = target.Query("resourceVersionMatch");
  const std::string_view token_text = target.Query("continue");
  const int64_t current = core.store.version();
  Plan plan;
  plan.version = current;
  BASALT_ASSIGN_OR_RETURN(plan.limit, QueryInt(target, "limit", 0));
  BASALT_RETURN_IF_ERROR(QueryInt(target, "timeoutSeconds", 0).status());
  if (target.HasQuery("sendInitialEvents")) {
    return BadOption("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (!match.empty()) {
    if (version_text.empty()) {
      return BadOption("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (!token_text.empty())
      return BadOption("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    if (match != "Exact" && match != "NotOlderThan") {
      return Invalid(
          {.group = "meta.k8s.io", .kind = "ListOptions"}, "",
          {{"FieldValueNotSupported", "resourceVersionMatch",
            fmt::format("Unsupported value: \"{}\": supported values: \"Exact\", \"NotOlderThan\", \"\"", match)}});
    }
    if (match == "Exact" && version_text == "0") {
      return BadOption("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
  }
  if (!token_text.empty()) {
    BASALT_ASSIGN_OR_RETURN(const ContinueToken token, DecodeContinue(token_text));
    if (!version_text.empty() && version_text != "0") {
      return BadRequest("specifying resource version is not allowed when using continue");
    }
    plan.has_after = true;
    plan.after = token.after;
    if (token.version < 0) return plan;
    plan.version = token.version;
    plan.past = token.version != current;
    if (token.version < core.store.Floor(info.type->Resource())) {
      return Expired(kTooOldToken, EncodeContinue({-1, token.after}));
    }
    return plan;
  }
  int64_t version = 0;
  if (const absl::Status read = ReadVersion(version_text, &version); !read.ok()) {
    return BadRequest(fmt::format("invalid resource version: {}", ToStd(read.message())));
  }
  if (version > current) return TooLargeResourceVersion(version, current);
  const bool exact = match == "Exact" || (match.empty() && version > 0 && plan.limit > 0);
  if (exact) {
    plan.version = version;
    plan.past = version != current;
    if (version < core.store.Floor(info.type->Resource())) {
      return Expired(fmt::format("The resourceVersion for the provided list is too old."));
    }
  }
  if (version_text == "0") plan.limit = 0;  // Such a list is served whole, as from the API server's cache.
  return plan;
}

}  // namespace

absl::StatusOr<ListResult> List(const Core& core, const RequestInfo& info) {
  BASALT_ASSIGN_OR_RETURN(const Selector selector, SelectorOf(info));
  BASALT_ASSIGN_OR_RETURN(const Plan plan, MakePlan(core, info));
  ListResult result;
  result.metadata.version = plan.version;
  const std::string resource = info.type->Resource();
  ObjectKey last;
  int64_t beyond = 0;
  const auto visit = [&](const ObjectKey& key, const RevisionPtr& revision) {
    if (!selector.Matches(revision->object())) return true;
    if (plan.limit > 0 && static_cast<int64_t>(result.items.size()) == plan.limit) {
      ++beyond;
      return selector.empty();  // The API server states the number of remaining objects only without a selector.
    }
    result.items.push_back(revision);
    last = key;
    return true;
  };
  const ObjectKey* after = plan.has_after ? &plan.after : nullptr;
  if (const std::string_view name = selector.fields.RequiredName();
      !plan.past && after == nullptr && !name.empty() && (!info.ns.empty() || !info.type->namespaced)) {
    const RevisionPtr one = core.store.Get(resource, info.Key(name));
    if (one != nullptr) visit(info.Key(name), one);
  } else if (!plan.past) {
    core.store.Visit(resource, info.ns, after, visit);
  } else if (!core.store.VisitAt(resource, info.ns, after, plan.version, visit)) {
    return Expired(kTooOldToken);
  }
  if (beyond > 0) {
    result.metadata.continue_token = EncodeContinue({plan.version, last});
    if (selector.empty()) result.metadata.remaining = beyond;
  }
  return result;
}

std::string EncodeContinue(const ContinueToken& token) {
  const std::string text = ToText(json::object{
      {"v", "meta.k8s.io/v1"}, {"rv", token.version}, {"ns", token.after.ns}, {"start", token.after.name}});
  return absl::WebSafeBase64Escape(text);
}

absl::StatusOr<ContinueToken> DecodeContinue(std::string_view text) {
  std::string plain;
  const auto bad = [](std::string_view why) {
    return BadRequest(fmt::format("invalid continue token: continue key is not valid: {}", why));
  };
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &plain)) return bad("illegal base64 data at input byte 0");
  const absl::StatusOr<json::value> parsed = ParseJson(plain);
  if (!parsed.ok()) return bad(ToStd(parsed.status().message()));
  const std::string_view version = FindString(*parsed, "v");
  if (version != "meta.k8s.io/v1") {
    return bad(fmt::format("server does not recognize this encoded version {}", version));
  }
  if (FindString(*parsed, "start").empty()) return bad("encoded start key empty (version meta.k8s.io/v1)");
  ContinueToken token;
  token.version = FindInt(*parsed, "rv", -1);
  token.after = {std::string(FindString(*parsed, "ns")), std::string(FindString(*parsed, "start"))};
  return token;
}

}  // namespace basalt::kubesim
