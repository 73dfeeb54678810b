#pragma once

// What can be completed, read off the command line's own definition, so that nothing falls behind it. Pure.
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
    kList,   // Several of the words may be joined by commas; those before are in each word.
    kFiles,  // Names of files, which the shell knows.
  };
  struct Word {
    std::string text;
    std::string help;  // May be empty.
  };
  Kind kind = Kind::kWords;
  std::vector<Word> words;  // Those that begin as the one to be completed.
};

// `line`: what follows the program's name, up to the word to be completed, which may be empty. "--name=value" may come
// as one word or, as bash splits it, as three. An option is completed by what stands for its value in the help: {a,b}
// is a set of values, FILE a file.
Completions Complete(const CLI::App& app, const std::vector<std::string>& line);

// What the scripts read: a line with the kind ("words", "list" or "files"), then a line for each word, with a tab
// before its help.
std::string TextOf(const Completions& completions);

}  // namespace basalt::cli
