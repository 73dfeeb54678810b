// The scripts for the real command line, sourced by the shells that are there.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "cli/commands.h"
#include "cli/completion/scripts.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const CompletionTree& Tree() {
  static const auto& kTree = *new CompletionTree([] {
    CLI::App app("", "basaltctl");
    GlobalOptions options;
    int exit_code = 0;
    AddCommands(app, options, exit_code);
    return ReadTree(app);
  }());
  return kTree;
}

std::vector<std::string> Lines(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (pipe != nullptr && std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << text;
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool HasShell(const std::string& shell) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", shell).c_str()) == 0;
}

// A shell that has sourced its script and completes the last of the words.
class Shell {
 public:
  Shell(std::string name, const std::string& script) : name_(std::move(name)) {
    std::ofstream(dir_ / "script") << script;
    std::ofstream(dir_ / "manifest.yaml") << "";
  }
  std::vector<std::string> Complete(const std::vector<std::string>& words) const {
    std::ofstream(dir_ / "try") << (name_ == "bash" ? Bash(words) : name_ == "zsh" ? Zsh(words) : Fish(words));
    return Lines(fmt::format("cd {} && {}{} {} 2>&1", dir_.path(), name_, name_ == "zsh" ? " -f" : "", dir_ / "try"));
  }

 private:
  static std::string Quote(const std::vector<std::string>& words) {
    return fmt::format("'{}'", fmt::join(words, "' '"));
  }
  std::string Bash(const std::vector<std::string>& words) const {
    return fmt::format(
        "set -eu\nsource ./script\ncomplete -p basaltctl >/dev/null\nCOMP_WORDS=(basaltctl {})\nCOMP_CWORD={}\n"
        "_basaltctl\n((${{#COMPREPLY[@]}} == 0)) || printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        Quote(words), words.size());
  }
  // What only exists while a line is edited is replaced by what tells of it.
  std::string Zsh(const std::vector<std::string>& words) const {
    return fmt::format(
        "compset() {{ :; }}\n_files() {{ print -l *; }}\n"
        "compadd() {{ while [[ $1 == -* ]]; do shift; done; print -l -- \"$@\"; }}\n"
        "_describe() {{ local w; for w in ${{(P)2}}; do print -r -- \"${{w%%:*}}\"; done; }}\n"
        "source ./script\nwords=(basaltctl {})\nCURRENT={}\n_basaltctl\ntrue\n",
        Quote(words), words.size() + 1);
  }
  std::string Fish(const std::vector<std::string>& words) const {
    return fmt::format("source ./script\ncomplete -C 'basaltctl {}' | string replace -r '\\t.*' ''\ntrue\n",
                       fmt::join(words, " "));
  }

  const std::string name_;
  testing::TempDir dir_;
};

std::vector<std::string> BeginningWith(std::vector<std::string> words, std::string_view prefix) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(prefix); });
  return words;
}

class ShellTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string Script() {
    return GetParam() == "bash"  ? BashCompletion(Tree())
           : GetParam() == "zsh" ? ZshCompletion(Tree())
                                 : FishCompletion(Tree());
  }
};

