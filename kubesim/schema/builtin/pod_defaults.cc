#include <algorithm>

#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

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
  json::object* probe = FindObject(container, name);
  if (probe == nullptr) return;
  AddMissing(*probe, "timeoutSeconds", 1);
  AddMissing(*probe, "periodSeconds", 10);
  AddMissing(*probe, "successThreshold", 1);
  AddMissing(*probe, "failureThreshold", 3);
  if (json::object* http = FindObject(*probe, "httpGet")) {
    AddMissing(*http, "path", "/");
    AddMissing(*http, "scheme", "HTTP");
  }
}

void AmountsAsText(json::object& resources, json::string_view list) {
  json::object* amounts = FindObject(resources, list);
  if (amounts == nullptr) return;
  for (json::key_value_pair& amount : *amounts) {
    if (amount.value().is_number()) amount.value() = json::value(ToText(amount.value()));
  }
}

void DefaultContainer(json::object& container) {
  const json::value value(container);
  AddMissing(container, "imagePullPolicy", IsLatest(FindString(value, "image")) ? "Always" : "IfNotPresent");
  AddMissing(container, "terminationMessagePath", "/dev/termination-log");
  AddMissing(container, "terminationMessagePolicy", "File");
  AddMissing(container, "resources", json::object());
  EachIn(container, "ports", [](json::object& port) { AddMissing(port, "protocol", "TCP"); });
  EachIn(container, "env", [](json::object& variable) {
    json::object* source = FindObject(variable, "valueFrom");
    json::object* field = source == nullptr ? nullptr : FindObject(*source, "fieldRef");
    if (field != nullptr) AddMissing(*field, "apiVersion", "v1");
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) DefaultProbe(container, probe);
  json::object* resources = FindObject(container, "resources");
  if (resources != nullptr) {
    for (const char* list : {"limits", "requests"}) AmountsAsText(*resources, list);
  }
  json::object* limits = resources == nullptr ? nullptr : FindObject(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  const json::object copy = *limits;
  if (FindObject(*resources, "requests") == nullptr) resources->insert_or_assign("requests", json::object());
  json::object* requests = FindObject(*resources, "requests");
  for (const auto& limit : copy) AddMissing(*requests, limit.key(), limit.value());
}

void DefaultVolume(json::object& volume) {
  constexpr int kReadableMode = 0644;
  if (volume.size() == 1) AddMissing(volume, "emptyDir", json::object());
  for (const char* kind : {"secret", "configMap", "projected", "downwardAPI"}) {
    if (json::object* source = FindObject(volume, kind)) AddMissing(*source, "defaultMode", kReadableMode);
  }
  if (json::object* host_path = FindObject(volume, "hostPath")) AddMissing(*host_path, "type", "");
}

}  // namespace

void DefaultPodSpec(json::object& spec) {
  AddMissing(spec, "restartPolicy", "Always");
  AddMissing(spec, "dnsPolicy", "ClusterFirst");
  AddMissing(spec, "schedulerName", "default-scheduler");
  AddMissing(spec, "terminationGracePeriodSeconds", 30);
  AddMissing(spec, "securityContext", json::object());
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) EachIn(spec, list, DefaultContainer);
  EachIn(spec, "volumes", DefaultVolume);
  if (const json::value* account = spec.if_contains("serviceAccountName")) {
    const json::value copy = *account;
    AddMissing(spec, "serviceAccount", copy);
  }
}

}  // namespace basalt::kubesim
