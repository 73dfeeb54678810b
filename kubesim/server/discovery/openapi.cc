#include "kubesim/server/discovery/openapi.h"

#include <fmt/format.h>

#include <initializer_list>

namespace basalt::kubesim {
namespace {

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

// Returns a field of a message: its number, and a text or a nested message.
std::string Field(int number, std::string_view bytes) {
  std::string out;
  AppendVarint(out, static_cast<uint64_t>(number) << 3 | 2);
  AppendVarint(out, bytes.size());
  out += bytes;
  return out;
}

// Returns one of the messages of a name and a value: NamedPathItem, NamedAny.
std::string Named(std::string_view name, std::string_view value) { return Field(1, name) + Field(2, value); }

// Returns an Operation with the parameters and the extension that names the kind. JSON is valid YAML.
std::string Patch(const TypeInfo& type) {
  std::string operation;
  for (const std::string_view name : {"dryRun", "fieldValidation"}) {
    // The messages around it are ParametersItem, Parameter and NonBodyParameter.
    const std::string query = Field(2, "query") + Field(4, name) + Field(6, "string");
    operation += Field(8, Field(1, Field(2, Field(3, query))));
  }
  const std::string kind =
      fmt::format(R"({{"group":"{}","kind":"{}","version":"{}"}})", type.group, type.kind, type.version);
  return operation + Field(13, Named("x-kubernetes-group-version-kind", Field(2, kind)));
}

}  // namespace

std::string OpenApiDocument(const std::vector<TypeInfoPtr>& types) {
  std::string paths;
  for (const TypeInfoPtr& type : types) {
    const std::string path =
        fmt::format("{}/{}/{}{}/{{name}}", type->group.empty() ? "/api" : "/apis/" + type->group, type->version,
                    type->namespaced ? "namespaces/{namespace}/" : "", type->plural);
    paths += Field(2, Named(path, Field(8, Patch(*type))));
  }
  return Field(1, "2.0") + Field(2, Field(1, "Kubernetes") + Field(2, "v1.36.0")) + Field(8, paths);
}

}  // namespace basalt::kubesim
