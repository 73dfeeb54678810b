#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <map>
#include <streambuf>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/excerpt.h"
#include "common/base/json_reader.h"
#include "common/base/status.h"
#include "common/base/yaml.h"
#include "common/base/yaml_scalar.h"

namespace basalt {
namespace {

constexpr size_t kMaxDepth = 100;
constexpr size_t kMaxValues = 1'000'000;
constexpr size_t kMaxCopiedBytes = 3 << 20;  // A request to an API server cannot have as many.
constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";
constexpr std::string_view kBinaryTag = "tag:yaml.org,2002:binary";

// Reads straight from the caller's text; a stringstream would copy it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

struct Size {
  size_t values = 0;
  size_t bytes = 0;  // Counts texts and keys.
};

void AddSize(const json::value& value, Size& size) {
  ++size.values;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      size.bytes += member.key().size();
      AddSize(member.value(), size);
    }
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) AddSize(item, size);
  } else if (const json::string* text = value.if_string()) {
    size.bytes += text->size();
  }
}

Size SizeOf(const json::value& value) {
  Size size;
  AddSize(value, size);
  return size;
}

std::string KeyText(const json::value& key) {
  if (key.is_string()) return std::string(key.get_string());
  return ToText(key);
}

// yaml-cpp writes the escapes \N and \_ of quoted text as one byte each and not as UTF-8. The text of the document
// itself is UTF-8, so every byte that begins no character is such an escape.
std::string WithEscapesAsUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string out;
  for (; !text.empty(); text.remove_prefix(FirstCharacter(text).bytes)) {
    const Character character = FirstCharacter(text);
    if (!character.is_valid) out += '\xc2';
    out += text.substr(0, character.bytes);
  }
  return out;
}

// Builds one document from the parser's events. Errors leave through YAML::ParserException, which carries the mark
// and never passes ParseYamlDocuments.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(DoubledKeys doubled) : doubled_(doubled) {}
  json::value Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The parser stops before a character that begins no value, and would begin a document at that place for ever.
    if (mark.pos == start_) throw YAML::ParserException(mark, "no document begins here");
    start_ = mark.pos;
    root_ = nullptr;
    anchors_.clear();
    frames_.clear();
    values_ = 0;
    copied_bytes_ = 0;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add(mark, nullptr, anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YAML::ParserException(mark, "an alias inside its own anchor");
    // Aliases of aliases grow exponentially, so every copy counts.
    CountCopy(mark, found->second.size);
    Place(mark, json::value(found->second.value));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // "!" marks a quoted scalar, "?" a plain one.
    if (tag == "!" || tag == kStringTag) return Add(mark, json::value(WithEscapesAsUtf8(value)), anchor, true);
    if (tag == kBinaryTag) return Add(mark, json::value(Decoded(mark, value)), anchor, true);
    std::optional<json::value> resolved = yaml_internal::ResolvePlain(value);
    if (!resolved) return Add(mark, json::value(value), anchor);
    if (resolved->is_double() && !std::isfinite(resolved->get_double())) {
      throw YAML::ParserException(mark, "JSON has no form for the number " + Excerpt(value));
    }
    Add(mark, *std::move(resolved), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Push(mark, json::array(), anchor);
  }
  void OnSequenceEnd() override { Pop(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Push(mark, json::object(), anchor);
  }
  void OnMapEnd() override { Pop(); }

 private:
  struct Frame {
    YAML::Mark mark;
    json::value value;
    YAML::anchor_t anchor;
    std::optional<std::string> key;
    bool merge = false;
    std::vector<json::value> merged;  // The maps that "<<" named. The frame's own keys win over theirs.
  };
  struct Anchored {
    json::value value;
    Size size;
  };

  static std::string Decoded(const YAML::Mark& mark, const std::string& value) {
    std::string bytes;
    if (!absl::Base64Unescape(value, &bytes)) throw YAML::ParserException(mark, "!!binary, and no base64");
    if (!IsUtf8(bytes)) {
      throw YAML::ParserException(mark, "JSON has no form for !!binary that is no UTF-8");
    }
    return bytes;
  }

  void Count(const YAML::Mark& mark, size_t more) {
    values_ += more;
    if (values_ > kMaxValues) throw YAML::ParserException(mark, "more than a million values in one document");
  }

  void CountCopy(const YAML::Mark& mark, const Size& size) {
    Count(mark, size.values);
    copied_bytes_ += size.bytes;
    if (copied_bytes_ > kMaxCopiedBytes) {
      throw YAML::ParserException(mark, fmt::format("anchors and aliases copy more than {} bytes", kMaxCopiedBytes));
    }
  }

  // Anchors inside anchors grow, too: each anchor keeps its own copy.
  void Keep(const YAML::Mark& mark, YAML::anchor_t anchor, const json::value& value) {
    if (anchor == 0) return;
    const Size size = SizeOf(value);
    CountCopy(mark, size);
    anchors_[anchor] = {value, size};
  }

  void Add(const YAML::Mark& mark, json::value value, YAML::anchor_t anchor, bool quoted = false) {
    Count(mark, 1);
    Keep(mark, anchor, value);
    Place(mark, std::move(value), quoted);
  }

  void Push(const YAML::Mark& mark, json::value value, YAML::anchor_t anchor) {
    if (frames_.size() >= kMaxDepth) throw YAML::ParserException(mark, "nested more than 100 levels deep");
    Count(mark, 1);
    Frame frame;
    frame.mark = mark;
    frame.value = std::move(value);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void Pop() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const json::value& source : frame.merged) {
      for (const auto& member : source.get_object()) frame.value.get_object().emplace(member.key(), member.value());
    }
    Keep(frame.mark, frame.anchor, frame.value);
    Place(frame.mark, std::move(frame.value));
  }

  void Place(const YAML::Mark& mark, json::value value, bool quoted = false) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (json::array* array = frame.value.if_array()) {
      array->push_back(std::move(value));
    } else if (frame.merge) {
      frame.merge = false;
      Merge(mark, frame, std::move(value));
    } else if (!frame.key) {
      PlaceKey(mark, frame, value, quoted);
    } else {
      frame.value.get_object().insert_or_assign(*frame.key, std::move(value));
      frame.key.reset();
    }
  }

  void PlaceKey(const YAML::Mark& mark, Frame& frame, const json::value& value, bool quoted) {
    if (value.is_structured()) throw YAML::ParserException(mark, "a key must be a scalar");
    std::string key = KeyText(value);
    if (key == "<<" && !quoted) {
      frame.merge = true;
      return;
    }
    if (doubled_ == DoubledKeys::kRefuse && frame.value.get_object().contains(key)) {
      throw YAML::ParserException(mark, fmt::format("key \"{}\" already set in map", Excerpt(key)));
    }
    frame.key = std::move(key);
  }

  static void Merge(const YAML::Mark& mark, Frame& frame, json::value value) {
    if (value.is_object()) {
      frame.merged.push_back(std::move(value));
      return;
    }
    if (json::array* sources = value.if_array()) {
      for (json::value& source : *sources) {
        if (!source.is_object()) throw YAML::ParserException(mark, "map merge requires map or sequence of maps");
        frame.merged.push_back(std::move(source));
      }
      return;
    }
    throw YAML::ParserException(mark, "map merge requires map or sequence of maps");
  }

  json::value root_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::vector<Frame> frames_;
  const DoubledKeys doubled_;
  int start_ = -1;  // The position at which the current document starts.
  size_t values_ = 0;
  size_t copied_bytes_ = 0;
};