TEST_P(ShellTest, CompletesWhatTheCommandLineTakes) {
  ASSERT_TRUE(HasShell(GetParam())) << GetParam() << " is not installed";
  const Shell shell(GetParam(), Script());
  // zsh and fish filter by the beginning of the word themselves.
  const auto complete = [&](std::vector<std::string> words) {
    const std::string last = words.back();
    return BeginningWith(shell.Complete(words), last);
  };
  EXPECT_THAT(complete({""}), IsSupersetOf({"job", "queue", "topology", "preflight", "completion"}));
  EXPECT_THAT(complete({"to"}), UnorderedElementsAre("topology"));
  EXPECT_THAT(complete({"job", "su"}), UnorderedElementsAre("submit", "suspend"));
  EXPECT_THAT(complete({"-n", "job", "job", "wa"}), UnorderedElementsAre("wait", "watch"))
      << "the value of an option is no command";
  EXPECT_THAT(complete({"job", "restart", "--p"}), UnorderedElementsAre("--partition", "--pod"));
  EXPECT_THAT(complete({"job", "get", "--out"}), UnorderedElementsAre("--output")) << "options of all commands above";
  EXPECT_THAT(complete({"job", "list", "--part"}), IsEmpty()) << "an option of another command";
  EXPECT_THAT(complete({"job", "list", "--phase", "Ab"}), UnorderedElementsAre("Aborted", "Aborting"));
  EXPECT_THAT(complete({"job", "get", "-o", ""}), UnorderedElementsAre("json", "table", "yaml"));
  EXPECT_THAT(complete({"topology", "--slots", "p"}), UnorderedElementsAre("pgsvc"));
  EXPECT_THAT(complete({"completion", "b"}), UnorderedElementsAre("bash"));
  EXPECT_THAT(complete({"job", "submit", "-f", "man"}), UnorderedElementsAre("manifest.yaml"));
  EXPECT_THAT(complete({"job", "wait", "j", "--for", "Del"}), UnorderedElementsAre("Deleted"));
}

// Also where the shell is not there to be asked.
TEST_P(ShellTest, TheScriptNamesEveryCommandAndOption) {
  const std::string script = Script();
  for (const CompletionCommand& command : Tree().commands) {
    EXPECT_THAT(script, HasSubstr(command.path));
    for (const CompletionOption& option : command.options) {
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        const std::string word = GetParam() != "fish" ? name : (is_long ? "-l " : "-s ") + name.substr(is_long ? 2 : 1);
        EXPECT_THAT(script, HasSubstr(word)) << command.path;
      }
      for (const std::string& value : option.values) EXPECT_THAT(script, HasSubstr(value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, ShellTest, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

TEST(BashTest, CompletesListsAndValuesAfterAnEqualsSign) {
  ASSERT_TRUE(HasShell("bash")) << "bash is not installed";
  const Shell shell("bash", BashCompletion(Tree()));
  EXPECT_THAT(shell.Complete({"job", "wait", "j", "--for", "Failed,Comp"}),
              UnorderedElementsAre("Failed,Completed", "Failed,Completing"));
  EXPECT_THAT(shell.Complete({"job", "get", "--output", "=", "y"}), UnorderedElementsAre("yaml"));
  EXPECT_THAT(shell.Complete({"job", "get", "--output", "="}), UnorderedElementsAre("json", "table", "yaml"));
}

TEST(TreeTest, KnowsWhatAValueMayBe) {
  std::map<std::string, const CompletionOption*> options;
  for (const CompletionOption* option : OptionsAt(Tree(), "job wait")) options[option->names.front()] = option;
  ASSERT_TRUE(options.contains("--for"));
  EXPECT_TRUE(options["--for"]->is_list);
  EXPECT_THAT(options["--for"]->values, Contains("Deleted"));
  EXPECT_THAT(options["--output"]->values, UnorderedElementsAre("json", "table", "yaml"));
  EXPECT_TRUE(options["--gateway"]->takes_value);
  EXPECT_FALSE(options["--all-namespaces"]->takes_value);
  EXPECT_THAT(options, Not(Contains(::testing::Key("--task")))) << "of another command";
}

// The scripts skip the word after an option wherever it stands.
TEST(TreeTest, AnOptionTakesAValueEverywhereOrNowhere) {
  std::map<std::string, bool> takes;
  for (const CompletionCommand& command : Tree().commands) {
    for (const CompletionOption& option : command.options) {
      for (const std::string& name : option.names) {
        EXPECT_EQ(takes.try_emplace(name, option.takes_value).first->second, option.takes_value) << name;
      }
    }
  }
}

}  // namespace
}  // namespace basalt::cli
