#pragma once

// Typed reading over simdjson's on-demand API, for .cc files that project objects (this folder and gateway/translate).
// Values are read in the order in which they stand; each once. Wrong types become errors with the field's path; null is
// absent. Not thread-safe.
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

// Where a value stands; a chain on the stack, spelled out only for an error.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;
  int index = -1;

  // The result refers to this one, which therefore has to be named.
  Path operator/(std::string_view child) const& { return {this, child, -1}; }
  Path operator/(int at) const& { return {this, {}, at}; }
  Path operator/(std::string_view child) const&& = delete;
  Path operator/(int at) const&& = delete;
  std::string Text() const;
};
inline constexpr Path kRoot;

// In what a person wrote, a field that no message has and a null in a list are errors; in what a server has stored
// they are passed over.
enum class Source { kStored, kWritten };

class Reader {
 public:
  // Of many errors the first `max_errors` are kept.
  explicit Reader(Source source = Source::kStored, size_t max_errors = 4) : source_(source), max_errors_(max_errors) {}

  void Reset() {
    errors_.clear();
    broken_ = simdjson::SUCCESS;
  }

  void Fail(const Path& path, std::string_view rule);
  // A member that no branch knows.
  void Unknown(const Path& path) {
    if (source_ == Source::kWritten) Fail(path, "there is no such field");
  }
  // The text itself is no JSON here: nothing after it can be read.
  void Break(simdjson::error_code error) { broken_ = error; }
  bool broken() const { return broken_ != simdjson::SUCCESS; }
  simdjson::error_code break_code() const { return broken_; }
  // "field: rule" each.
  std::vector<std::string> TakeErrors() { return std::move(errors_); }
  bool has_error() const { return !errors_.empty(); }

  // fn(key, value) for each member. Keys are compared as they stand: for objects with known fields.
  template <typename Fn>
  void Members(const Path& path, Value& value, Fn&& fn) {
    EachMember(path, value, [&fn](simdjson::ondemand::field& field) { CallWithKeyAsItStands(field, fn); });
  }

  // fn(key, value) for each entry of a map with free keys.
  template <typename Fn>
  void Entries(const Path& path, Value& value, Fn&& fn) {
    EachMember(path, value, [this, &fn](simdjson::ondemand::field& field) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return Break(error);
      fn(key, field.value());
    });
  }

  // fn(path of the element, element).
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

  // Views into the parser's buffer: valid until it reads the next text.
  std::string_view String(const Path& path, Value& value);
  std::optional<int64_t> Int(const Path& path, Value& value, int64_t low, int64_t high);
  int32_t Int32(const Path& path, Value& value) { return OptionalInt32(path, value).value_or(0); }
  std::optional<int32_t> OptionalInt32(const Path& path, Value& value);
  bool Bool(const Path& path, Value& value);
  // Milliseconds; 0 = absent or no time.
  int64_t Time(const Path& path, Value& value);
  // A quantity, written as a string or a number: its text.
  std::string_view IntOrString(const Path& path, Value& value);
  // The object's own text; empty = absent.
  std::string_view RawObject(const Path& path, Value& value) {
    simdjson::ondemand::object object;
    return RawText(path, value, object);
  }
  // The same, and fn(key, value) for each member, as Members calls it.
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

  // RawObject, and the object behind whose end the reader stands.
  std::string_view RawText(const Path& path, Value& value, simdjson::ondemand::object& object);

  // False with an error, or without one where the value is null.
  bool Is(const Path& path, Value& value, simdjson::ondemand::json_type wanted);

  Source source_;
  size_t max_errors_;
  std::vector<std::string> errors_;
  simdjson::error_code broken_ = simdjson::SUCCESS;
};

}  // namespace basalt::kube::decode
