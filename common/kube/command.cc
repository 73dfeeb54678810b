#include "common/kube/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "common/base/slots.h"
#include "common/kube/names.h"

namespace basalt::kube {
namespace {

// Limits the bytes of the object's name, so that Kubernetes accepts the name of the Command.
constexpr size_t kMostOfName = 200;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

std::string CommandName(std::string_view object, std::string_view action, std::string_view facts) {
  std::string_view of = object.substr(0, kMostOfName);
  while (of.ends_with('.') || of.ends_with('-')) of.remove_suffix(1);
  // Use two hashes, since 32 bits alone collide too easily.
  return fmt::format("{}-{}-{:08x}{:08x}", of, Lower(action), Fnv1(facts), Fnv1(fmt::format("/{}", facts)));
}

json::object CommandObject(std::string_view ns, std::string_view name, std::string_view action, json::object target) {
  json::object metadata;
  metadata["name"] = std::string(name);
  metadata["namespace"] = std::string(ns);
  metadata["ownerReferences"] = json::array{target};
  json::object command;
  command["apiVersion"] = std::string(kCommandApiVersion);
  command["kind"] = "Command";
  command["metadata"] = std::move(metadata);
  command["action"] = std::string(action);
  command["target"] = std::move(target);
  return command;
}

json::object ControllerReference(std::string_view api_version, std::string_view kind, std::string_view name,
                                 std::string_view uid, bool blocks_deletion) {
  json::object reference{{"apiVersion", std::string(api_version)},
                         {"kind", std::string(kind)},
                         {"name", std::string(name)},
                         {"uid", std::string(uid)},
                         {"controller", true}};
  if (blocks_deletion) reference["blockOwnerDeletion"] = true;
  return reference;
}

}  // namespace basalt::kube
