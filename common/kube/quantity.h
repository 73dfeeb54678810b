#pragma once

// A Kubernetes resource quantity: an exact decimal number with the form it was written in. A value; safe to copy.
#include <string>
#include <string_view>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"

namespace basalt::kube {

// Precise to 10^-9; what is finer is rounded away from zero when parsed, as Kubernetes does. Sums and products that no
// longer fit (beyond about 10^29) stay at the bound.
class Quantity {
 public:
  // How it prints: 1500m and 2G, or 2e9, or 2Gi.
  enum class Form { kDecimalSi, kDecimalExponent, kBinarySi };

  Quantity() = default;
  static Quantity OfInt(int64_t value, Form form = Form::kDecimalSi);
  // INVALID_ARGUMENT where the text is not <sign><number><suffix>.
  static absl::StatusOr<Quantity> Parse(std::string_view text);

  // The form of the sum is this one's; a zero takes the form of what is added.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity& operator*=(int64_t factor);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  friend Quantity operator*(Quantity a, int64_t factor) { return a *= factor; }

  // By value: 1000m equals 1, 1Ki equals 1024.
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend bool operator!=(const Quantity& a, const Quantity& b) { return a.nanos_ != b.nanos_; }
  friend bool operator<(const Quantity& a, const Quantity& b) { return a.nanos_ < b.nanos_; }
  friend bool operator>(const Quantity& a, const Quantity& b) { return a.nanos_ > b.nanos_; }
  friend bool operator<=(const Quantity& a, const Quantity& b) { return a.nanos_ <= b.nanos_; }
  friend bool operator>=(const Quantity& a, const Quantity& b) { return a.nanos_ >= b.nanos_; }

  bool IsZero() const { return nanos_ == 0; }
  bool IsNegative() const { return nanos_ < 0; }
  Form form() const { return form_; }
  // Rounded away from zero; held within int64.
  int64_t Value() const;
  int64_t MilliValue() const;

  // The canonical text as Kubernetes prints it: no fraction, the largest suffix that needs none.
  std::string Text() const;

 private:
  absl::int128 nanos_ = 0;
  Form form_ = Form::kDecimalSi;
};

// The canonical text of `text`.
absl::StatusOr<std::string> CanonicalQuantity(std::string_view text);

}  // namespace basalt::kube
