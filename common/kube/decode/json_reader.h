#pragma once

// Typed reading over simdjson's on-demand API, for .cc files that project objects (this folder and gateway/translate).
// Values are read in their order in the text, each once. Wrong types become errors with the field's path. Null counts
// as absent. Not thread-safe.
#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace basalt::kube::decode {

using Value = simdjson::ondemand::value;

// The path of a value: a chain on the stack, of which only an error makes a text.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;
  int index = -1;

  // The result points to this path, which therefore must not be a temporary.
  Path operator/(std::string_view child) const& { return {this, child, -1}; }
  Path operator/(int at) const& { return {this, {}, at}; }
  Path operator/(std::string_view child) const&& = delete;
  Path operator/(int at) const&& = delete;
  std::string Text() const;
};
inline constexpr Path kRoot;

// The origin of a text. A field that no message has, and a null in a list, are errors in the text of a person, and are
// ignored in a text that a server has stored.
enum class Source { kStored, kWritten };

class Reader {
 public:
  // Keeps the first `max_errors` errors.
  explicit Reader(Source source = Source::kStored, size_t max_errors = 4) : source_(source), max_errors_(max_errors) {}

  void Reset() {
    errors_.clear();
    broken_ = simdjson::SUCCESS;
  }

  void Fail(const Path& path, std::string_view rule);
  // Handles a member that the caller does not know.
  void Unknown(const Path& path) {
    if (source_ == Source::kWritten) Fail(path, "there is no such field");
  }
  // Records that the text is no JSON at this point. Nothing behind it can be read.
  void Break(simdjson::error_code error) { broken_ = error; }
  bool broken() const { return broken_ != simdjson::SUCCESS; }
  simdjson::error_code break_code() const { return broken_; }
  // Returns the errors, each as "field: rule".
  std::vector<std::string> TakeErrors() { return std::move(errors_); }
  bool has_error() const { return !errors_.empty(); }

  // Calls fn(key, value) for each member of an object with known fields. Keys keep their escapes.
  template <typename Fn>
  void Members(const Path& path, Value& value, Fn&& fn) {
    EachMember(path, value, [&fn](simdjson::ondemand::field& field) { CallWithKeyAsItStands(field, fn); });
  }

  // Calls fn(key, value) for each entry of a map with free keys. Keys are unescaped.
  template <typename Fn>
  void Entries(const Path& path, Value& value, Fn&& fn) {
    EachMember(path, value, [this, &fn](simdjson::ondemand::field& field) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return Break(error);
      fn(key, field.value());
    });
  }

  // Calls fn(path of the element, element) for each element.
  template <typename Fn>
  void Elements(const Path& path, Value& value, Fn&& fn) {
    if (!Is(path, value, simdjson::ondemand::json_type::array)) return;
    simdjson::ondemand::array array;
    if (const auto error = value.get_array().get(array)) return Break(error);
    int index = 0;
    for (auto element : array) {
      Value item;
      if (const auto error = element.get(item)) return Break(error);
      if (source_ == Source::kWritten && IsNull(item)) {
        Fail(path / index, "must not be null");
      } else {
        fn(path / index, item);
      }
      if (broken()) return;
      ++index;
    }
  }

  // Returns a view into the parser's buffer, which is valid until the parser reads the next text.
  std::string_view String(const Path& path, Value& value);
  std::optional<int64_t> Int(const Path& path, Value& value, int64_t low, int64_t high);
  int32_t Int32(const Path& path, Value& value) { return OptionalInt32(path, value).value_or(0); }
  std::optional<int32_t> OptionalInt32(const Path& path, Value& value);
  bool Bool(const Path& path, Value& value);
  // Returns milliseconds since the Unix epoch. 0 if the value is absent or no time.
  int64_t Time(const Path& path, Value& value);
  // Returns the text of a quantity, which may be a string or a number.
  std::string_view IntOrString(const Path& path, Value& value);
  // Returns the object's own text. Empty if the value is absent.
  std::string_view RawObject(const Path& path, Value& value) {
    simdjson::ondemand::object object;
    return RawText(path, value, object);
  }
  // Does the same, and calls fn(key, value) for each member, as Members does.
  template <typename Fn>
  std::string_view RawObject(const Path& path, Value& value, Fn&& fn) {
    simdjson::ondemand::object object;
    const std::string_view text = RawText(path, value, object);
    if (text.empty()) return {};
    if (const auto error = object.reset().error()) {
      Break(error);
      return {};
    }
    EachMember(object, [&fn](simdjson::ondemand::field& field) { CallWithKeyAsItStands(field, fn); });
    return text;
  }

  bool IsNull(Value& value);

 private:
  template <typename Fn>
  static void CallWithKeyAsItStands(simdjson::ondemand::field& field, Fn&& fn) {
    const char* key = field.key().raw();
    size_t size = 0;
    while (key[size] != '"') ++size;
    fn(std::string_view(key, size), field.value());
  }

  template <typename Fn>
  void EachMember(const Path& path, Value& value, Fn&& fn) {
    if (!Is(path, value, simdjson::ondemand::json_type::object)) return;
    simdjson::ondemand::object object;
    if (const auto error = value.get_object().get(object)) return Break(error);
    EachMember(object, fn);
  }

  template <typename Fn>
  void EachMember(simdjson::ondemand::object& object, Fn&& fn) {
    for (auto member : object) {
      simdjson::ondemand::field field;
      if (const auto error = std::move(member).get(field)) return Break(error);
      fn(field);
      if (broken()) return;
    }
  }

  // Returns the text as RawObject does, and leaves the reader behind the end of `object`.
  std::string_view RawText(const Path& path, Value& value, simdjson::ondemand::object& object);

  // Returns whether the value has the type. Reports an error if it has another type, but not if it is null.
  bool Is(const Path& path, Value& value, simdjson::ondemand::json_type wanted);

  Source source_;
  size_t max_errors_;
  std::vector<std::string> errors_;
  simdjson::error_code broken_ = simdjson::SUCCESS;
};

}  // namespace basalt::kube::decode
