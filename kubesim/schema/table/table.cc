#include "kubesim/schema/table/table.h"

#include <fmt/format.h>

#include "common/base/status.h"
#include "kubesim/schema/table/cell_values.h"
#include "kubesim/schema/table/table_cells.h"

namespace basalt::kubesim {
namespace {

// Returns the value at a path of members such as ".status.phase". Null if there is none, and for any other JSONPath.
const json::value* AtPath(const json::value& object, std::string_view path) {
  const json::value* at = path.starts_with('.') ? &object : nullptr;
  while (at != nullptr && !path.empty()) {
    path.remove_prefix(1);
    const std::string_view member = path.substr(0, path.find('.'));
    at = Find(*at, member);
    path.remove_prefix(member.size());
  }
  return at;
}

json::value CustomCell(const PrinterColumn& column, const json::value& found, absl::Time now) {
  if (column.type == "string") return found.is_string() ? found : json::value(ToText(found));
  if (column.type == "date") {
    if (!found.is_string()) return nullptr;
    return AgeCell(&found, now);
  }
  if (column.type == "boolean") return found.is_bool() ? found : json::value(nullptr);
  if (!found.is_number()) return nullptr;
  if (column.type == "integer")
    return found.to_number<double>() < 9e18 ? json::value(static_cast<int64_t>(found.to_number<double>())) : found;
  return found;
}

json::object Definition(json::string_view name, json::string_view type, json::string_view format,
                        json::string_view description, int priority) {
  return {{"name", name}, {"type", type}, {"format", format}, {"description", description}, {"priority", priority}};
}

json::value RowObject(const json::value& object, std::string_view include_object) {
  if (include_object == "Object") return object;
  const json::value* metadata = Find(object, "metadata");
  return json::object{{"kind", "PartialObjectMetadata"},
                      {"apiVersion", "meta.k8s.io/v1"},
                      {"metadata", metadata == nullptr ? json::value(json::object()) : *metadata}};
}

}  // namespace

std::string HumanDuration(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const int64_t minutes = seconds / 60;
  const auto pair = [](int64_t a, char unit, int64_t b, char small) {
    return b == 0 ? fmt::format("{}{}", a, unit) : fmt::format("{}{}{}{}", a, unit, b, small);
  };
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  const int64_t hours = minutes / 60;
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  const int64_t days = hours / 24;
  if (hours < 192) return pair(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return fmt::format("{}d", days);
  if (days < 365 * 8) return pair(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

json::value MakeTable(const TypeInfo& type, const std::vector<const json::value*>& objects, absl::Time now,
                      std::string_view include_object, const json::value& list_metadata) {
  json::array definitions;
  static const std::vector<CoreColumn>& no_columns = *new std::vector<CoreColumn>();
  const std::vector<CoreColumn>& core = type.builtin ? CoreColumns(type.kind) : no_columns;
  for (const CoreColumn& column : core) {
    const bool is_name = std::string_view(column.name) == "Name";
    definitions.push_back(Definition(column.name, column.type, is_name ? "name" : "", "", column.priority));
  }
  if (!type.builtin) {
    definitions.push_back(Definition("Name", "string", "name", "Name must be unique within a namespace.", 0));
    for (const PrinterColumn& column : type.columns) {
      definitions.push_back(Definition(column.name, column.type, column.format, column.description, column.priority));
    }
  }
  json::array rows;
  rows.reserve(objects.size());
  for (const json::value* object : objects) {
    json::array cells;
    for (const CoreColumn& column : core) cells.push_back(column.cell(*object, now));
    if (!type.builtin) {
      const json::value* name = FindPath(*object, {"metadata", "name"});
      cells.push_back(name == nullptr ? json::value("") : *name);
      for (const PrinterColumn& column : type.columns) {
        const json::value* found = AtPath(*object, column.json_path);
        cells.push_back(found == nullptr ? json::value(nullptr) : CustomCell(column, *found, now));
      }
    }
    json::object row{{"cells", std::move(cells)}};
    if (include_object != "None") row["object"] = RowObject(*object, include_object);
    rows.push_back(std::move(row));
  }
  return json::object{{"kind", "Table"},
                      {"apiVersion", "meta.k8s.io/v1"},
                      {"metadata", list_metadata.is_object() ? list_metadata : json::value(json::object())},
                      {"columnDefinitions", std::move(definitions)},
                      {"rows", std::move(rows)}};
}

}  // namespace basalt::kubesim
