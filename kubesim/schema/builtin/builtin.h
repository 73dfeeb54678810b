#pragma once

// The core kinds: their names, and the changes and checks that the API server makes on a write of their objects, as far
// as users and controllers notice. Pure functions and constant tables, any thread.
//
// A create calls PrepareCreate, ValidateObject. An update calls PrepareUpdate, ValidateObject, ValidateUpdate. Metadata
// of custom kinds goes through ValidateMetadata, their other members through crd.h.
//
// The server, which has the store, sets uid, resourceVersion, generation, times, a Service's clusterIP (AllotClusterIp
// with a number of its own), and the priority of a pod's priorityClassName.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

const std::vector<TypeInfoPtr>& BuiltinTypes();

// Sets defaults and the first status: a pod becomes Pending with its QoS class, a namespace Active. Moves stringData to
// data, and removes nulls. Only for built-in kinds.
void PrepareCreate(const TypeInfo& type, json::value& object);
// Sets defaults, and copies fields that a writer may leave out because the server has set them (a Service's clusterIP).
void PrepareUpdate(const TypeInfo& type, const json::value& live, json::value& next);

// Validates names, labels, annotations, owner references and finalizers. For any kind.
void ValidateMetadata(const TypeInfo& type, const json::value& object, std::vector<FieldError>* errors);
// Validates metadata and the fields of the kind. Only for built-in kinds.
void ValidateObject(const TypeInfo& type, const json::value& object, std::vector<FieldError>* errors);
// Checks that immutable fields have not changed: a pod's spec but for images, selectors, a Secret's type, … Only for
// built-in kinds.
void ValidateUpdate(const TypeInfo& type, const json::value& live, const json::value& next,
                    std::vector<FieldError>* errors);

// Sets spec.clusterIP and clusterIPs to 10.96.0.0/12 + `number` if the Service needs an address. Returns whether they
// were set.
bool AllotClusterIp(json::value& service, uint32_t number);

// Sets the defaults of a pod spec, in a pod or in a template.
void DefaultPodSpec(json::object& spec);

}  // namespace basalt::kubesim