// Returns JSON values that stand one behind the other, with only white space between them. Empty if the text is
// anything else.
std::vector<json::value> JsonValues(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<json::value> values;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return values;
    if (text.front() != '{') return {};
    internal::JsonRead read = internal::ReadJson(text, kMaxDepth);
    if (read.error) return {};
    values.push_back(std::move(read.value));
    text.remove_prefix(read.used);
  }
}

// Returns a message about the first character that is not allowed. Empty if every character is allowed.
std::string WrongCharacter(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = FirstCharacter(rest);
    const bool is_control =
        (character.code < ' ' && character.code != '\t' && character.code != '\r' && character.code != '\n') ||
        character.code == 0x7f;
    if (is_control || !character.is_valid) {
      const auto line = std::count(text.begin(), text.end() - rest.size(), '\n') + 1;
      return character.is_valid
                 ? fmt::format("line {}: the control character 0x{:02x} is not allowed", line, character.code)
                 : fmt::format("line {}: the byte 0x{:02x} is no UTF-8", line, character.code);
    }
    rest.remove_prefix(character.bytes);
  }
  return {};
}

absl::Status Error(size_t document, const YAML::Mark& mark, std::string_view what) {
  return Invalid(fmt::format("document {}: line {}, column {}: {}", document, mark.line + 1, mark.column + 1, what));
}

}  // namespace

absl::StatusOr<std::vector<json::value>> ParseYamlDocuments(std::string_view text, DoubledKeys doubled,
                                                            size_t max_bytes) {
  if (text.size() > max_bytes) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      fmt::format("{} bytes of YAML; the limit is {}", text.size(), max_bytes));
  }
  // JSON is YAML, and its own parser is many times faster.
  std::vector<json::value> documents = JsonValues(text);
  if (!documents.empty()) return documents;
  if (const std::string problem = WrongCharacter(text); !problem.empty()) return Invalid(problem);
  size_t document = 0;
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    Builder builder(doubled);
    for (document = 1; parser.HandleNextDocument(builder); ++document) {
      json::value value = builder.Take();
      if (!value.is_null()) documents.push_back(std::move(value));
    }
  } catch (const YAML::Exception& error) {
    return Error(std::max<size_t>(document, 1), error.mark, error.msg);
  } catch (const std::exception& error) {
    return Invalid(fmt::format("document {}: {}", document, error.what()));
  }
  return documents;
}

}  // namespace basalt
