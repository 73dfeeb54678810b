#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"
#include "kubesim/schema/cel/library/runes.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;

// The texts and numbers of a call, where they all are what they should be: 's' or 'i' for each.
struct Plain {
  std::string_view s[3];
  int64_t i = 0;
};

absl::StatusOr<Plain> Read(const Args& args, std::string_view kinds, Budget& budget) {
  if (args.size() < kinds.size()) return NoSuchOverload();
  Plain plain;
  size_t texts = 0;
  size_t bytes = 0;
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (kinds[k] == 's') {
      const auto* text = args[k].As<std::string>();
      if (text == nullptr) return NoSuchOverload();
      bytes += text->size();
      plain.s[texts++] = *text;
    } else {
      const auto* number = args[k].As<int64_t>();
      if (number == nullptr) return NoSuchOverload();
      plain.i = *number;
    }
  }
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(bytes));
  return plain;
}

absl::Status OutOfRange(int64_t index) { return EvalError(fmt::format("index out of range: {}", index)); }

Result StartsWith(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "ss", budget));
  return Value::Bool(plain.s[0].starts_with(plain.s[1]));
}

Result EndsWith(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "ss", budget));
  return Value::Bool(plain.s[0].ends_with(plain.s[1]));
}

Result Contains(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "ss", budget));
  return Value::Bool(plain.s[0].find(plain.s[1]) != std::string_view::npos);
}

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<std::unique_ptr<RE2>> Pattern(std::string_view text, Budget& budget) {
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(text.size() * 4));
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(1 << 20);
  auto pattern = std::make_unique<RE2>(Piece(text), options);
  if (!pattern->ok()) return EvalError(fmt::format("error parsing regexp: {}", pattern->error()));
  return pattern;
}

Result Matches(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "ss", budget));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<RE2> pattern, Pattern(plain.s[1], budget));
  return Value::Bool(RE2::PartialMatch(Piece(plain.s[0]), *pattern));
}

std::vector<Value> FindUpTo(std::string_view text, const RE2& pattern, int64_t limit) {
  std::vector<Value> found;
  const re2::StringPiece all = Piece(text);
  re2::StringPiece match;
  for (size_t at = 0; at <= text.size() && (limit < 0 || static_cast<int64_t>(found.size()) < limit);) {
    if (!pattern.Match(all, at, text.size(), RE2::UNANCHORED, &match, 1)) break;
    found.push_back(Value::Text(std::string(match.data(), match.size())));
    const size_t end = static_cast<size_t>(match.data() - text.data()) + match.size();
    at = match.empty() ? end + 1 : end;
  }
  return found;
}

Result FindFirst(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "ss", budget));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<RE2> pattern, Pattern(plain.s[1], budget));
  std::vector<Value> found = FindUpTo(plain.s[0], *pattern, 1);
  return found.empty() ? Value::Text("") : std::move(found[0]);
}

Result FindAll(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, args.size() == 3 ? "ssi" : "ss", budget));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<RE2> pattern, Pattern(plain.s[1], budget));
  return Value::List(FindUpTo(plain.s[0], *pattern, args.size() == 3 ? plain.i : -1));
}

Result CharAt(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "si", budget));
  const std::vector<size_t> starts = RuneStarts(plain.s[0]);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  if (plain.i < 0 || plain.i > count) return OutOfRange(plain.i);
  if (plain.i == count) return Value::Text("");
  const auto at = static_cast<size_t>(plain.i);
  return Value::Text(std::string(plain.s[0].substr(starts[at], starts[at + 1] - starts[at])));
}

Result TextIndexOf(const Args& args, Budget& budget, bool last) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, args.size() == 3 ? "ssi" : "ss", budget));
  const std::vector<size_t> starts = RuneStarts(plain.s[0]);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  const bool bounded = args.size() == 3;
  if (bounded && plain.i < 0) return OutOfRange(plain.i);
  if (bounded && plain.i > count) return Value::Int(-1);
  if (bounded && last && plain.i >= count && !plain.s[1].empty()) return Value::Int(-1);
  size_t found = std::string_view::npos;
  if (last) {
    found = plain.s[0].rfind(plain.s[1], bounded ? starts[static_cast<size_t>(plain.i)] : std::string_view::npos);
  } else {
    found = plain.s[0].find(plain.s[1], bounded ? starts[static_cast<size_t>(plain.i)] : 0);
  }
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(CountRunes(plain.s[0].substr(0, found)));
}

template <typename Change>
Result EachAscii(const Args& args, Budget& budget, Change change) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "s", budget));
  std::string text(plain.s[0]);
  std::transform(text.begin(), text.end(), text.begin(), change);
  return Value::Text(std::move(text));
}

Result Replace(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, args.size() == 4 ? "sssi" : "sss", budget));
  const std::string_view text = plain.s[0];
  const std::string_view from = plain.s[1];
  const int64_t limit = args.size() == 4 && plain.i >= 0 ? plain.i : INT64_MAX;
  std::string out;
  size_t at = 0;
  for (int64_t done = 0; done < limit; ++done) {
    size_t found = from.empty() ? at : text.find(from, at);
    if (found == std::string_view::npos) break;
    if (from.empty() && done > 0) {  // Behind the next code point.
      if (at >= text.size()) break;
      ++found;
      while (found < text.size() && (text[found] & 0xC0) == 0x80) ++found;
    }
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(plain.s[2].size()));
    out += text.substr(at, found - at);
    out += plain.s[2];
    at = found + from.size();
  }
  out += text.substr(std::min(at, text.size()));
  return Value::Text(std::move(out));
}

