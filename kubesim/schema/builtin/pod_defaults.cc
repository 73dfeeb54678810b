#include <algorithm>

#include "kubesim/schema/builtin/builtin.h"

namespace basalt::kubesim {
namespace {

void Set(json::object& object, json::string_view name, json::value value) { object.emplace(name, std::move(value)); }

json::object* ObjectIn(json::object& object, json::string_view name) {
  json::value* found = object.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

template <typename Function>
void EachIn(json::object& object, json::string_view name, Function function) {
  json::value* found = object.if_contains(name);
  json::array* list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr) return;
  for (json::value& item : *list) {
    if (json::object* member = item.if_object()) function(*member);
  }
}

bool IsLatest(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return false;
  const size_t slash = image.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const size_t colon = last.find(':');
  return colon == std::string_view::npos || last.substr(colon + 1) == "latest";
}

void DefaultProbe(json::object& container, json::string_view name) {
  json::object* probe = ObjectIn(container, name);
  if (probe == nullptr) return;
  Set(*probe, "timeoutSeconds", 1);
  Set(*probe, "periodSeconds", 10);
  Set(*probe, "successThreshold", 1);
  Set(*probe, "failureThreshold", 3);
  if (json::object* http = ObjectIn(*probe, "httpGet")) {
    Set(*http, "path", "/");
    Set(*http, "scheme", "HTTP");
  }
}

void AmountsAsText(json::object& resources, json::string_view list) {
  json::object* amounts = ObjectIn(resources, list);
  if (amounts == nullptr) return;
  for (json::key_value_pair& amount : *amounts) {
    if (amount.value().is_number()) amount.value() = json::value(ToText(amount.value()));
  }
}

void DefaultContainer(json::object& container) {
  const json::value value(container);
  Set(container, "imagePullPolicy", IsLatest(FindString(value, "image")) ? "Always" : "IfNotPresent");
  Set(container, "terminationMessagePath", "/dev/termination-log");
  Set(container, "terminationMessagePolicy", "File");
  Set(container, "resources", json::object());
  EachIn(container, "ports", [](json::object& port) { Set(port, "protocol", "TCP"); });
  EachIn(container, "env", [](json::object& variable) {
    json::object* source = ObjectIn(variable, "valueFrom");
    json::object* field = source == nullptr ? nullptr : ObjectIn(*source, "fieldRef");
    if (field != nullptr) Set(*field, "apiVersion", "v1");
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) DefaultProbe(container, probe);
  json::object* resources = ObjectIn(container, "resources");
  if (resources != nullptr) {
    for (const char* list : {"limits", "requests"}) AmountsAsText(*resources, list);
  }
  json::object* limits = resources == nullptr ? nullptr : ObjectIn(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  const json::object copy = *limits;
  if (ObjectIn(*resources, "requests") == nullptr) resources->insert_or_assign("requests", json::object());
  json::object* requests = ObjectIn(*resources, "requests");
  for (const auto& limit : copy) Set(*requests, limit.key(), limit.value());
}

void DefaultVolume(json::object& volume) {
  constexpr int kReadableMode = 0644;
  if (volume.size() == 1) Set(volume, "emptyDir", json::object());
  for (const char* kind : {"secret", "configMap", "projected", "downwardAPI"}) {
    if (json::object* source = ObjectIn(volume, kind)) Set(*source, "defaultMode", kReadableMode);
  }
  if (json::object* host_path = ObjectIn(volume, "hostPath")) Set(*host_path, "type", "");
}

}  // namespace

void DefaultPodSpec(json::object& spec) {
  Set(spec, "restartPolicy", "Always");
  Set(spec, "dnsPolicy", "ClusterFirst");
  Set(spec, "schedulerName", "default-scheduler");
  Set(spec, "terminationGracePeriodSeconds", 30);
  Set(spec, "securityContext", json::object());
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) EachIn(spec, list, DefaultContainer);
  EachIn(spec, "volumes", DefaultVolume);
  if (const json::value* account = spec.if_contains("serviceAccountName")) {
    const json::value copy = *account;
    Set(spec, "serviceAccount", copy);
  }
}

}  // namespace basalt::kubesim
