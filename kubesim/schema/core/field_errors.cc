#include "kubesim/schema/core/field_errors.h"

#include <fmt/format.h>

#include "common/base/status.h"
#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

std::string Quoted(std::string_view text) { return ToText(json::value(text)); }

}  // namespace

absl::Status InvalidField(std::string_view field, std::string_view what) {
  return Invalid(fmt::format("{}: {}", field, what));
}

void AddInvalid(std::vector<FieldError>* errors, std::string field, std::string_view value, std::string_view rule) {
  errors->push_back({"FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", Quoted(value), rule)});
}

void AddInvalidJson(std::vector<FieldError>* errors, std::string field, const json::value& value,
                    std::string_view rule) {
  errors->push_back({"FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", ToText(value), rule)});
}

void AddRequired(std::vector<FieldError>* errors, std::string field, std::string_view detail) {
  errors->push_back({"FieldValueRequired", std::move(field),
                     detail.empty() ? "Required value" : fmt::format("Required value: {}", detail)});
}

void AddForbidden(std::vector<FieldError>* errors, std::string field, std::string_view detail) {
  errors->push_back({"FieldValueForbidden", std::move(field), fmt::format("Forbidden: {}", detail)});
}

void AddDuplicate(std::vector<FieldError>* errors, std::string field, std::string_view value) {
  errors->push_back({"FieldValueDuplicate", std::move(field), fmt::format("Duplicate value: {}", Quoted(value))});
}

void AddNotFound(std::vector<FieldError>* errors, std::string field, std::string_view value) {
  errors->push_back({"FieldValueNotFound", std::move(field), fmt::format("Not found: {}", Quoted(value))});
}

void AddUnsupported(std::vector<FieldError>* errors, std::string field, std::string_view value,
                    const std::vector<std::string_view>& supported) {
  std::string names;
  for (const std::string_view name : supported) names += (names.empty() ? "" : ", ") + Quoted(name);
  errors->push_back({"FieldValueNotSupported", std::move(field),
                     fmt::format("Unsupported value: {}: supported values: {}", Quoted(value), names)});
}

void AddType(std::vector<FieldError>* errors, std::string field, std::string_view wanted, const json::value& value) {
  // The API server's decoder of typed objects reports every number as "number".
  const std::string_view kind = value.is_number() ? "number" : KindOf(value);
  std::string message =
      fmt::format("Invalid value: \"{0}\": {1} in body must be of type {2}: \"{0}\"", kind, field, wanted);
  errors->push_back({"FieldValueTypeInvalid", std::move(field), std::move(message)});
}

}  // namespace basalt::kubesim
