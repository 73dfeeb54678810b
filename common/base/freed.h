#pragma once

// A deleter for objects of C libraries: std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>.
namespace basalt {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace basalt
