#pragma once

// BASALT_RETURN_IF_ERROR(expr): returns the status of `expr` if it is not OK.
// BASALT_ASSIGN_OR_RETURN(T x, expr): `expr` is a StatusOr<T>.
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define BASALT_CONCAT_INNER_(a, b) a##b
#define BASALT_CONCAT_(a, b) BASALT_CONCAT_INNER_(a, b)

#define BASALT_RETURN_IF_ERROR(expr)                                  \
  do {                                                                \
    if (absl::Status basalt_status_ = (expr); !basalt_status_.ok()) { \
      return basalt_status_;                                          \
    }                                                                 \
  } while (false)

#define BASALT_ASSIGN_OR_RETURN(lhs, expr) \
  BASALT_ASSIGN_OR_RETURN_IMPL_(BASALT_CONCAT_(basalt_status_or_, __LINE__), lhs, expr)
#define BASALT_ASSIGN_OR_RETURN_IMPL_(var, lhs, expr) \
  auto var = (expr);                                  \
  if (!var.ok()) return std::move(var).status();      \
  lhs = *std::move(var)
