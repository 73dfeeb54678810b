#pragma once

// The core kinds: what they are called, and what the API server does to their objects on a write, as far as users and
// controllers notice. Pure functions and constant tables, any thread.
//
// Order on a create: PrepareCreate, ValidateObject. On an update: PrepareUpdate, ValidateObject, ValidateUpdate.
// Metadata of custom kinds goes through ValidateMetadata, the rest through crd.h.
//
// Left to the server, which has the store: uid, resourceVersion, generation, times, a Service's clusterIP
// (AllotClusterIp with a number of its own), the priority behind a pod's priorityClassName.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

const std::vector<TypeInfoPtr>& BuiltinTypes();

// Defaults and the first status: a pod becomes Pending with its QoS class, a namespace Active; stringData moves to
// data; nulls go. Only for built-in kinds.
void PrepareCreate(const TypeInfo& type, json::value& object);
// Defaults, and what a writer may leave out because the server had filled it in (a Service's clusterIP).
void PrepareUpdate(const TypeInfo& type, const json::value& live, json::value& next);

// Names, labels, annotations, owner references, finalizers. Any kind.
void ValidateMetadata(const TypeInfo& type, const json::value& object, std::vector<FieldError>* errors);
// Metadata and what the kind demands. Only for built-in kinds.
void ValidateObject(const TypeInfo& type, const json::value& object, std::vector<FieldError>* errors);
// What may not change: a pod's spec but for images, selectors, a Secret's type, … Only for built-in kinds.
void ValidateUpdate(const TypeInfo& type, const json::value& live, const json::value& next,
                    std::vector<FieldError>* errors);

// Sets spec.clusterIP and clusterIPs of a Service that wants one to 10.96.0.0/12 + `number`; says whether it did.
bool AllotClusterIp(json::value& service, uint32_t number);

// Fills in a pod spec, of a pod or inside a template.
void DefaultPodSpec(json::object& spec);

}  // namespace basalt::kubesim