Result Split(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, args.size() == 3 ? "ssi" : "ss", budget));
  const int64_t limit = args.size() == 3 ? plain.i : -1;
  std::string_view rest = plain.s[0];
  const std::string_view separator = plain.s[1];
  std::vector<Value> parts;
  if (limit == 0) return Value::List({});
  if (rest.empty() && separator.empty()) return Value::List({});
  while (limit < 0 || static_cast<int64_t>(parts.size()) + 1 < limit) {
    size_t at = rest.find(separator);
    if (separator.empty()) {
      at = 1;
      while (at < rest.size() && (rest[at] & 0xC0) == 0x80) ++at;
      if (at >= rest.size()) break;
    }
    if (at == std::string_view::npos) break;
    parts.push_back(Value::Text(std::string(rest.substr(0, at))));
    rest.remove_prefix(at + separator.size());
  }
  parts.push_back(Value::Text(std::string(rest)));
  return Value::List(std::move(parts));
}

Result Substring(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "s", budget));
  const auto* from = args.size() > 1 ? args[1].As<int64_t>() : nullptr;
  const auto* to = args.size() > 2 ? args[2].As<int64_t>() : nullptr;
  if (from == nullptr || (args.size() > 2 && to == nullptr)) return NoSuchOverload();
  const std::vector<size_t> starts = RuneStarts(plain.s[0]);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  const int64_t end = to == nullptr ? count : *to;
  if (to != nullptr && *from > end) {
    return EvalError(fmt::format("invalid substring range. start: {}, end: {}", *from, end));
  }
  if (*from < 0 || *from > count) return OutOfRange(*from);
  if (end < 0 || end > count) return OutOfRange(end);
  const size_t begin = starts[static_cast<size_t>(*from)];
  return Value::Text(std::string(plain.s[0].substr(begin, starts[static_cast<size_t>(end)] - begin)));
}

Result Trim(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "s", budget));
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t from = plain.s[0].find_first_not_of(kSpace);
  if (from == std::string_view::npos) return Value::Text("");
  return Value::Text(std::string(plain.s[0].substr(from, plain.s[0].find_last_not_of(kSpace) - from + 1)));
}

Result Join(const Args& args, Budget& budget) {
  if (!args[0].IsList()) return NoSuchOverload();
  const auto* given = args.size() > 1 ? args[1].As<std::string>() : nullptr;
  if (args.size() > 1 && given == nullptr) return NoSuchOverload();
  const std::string separator = given == nullptr ? "" : *given;
  std::string out;
  for (size_t i = 0; i < args[0].Size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(const Value item, args[0].At(i));
    const auto* text = item.As<std::string>();
    if (text == nullptr) return NoSuchOverload();
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size() + separator.size()));
    if (i > 0) out += separator;
    out += *text;
  }
  return Value::Text(std::move(out));
}

Result Quote(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "s", budget));
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kNames = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : plain.s[0]) {
    const size_t at = kSpecial.find(c);
    if (at != std::string_view::npos) {
      out += '\\';
      out += kNames[at];
    } else {
      out += c;
    }
  }
  return Value::Text(out + "\"");
}

Result Format(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Plain plain, Read(args, "s", budget));
  if (args.size() != 2 || !args[1].IsList()) return NoSuchOverload();
  BASALT_ASSIGN_OR_RETURN(std::string text, FormatText(plain.s[0], args[1], budget));
  return Value::Text(std::move(text));
}

Result Size(const Args& args, Budget& budget) {
  if (const auto* text = args[0].As<std::string>()) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
    return Value::Int(CountRunes(*text));
  }
  if (const auto* bytes = args[0].As<Bytes>()) return Value::Int(static_cast<int64_t>(bytes->data.size()));
  if (!args[0].IsList() && !args[0].IsMap()) return EvalError("no such overload: size");
  return Value::Int(static_cast<int64_t>(args[0].Size()));
}

absl::StatusOr<Value> IndexOf(const Args& args, Budget& budget, bool last) {
  if (!args[0].IsList()) return TextIndexOf(args, budget, last);
  const auto size = static_cast<int64_t>(args[0].Size());
  BASALT_RETURN_IF_ERROR(budget.Spend(size));
  for (int64_t k = 0; k < size; ++k) {
    const int64_t at = last ? size - 1 - k : k;
    BASALT_ASSIGN_OR_RETURN(const Value item, args[0].At(static_cast<size_t>(at)));
    if (Equal(item, args[1], nullptr)) return Value::Int(at);
  }
  return Value::Int(-1);
}

}  // namespace

const std::vector<NamedFunction>& TextFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"size", Size},
      {"startsWith", StartsWith},
      {"endsWith", EndsWith},
      {"contains", Contains},
      {"matches", Matches},
      {"find", FindFirst},
      {"findAll", FindAll},
      {"charAt", CharAt},
      {"indexOf", [](const Args& args, Budget& budget) { return IndexOf(args, budget, false); }},
      {"lastIndexOf", [](const Args& args, Budget& budget) { return IndexOf(args, budget, true); }},
      {"lowerAscii",
       [](const Args& args, Budget& budget) {
         return EachAscii(args, budget, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
       }},
      {"upperAscii",
       [](const Args& args, Budget& budget) {
         return EachAscii(args, budget, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
       }},
      {"replace", Replace},
      {"split", Split},
      {"substring", Substring},
      {"trim", Trim},
      {"join", Join},
      {"strings.quote", Quote},
      {"format", Format},
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
