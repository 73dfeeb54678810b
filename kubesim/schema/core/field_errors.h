#pragma once

// Short functions that add errors about a field. Used by the validation of core kinds.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

void AddInvalid(std::vector<FieldError>* errors, std::string field, std::string_view value, std::string_view rule);
void AddInvalidJson(std::vector<FieldError>* errors, std::string field, const json::value& value,
                    std::string_view rule);
void AddRequired(std::vector<FieldError>* errors, std::string field, std::string_view detail);
void AddForbidden(std::vector<FieldError>* errors, std::string field, std::string_view detail);
void AddDuplicate(std::vector<FieldError>* errors, std::string field, std::string_view value);
void AddNotFound(std::vector<FieldError>* errors, std::string field, std::string_view value);
void AddUnsupported(std::vector<FieldError>* errors, std::string field, std::string_view value,
                    const std::vector<std::string_view>& supported);
void AddType(std::vector<FieldError>* errors, std::string field, std::string_view wanted, const json::value& value);

// Returns INVALID_ARGUMENT with the message "field: what".
absl::Status InvalidField(std::string_view field, std::string_view what);

// Checks the keys and values of a map of labels, also of templates and selectors.
void CheckLabels(const json::value* labels, const std::string& field, std::vector<FieldError>* errors);

}  // namespace basalt::kubesim
