#pragma once

// A Kubernetes resource quantity: an exact decimal number with the form in which it was written. A value type.
#include <string>
#include <string_view>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"

namespace basalt::kube {

// Is precise to 10^-9. Parse rounds finer numbers away from zero, as Kubernetes does. Sums and products that do not fit
// (beyond about 10^29) stay at the limit.
class Quantity {
 public:
  // The printed form: 1500m and 2G, or 2e9, or 2Gi.
  enum class Form { kDecimalSi, kDecimalExponent, kBinarySi };

  Quantity() = default;
  static Quantity OfInt(int64_t value, Form form = Form::kDecimalSi);
  // INVALID_ARGUMENT if the text is not <sign><number><suffix>.
  static absl::StatusOr<Quantity> Parse(std::string_view text);

  // The sum keeps the form of this quantity. A zero takes the form of `other`.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity& operator*=(int64_t factor);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  friend Quantity operator*(Quantity a, int64_t factor) { return a *= factor; }

  // Compares by value: 1000m equals 1, 1Ki equals 1024.
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend bool operator!=(const Quantity& a, const Quantity& b) { return a.nanos_ != b.nanos_; }
  friend bool operator<(const Quantity& a, const Quantity& b) { return a.nanos_ < b.nanos_; }
  friend bool operator>(const Quantity& a, const Quantity& b) { return a.nanos_ > b.nanos_; }
  friend bool operator<=(const Quantity& a, const Quantity& b) { return a.nanos_ <= b.nanos_; }
  friend bool operator>=(const Quantity& a, const Quantity& b) { return a.nanos_ >= b.nanos_; }

  bool IsZero() const { return nanos_ == 0; }
  bool IsNegative() const { return nanos_ < 0; }
  Form form() const { return form_; }
  // Returns the value rounded away from zero, and limited to int64.
  int64_t Value() const;
  int64_t MilliValue() const;

  // Returns the canonical text that Kubernetes prints: without a fraction, with the largest suffix that needs none.
  std::string Text() const;

 private:
  absl::int128 nanos_ = 0;
  Form form_ = Form::kDecimalSi;
};

// Returns the canonical form of `text`.
absl::StatusOr<std::string> CanonicalQuantity(std::string_view text);

}  // namespace basalt::kube
