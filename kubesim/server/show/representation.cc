#include "kubesim/server/show/representation.h"

#include <fmt/format.h>

#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "kubesim/server/show/tables.h"

namespace basalt::kubesim {
namespace {

constexpr size_t kPiece = 256 << 10;

std::string_view Param(const std::vector<absl::string_view>& parts, std::string_view name) {
  for (const absl::string_view raw : parts) {
    const std::string_view part = ToStd(absl::StripAsciiWhitespace(raw));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
  }
  return {};
}

json::value Partial(const json::value& object, const Representation& how) {
  json::object out = {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/" + how.version}};
  const json::value* metadata = Find(object, "metadata");
  out["metadata"] = metadata == nullptr ? json::value(json::object()) : *metadata;
  return out;
}

// Returns the text of an object for a list. The items of lists of core kinds have no kind and apiVersion.
std::string_view WithoutType(const TypeInfo& type, std::string_view text, std::string& buffer) {
  if (!type.builtin) return text;
  const std::string prefix = fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", type.kind, type.ApiVersion());
  if (!text.starts_with(prefix)) return text;
  buffer.assign("{");
  buffer.append(text.substr(prefix.size()));
  return buffer;
}

bool StoredAs(const TypeInfo& type, const json::value& object) {
  return FindString(object, "apiVersion") == type.ApiVersion();
}

json::object ListMeta(const ListMetadata& metadata, bool always_continue) {
  json::object out = {{"resourceVersion", std::to_string(metadata.version)}};
  if (!metadata.continue_token.empty() || always_continue) out["continue"] = metadata.continue_token;
  if (!metadata.continue_token.empty() && metadata.remaining >= 0) out["remainingItemCount"] = metadata.remaining;
  return out;
}

}  // namespace

bool ChooseRepresentation(std::string_view accept, Representation* out) {
  *out = Representation();
  if (accept.empty()) return true;
  for (const absl::string_view range : absl::StrSplit(ToAbsl(accept), ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(range, ';');
    const std::string_view media = ToStd(absl::StripAsciiWhitespace(parts.front()));
    if (media != "application/json" && media != "*/*") continue;
    const std::string_view as = Param(parts, "as");
    const std::string_view version = Param(parts, "v");
    if (as.empty()) return true;
    if (Param(parts, "g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) continue;
    out->version = version;
    if (as == "Table") {
      out->view = View::kTable;
      return true;
    }
    if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
      out->view = View::kPartial;
      out->partial_list = as == "PartialObjectMetadataList";
      return true;
    }
  }
  return false;
}

json::value AsVersion(const TypeInfo& type, const json::value& object) {
  json::value copy = object;
  if (!StoredAs(type, object)) copy.as_object()["apiVersion"] = type.ApiVersion();
  return copy;
}

std::string EncodeUnstored(const TypeInfo& type, const json::value& object, const Representation& how, absl::Time now) {
  switch (how.view) {
    case View::kPartial:
      return ToText(Partial(object, how));
    case View::kTable: {
      const int64_t version = 0;
      return ToText(TableOf(type, {&object}, {.version = version}, how, true, now));
    }
    case View::kObject:
      break;
  }
  return StoredAs(type, object) ? ToText(object) : ToText(AsVersion(type, object));
}

std::string EncodeObject(const TypeInfo& type, const RevisionPtr& revision, const Representation& how, absl::Time now) {
  const json::value& object = revision->object();
  switch (how.view) {
    case View::kPartial:
      return ToText(Partial(object, how));
    case View::kTable:
      return ToText(TableOf(type, {&object}, {.version = revision->version()}, how, true, now));
    case View::kObject:
      break;
  }
  return StoredAs(type, object) ? revision->Text() : ToText(AsVersion(type, object));
}

void EncodeList(const TypeInfo& type, const std::vector<RevisionPtr>& items, const ListMetadata& metadata,
                const Representation& how, absl::Time now, const std::function<void(std::string_view)>& out) {
  if (how.view == View::kTable) {
    std::vector<const json::value*> objects;
    objects.reserve(items.size());
    for (const RevisionPtr& item : items) objects.push_back(&item->object());
    out(ToText(TableOf(type, objects, metadata, how, true, now)));
    return;
  }
  const bool partial = how.view == View::kPartial;
  std::string text = fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                                 partial ? "PartialObjectMetadataList" : type.list_kind,
                                 partial ? "meta.k8s.io/" + how.version : type.ApiVersion(),
                                 ToText(ListMeta(metadata, !type.builtin && !partial)));
  std::string buffer;
  bool first = true;
  for (const RevisionPtr& item : items) {
    if (!first) text += ',';
    first = false;
    const std::string own = EncodeObject(type, item, how, now);
    text += partial ? std::string_view(own) : WithoutType(type, own, buffer);
    if (text.size() >= kPiece) {
      out(text);
      text.clear();
    }
  }
  text += "]}";
  out(text);
}

void AppendEvent(std::string& out, std::string_view event, const TypeInfo& type, const RevisionPtr& revision,
                 const Representation& how, bool first, absl::Time now) {
  const json::value& object = revision->object();
  out += "{\"type\":\"";
  out += event;
  out += "\",\"object\":";
  if (how.view == View::kObject && StoredAs(type, object)) {
    out += revision->Text();
  } else if (how.view == View::kTable) {
    out += ToText(TableOf(type, {&object}, {.version = revision->version()}, how, first, now));
  } else {
    out += EncodeObject(type, revision, how, now);
  }
  out += "}\n";
}

void AppendBookmark(std::string& out, const TypeInfo& type, int64_t version, bool initial_end,
                    const Representation& how) {
  json::object metadata = {{"resourceVersion", std::to_string(version)}};
  if (initial_end) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  json::object object;
  switch (how.view) {
    case View::kObject:
      object = {{"kind", type.kind}, {"apiVersion", type.ApiVersion()}, {"metadata", std::move(metadata)}};
      break;
    case View::kPartial:
      object = {{"kind", "PartialObjectMetadata"},
                {"apiVersion", "meta.k8s.io/" + how.version},
                {"metadata", std::move(metadata)}};
      break;
    case View::kTable: {
      json::object row = {{"cells", json::array()},
                          {"object", json::object{{"kind", "PartialObjectMetadata"},
                                                  {"apiVersion", "meta.k8s.io/" + how.version},
                                                  {"metadata", metadata}}}};
      object = {{"kind", "Table"},
                {"apiVersion", "meta.k8s.io/" + how.version},
                {"metadata", json::object{{"resourceVersion", std::to_string(version)}}},
                {"columnDefinitions", nullptr},
                {"rows", json::array{std::move(row)}}};
      break;
    }
  }
  out += ToText(json::object{{"type", "BOOKMARK"}, {"object", std::move(object)}});
  out += '\n';
}

void AppendErrorEvent(std::string& out, const json::value& status) {
  out += ToText(json::object{{"type", "ERROR"}, {"object", status}});
  out += '\n';
}

}  // namespace basalt::kubesim
