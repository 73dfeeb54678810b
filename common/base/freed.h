#pragma once

// The deleter of a C library's object: std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>.
namespace basalt {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace basalt
