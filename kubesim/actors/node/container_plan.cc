#include "kubesim/actors/node/container_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace basalt::actors {
namespace {

constexpr std::string_view kSilentPrograms[] = {"true",     ":",   "echo", "printf", "date",
                                                "hostname", "env", "pwd",  "uname"};

// A word of the script, or an operator between commands (`op` is not empty).
struct Token {
  std::string word;
  std::string_view op;
};

// Splits a script into tokens. Nullopt if the script uses a part of the shell that is not supported.
std::optional<std::vector<Token>> Tokenise(std::string_view script) {
  std::vector<Token> tokens;
  std::string word;
  bool in_word = false;
  const auto end_word = [&] {
    if (in_word) tokens.push_back({std::exchange(word, {}), {}});
    in_word = false;
  };
  for (size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    const char next = i + 1 < script.size() ? script[i + 1] : '\0';
    if (c == '\'' || c == '"') {
      const size_t close = script.find(c, i + 1);
      if (close == std::string_view::npos) return std::nullopt;
      const std::string_view inside = script.substr(i + 1, close - i - 1);
      if (c == '"' && inside.find_first_of("`\\") != std::string_view::npos) return std::nullopt;
      if (c == '"' && inside.find("$(") != std::string_view::npos) return std::nullopt;
      word += inside;
      in_word = true;
      i = close;
    } else if (c == ';' || c == '\n') {
      end_word();
      tokens.push_back({"", ";"});
    } else if ((c == '&' && next == '&') || (c == '|' && next == '|')) {
      end_word();
      tokens.push_back({"", c == '&' ? "&&" : "||"});
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else if (c == '#' && !in_word) {
      i = std::min(script.find('\n', i), script.size()) - 1;
    } else if (std::string_view("&|<>`\\(){}*?[]!~").find(c) != std::string_view::npos || (c == '$' && next == '(')) {
      return std::nullopt;
    } else {
      word += c;
      in_word = true;
    }
  }
  end_word();
  return tokens;
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<absl::Duration> SleepTime(std::string_view text) {
  if (text == "infinity" || text == "inf") return absl::InfiniteDuration();
  double unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 's':
        unit = 1;
        break;
      case 'm':
        unit = 60;
        break;
      case 'h':
        unit = 3600;
        break;
      case 'd':
        unit = 86400;
        break;
      default:
        unit = 0;
    }
    if (unit == 0) {
      unit = 1;
    } else {
      text.remove_suffix(1);
    }
  }
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  char* end = nullptr;
  const std::string copy(text);
  const double value = std::strtod(copy.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return absl::Seconds(value * unit);
}

std::optional<int> ExitCode(std::string_view text) {
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (error != std::errc() || end != text.data() + text.size() || code < 0) return std::nullopt;
  return code & 255;
}

struct Run {
  absl::Duration time;
  int last = 0;
  bool exited = false;
  bool errexit = false;
};

// Runs one simple command. Returns false if the command is not supported.
bool RunOne(const std::vector<std::string>& words, Run& run) {
  const std::string_view program = BaseName(words[0]);
  if (program == "sleep") {
    if (words.size() < 2) return false;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::optional<absl::Duration> time = SleepTime(words[i]);
      if (!time.has_value()) return false;
      run.time += *time;
    }
    run.last = 0;
    return true;
  }
  if (program == "exit") {
    if (words.size() > 2) return false;
    const std::optional<int> code = words.size() == 2 ? ExitCode(words[1]) : run.last;
    if (!code.has_value()) return false;
    run.last = *code;
    run.exited = true;
    return true;
  }
  if (program == "false") {
    run.last = 1;
    return true;
  }
  if (program == "set") {
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i].starts_with("-") && words[i].find('e') != std::string::npos && words[i] != "-o") run.errexit = true;
    }
    run.last = 0;
    return true;
  }
  if (std::find(std::begin(kSilentPrograms), std::end(kSilentPrograms), program) != std::end(kSilentPrograms)) {
    run.last = 0;
    return true;
  }
  return false;
}

std::optional<ContainerPlan> PlanOfScript(std::string_view script, bool errexit) {
  const std::optional<std::vector<Token>> tokens = Tokenise(script);
  if (!tokens.has_value()) return std::nullopt;
  Run run;
  run.errexit = errexit;
  std::vector<std::string> words;
  std::string_view before = ";";
  bool any = false;
  const auto finish = [&](std::string_view after) {
    if (words.empty()) return after == ";";
    any = true;
    const bool runs =
        !run.exited && (before == ";" || (before == "&&" && run.last == 0) || (before == "||" && run.last != 0));
    // A skipped command must be supported, too: a script is simulated whole or not at all.
    Run skipped = run;
    if (!RunOne(words, runs ? run : skipped)) return false;
    if (runs && run.errexit && run.last != 0 && after == ";" && before != "||") run.exited = true;
    words.clear();
    before = after;
    return true;
  };
  for (const Token& token : *tokens) {
    if (token.op.empty()) {
      words.push_back(token.word);
    } else if (!finish(token.op)) {
      return std::nullopt;
    }
  }
  if (!finish(";") || !any) return std::nullopt;
  return ContainerPlan{run.time, run.last};
}

}  // namespace

std::optional<ContainerPlan> PlanOfCommand(const std::vector<std::string>& argv) {
  if (argv.empty()) return std::nullopt;
  const std::string_view program = BaseName(argv[0]);
  if (program == "sh" || program == "bash" || program == "ash" || program == "dash") {
    bool errexit = false;
    for (size_t i = 1; i < argv.size(); ++i) {
      const std::string_view flag = argv[i];
      if (flag.size() < 2 || flag[0] != '-' || flag.find_first_not_of("-ceulx") != std::string_view::npos) {
        return std::nullopt;
      }
      if (flag.find('e') != std::string_view::npos) errexit = true;
      if (flag.find('c') != std::string_view::npos) {
        if (i + 1 >= argv.size()) return std::nullopt;
        return PlanOfScript(argv[i + 1], errexit);
      }
    }
    return std::nullopt;
  }
  // Without a shell every word is an argument, also "&&".
  Run run;
  if (!RunOne(argv, run)) return std::nullopt;
  return ContainerPlan{run.time, run.last};
}

}  // namespace basalt::actors
