#pragma once

// Completions of the command line. They are derived from the definition of the commands, so that the two cannot
// differ. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace basalt::cli {

struct Completions {
  enum class Kind {
    kWords,
    kList,   // The value is a list with commas. Each word includes the part of the list before it.
    kFiles,  // The value is the name of a file, which the shell completes.
  };
  struct Word {
    std::string text;
    std::string help;  // May be empty.
  };
  Kind kind = Kind::kWords;
  std::vector<Word> words;  // Only words that begin with the word to be completed.
};

// Completes the last word of `line`, which has the words behind the program's name; the last word may be empty.
// "--name=value" may come as one word or, as bash splits it, as three. The values of an option are taken from the name
// of its type in the help: {a,b} is a set of values, FILE a file.
Completions Complete(const CLI::App& app, const std::vector<std::string>& line);

// Returns the text for the scripts: a line with the kind ("words", "list" or "files"), then a line for each word, with
// a tab before its help.
std::string TextOf(const Completions& completions);

}  // namespace basalt::cli
