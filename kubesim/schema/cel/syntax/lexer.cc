#include "kubesim/schema/cel/syntax/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace basalt::kubesim::cel {
namespace {

using TokenKind = Token::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool IsIdentStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsIdent(char c) { return IsIdentStart(c) || IsDigit(c); }

void AppendUtf8(std::string& out, uint32_t rune) {
  if (rune < 0x80) {
    out += static_cast<char>(rune);
  } else if (rune < 0x800) {
    out += static_cast<char>(0xC0 | (rune >> 6));
    out += static_cast<char>(0x80 | (rune & 0x3F));
  } else if (rune < 0x10000) {
    out += static_cast<char>(0xE0 | (rune >> 12));
    out += static_cast<char>(0x80 | ((rune >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (rune & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (rune >> 18));
    out += static_cast<char>(0x80 | ((rune >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((rune >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (rune & 0x3F));
  }
}

std::optional<uint32_t> ReadDigits(std::string_view text, size_t count, uint32_t base) {
  if (text.size() < count) return std::nullopt;
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    const char c = text[i];
    if (!IsHex(c)) return std::nullopt;
    const uint32_t digit = IsDigit(c) ? static_cast<uint32_t>(c - '0') : static_cast<uint32_t>((c | 0x20) - 'a') + 10;
    if (digit >= base) return std::nullopt;
    number = number * base + digit;
  }
  return number;
}

// Reads one escape behind its backslash. Nothing where it is none.
std::optional<size_t> Unescape(std::string_view text, bool bytes, std::string& out) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kNames = "abfnrtv\\'\"`?";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"`?";
  if (const size_t at = kNames.find(text[0]); at != std::string_view::npos) {
    out += kValues[at];
    return 1;
  }
  struct Form {
    char letter;
    size_t digits;
    bool rune;
  };
  for (const Form form : {Form{'x', 2, false}, Form{'X', 2, false}, Form{'u', 4, true}, Form{'U', 8, true}}) {
    if (text[0] != form.letter || (form.rune && bytes)) continue;
    const std::optional<uint32_t> number = ReadDigits(text.substr(1), form.digits, 16);
    if (!number || *number > 0x10FFFF || (*number >= 0xD800 && *number <= 0xDFFF)) return std::nullopt;
    if (bytes) {
      out += static_cast<char>(*number);
    } else {
      AppendUtf8(out, *number);
    }
    return form.digits + 1;
  }
  if (text[0] >= '0' && text[0] <= '3') {
    const std::optional<uint32_t> number = ReadDigits(text, 3, 8);
    if (!number) return std::nullopt;
    if (bytes) {
      out += static_cast<char>(*number);
    } else {
      AppendUtf8(out, *number);
    }
    return 3;
  }
  return std::nullopt;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::vector<Issue>* issues) : source_(source), issues_(issues) {}

  std::vector<Token> Run() {
    while (Skip(), at_ < source_.size()) {
      const char c = source_[at_];
      if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
        Number();
      } else if (!Text() && !Ident()) {
        Sign();
      }
    }
    tokens_.push_back({TokenKind::kEnd, static_cast<int>(source_.size()), "<EOF>", ""});
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void Skip() {
    while (at_ < source_.size()) {
      if (std::string_view(" \t\r\n\f").find(source_[at_]) != std::string_view::npos) {
        ++at_;
      } else if (source_.substr(at_, 2) == "//") {
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  void Add(TokenKind kind, size_t length, std::string value = "") {
    tokens_.push_back({kind, static_cast<int>(at_), source_.substr(at_, length), std::move(value)});
    at_ += length;
  }

  void Number() {
    size_t n = 0;
    if (Peek(0) == '0' && (Peek(1) == 'x' || Peek(1) == 'X') && IsHex(Peek(2))) {
      n = 2;
      while (IsHex(Peek(n))) ++n;
      const bool is_unsigned = Peek(n) == 'u' || Peek(n) == 'U';
      Add(is_unsigned ? TokenKind::kUint : TokenKind::kInt, is_unsigned ? n + 1 : n);
      return;
    }
    bool fraction = false;
    while (IsDigit(Peek(n))) ++n;
    if (Peek(n) == '.' && IsDigit(Peek(n + 1))) {
      fraction = true;
      ++n;
      while (IsDigit(Peek(n))) ++n;
    }
    if (Peek(n) == 'e' || Peek(n) == 'E') {
      const size_t sign = Peek(n + 1) == '+' || Peek(n + 1) == '-' ? 1 : 0;
      if (IsDigit(Peek(n + 1 + sign))) {
        fraction = true;
        n += 1 + sign;
        while (IsDigit(Peek(n))) ++n;
      }
    }
    const bool is_unsigned = !fraction && (Peek(n) == 'u' || Peek(n) == 'U');
    Add(fraction ? TokenKind::kDouble : is_unsigned ? TokenKind::kUint : TokenKind::kInt, is_unsigned ? n + 1 : n);
  }

  // A string or bytes literal with its prefixes; false where there is none here.
  bool Text() {
    bool raw = false;
    bool bytes = false;
    size_t n = 0;
    for (; n < 2; ++n) {
      const char c = Peek(n);
      if ((c == 'r' || c == 'R') && !raw) {
        raw = true;
      } else if ((c == 'b' || c == 'B') && !bytes && !raw) {
        bytes = true;
      } else {
        break;
      }
    }
    const char quote = Peek(n);
    if (quote != '"' && quote != '\'') return false;
    const bool triple = Peek(n + 1) == quote && Peek(n + 2) == quote;
    n += triple ? 3 : 1;
    const size_t opening = n;
    std::string value;
    while (at_ + n < source_.size()) {
      const char c = Peek(n);
      if (c == quote && (!triple || (Peek(n + 1) == quote && Peek(n + 2) == quote))) {
        Add(bytes ? TokenKind::kBytes : TokenKind::kString, n + (triple ? 3 : 1), std::move(value));
        return true;
      }
      if (!triple && (c == '\n' || c == '\r')) break;
      if (c == '\\' && !raw) {
        const std::optional<size_t> read = Unescape(source_.substr(at_ + n + 1), bytes, value);
        if (!read) {
          n += 2;
          break;
        }
        n += 1 + *read;
        continue;
      }
      if (c == '\\' && raw && Peek(n + 1) != '\0') {  // A quote behind a backslash does not end a raw text.
        value += c;
        ++n;
      }
      value += Peek(n);
      ++n;
    }
    if (triple) {
      Add(bytes ? TokenKind::kBytes : TokenKind::kString, opening - 1);  // Without an end it is an empty text and more.
      return true;
    }
    Bad(source_.substr(at_, n));
    return true;
  }

  bool Ident() {
    if (!IsIdentStart(Peek(0))) return false;
    size_t n = 1;
    while (IsIdent(Peek(n))) ++n;
    Add(TokenKind::kIdent, n);
    return true;
  }

  void Sign() {
    static constexpr std::array<std::string_view, 24> kSigns = {"==", "!=", "<=", ">=", "&&", "||", "[", "]",
                                                                "{",  "}",  "(",  ")",  ".",  ",",  "-", "!",
                                                                "?",  ":",  "+",  "*",  "/",  "%",  "<", ">"};
    for (const std::string_view sign : kSigns) {
      if (source_.substr(at_, sign.size()) != sign) continue;
      Add(TokenKind::kSign, sign.size());
      return;
    }
    size_t n = 1;
    while ((Peek(n) & 0xC0) == 0x80) ++n;
    Bad(source_.substr(at_, n));
  }

  void Bad(std::string_view text) {
    issues_->push_back({static_cast<int>(at_), fmt::format("Syntax error: token recognition error at: '{}'", text)});
    at_ += std::max<size_t>(text.size(), 1);
  }

  std::string_view source_;
  std::vector<Issue>* issues_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source, std::vector<Issue>* issues) { return Lexer(source, issues).Run(); }

std::string IssuesText(std::string_view source, const std::vector<Issue>& issues) {
  std::string text;
  for (const Issue& issue : issues) {
    const size_t at = std::min<size_t>(static_cast<size_t>(std::max(issue.pos, 0)), source.size());
    const size_t newline = at == 0 ? std::string_view::npos : source.rfind('\n', at - 1);
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = source.substr(start, source.find('\n', start) - start);
    const auto before = source.substr(start, at - start);
    const auto column = std::count_if(before.begin(), before.end(), [](char c) { return (c & 0xC0) != 0x80; });
    const auto row = std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(start), '\n') + 1;
    text += fmt::format("{}ERROR: <input>:{}:{}: {}\n | {}\n | {}^", text.empty() ? "" : "\n", row, column + 1,
                        issue.message, line, std::string(static_cast<size_t>(column), '.'));
  }
  return text;
}

}  // namespace basalt::kubesim::cel
