#pragma once

// A helper for tests of core kinds: finds a kind by its name.
#include <gtest/gtest.h>

#include <string_view>

#include "kubesim/schema/builtin/builtin.h"

namespace basalt::kubesim {

inline const TypeInfo& Type(std::string_view kind) {
  for (const TypeInfoPtr& type : BuiltinTypes()) {
    if (type->kind == kind) return *type;
  }
  ADD_FAILURE() << "no kind " << kind;
  static const TypeInfo none;
  return none;
}

}  // namespace basalt::kubesim
