#include "cli/completion/complete.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

namespace basalt::cli {
namespace {

// Returns the values a and b of an option whose type is named "TEXT:{a,b}".
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}', open == type.npos ? 0 : open);
  if (open == type.npos || close == type.npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// Returns the options of the command and of all commands above it. --help is defined at every level, so options of the
// same names are skipped.
std::vector<const CLI::Option*> OptionsAt(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      const bool is_known = std::any_of(options.begin(), options.end(),
                                        [&](const CLI::Option* other) { return NamesOf(*other) == NamesOf(*option); });
      if (!option->get_positional() && !is_known) options.push_back(option);
    }
  }
  return options;
}

const CLI::Option* FindOption(const CLI::App& command, std::string_view name) {
  for (const CLI::Option* option : OptionsAt(command)) {
    for (const std::string& known : NamesOf(*option)) {
      if (known == name) return option;
    }
  }
  return nullptr;
}

std::vector<const CLI::App*> CommandsBelow(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

class Collector {
 public:
  explicit Collector(std::string_view begin) : begin_(begin) {}
  // Adds the word, with the first part of its help, if it begins as the word to be completed.
  void Add(std::string text, std::string_view help = {}) {
    if (!text.starts_with(begin_)) return;
    completions.words.push_back({std::move(text), std::string(help.substr(0, help.find_first_of(";\n")))});
  }
  Completions completions;

 private:
  const std::string_view begin_;
};

// Completes the value of an option. `before` is the part of `word` before the value, such as "--name=".
Completions ValuesAt(const CLI::Option& option, std::string before, std::string_view word) {
  Collector found(word);
  if (option.get_type_name().find("FILE") != std::string::npos) found.completions.kind = Completions::Kind::kFiles;
  if (option.get_delimiter() != '\0') {
    found.completions.kind = Completions::Kind::kList;
    before = word.substr(0, std::max(before.size(), word.rfind(',') + 1));
  }
  for (const std::string& value : ValuesOf(option)) found.Add(before + value);
  return std::move(found.completions);
}

}  // namespace

Completions Complete(const CLI::App& app, const std::vector<std::string>& line) {
  const CLI::App* at = &app;
  const CLI::Option* option = nullptr;  // The option whose value is the next word.
  std::string_view word;
  for (size_t i = 0; i < line.size(); ++i) {
    word = line[i];
    if (word == "=") word = {};
    if (i + 1 == line.size() || line[i] == "=") continue;
    if (std::exchange(option, nullptr) != nullptr) continue;
    if (word.starts_with('-')) {
      option = FindOption(*at, word);
      if (option != nullptr && !TakesValue(*option)) option = nullptr;
      continue;
    }
    for (const CLI::App* command : CommandsBelow(*at)) {
      if (command->check_name(line[i])) at = command;
    }
  }
  if (option != nullptr) return ValuesAt(*option, "", word);
  if (const size_t equals = word.find('='); word.starts_with("--") && equals != word.npos) {
    option = FindOption(*at, word.substr(0, equals));
    return option == nullptr ? Completions() : ValuesAt(*option, std::string(word.substr(0, equals + 1)), word);
  }
  Collector found(word);
  if (word.starts_with('-')) {
    for (const CLI::Option* known : OptionsAt(*at)) {
      for (const std::string& name : NamesOf(*known)) found.Add(name, known->get_description());
    }
    return std::move(found.completions);
  }
  for (const CLI::App* command : CommandsBelow(*at)) found.Add(command->get_name(), command->get_description());
  for (const CLI::Option* argument : at->get_options()) {
    if (!argument->get_positional()) continue;
    for (const std::string& value : ValuesOf(*argument)) found.Add(value);
  }
  return std::move(found.completions);
}

std::string TextOf(const Completions& completions) {
  using Kind = Completions::Kind;
  std::string text = completions.kind == Kind::kFiles  ? "files\n"
                     : completions.kind == Kind::kList ? "list\n"
                                                       : "words\n";
  for (const Completions::Word& word : completions.words) {
    text += word.help.empty() ? fmt::format("{}\n", word.text) : fmt::format("{}\t{}\n", word.text, word.help);
  }
  return text;
}

}  // namespace basalt::cli
