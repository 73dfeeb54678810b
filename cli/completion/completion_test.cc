// Completions of the real command line, as the program answers them and as the installed shells show them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/commands.h"
#include "cli/completion/complete.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

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
  explicit Shell(std::string name) : name_(std::move(name)) {
    const std::string script = fmt::format("{}/basaltctl completion {} > {}", BASALT_BIN_DIR, name_, dir_ / "script");
    EXPECT_EQ(std::system(script.c_str()), 0);
    std::ofstream(dir_ / "manifest.yaml") << "";
  }
  std::vector<std::string> Complete(const std::vector<std::string>& words) const {
    std::ofstream(dir_ / "try") << (name_ == "bash" ? Bash(words) : name_ == "zsh" ? Zsh(words) : Fish(words));
    return Lines(fmt::format("cd {} && HOME={} PATH={}:$PATH {}{} {} 2>&1", dir_.path(), dir_.path(), BASALT_BIN_DIR,
                             name_, name_ == "zsh" ? " -f" : "", dir_ / "try"));
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
  // Functions that exist only while zsh edits a line are replaced by functions that print their arguments.
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

class ShellTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ShellTest, CompletesWhatTheCommandLineTakes) {
  ASSERT_TRUE(HasShell(GetParam())) << GetParam() << " is not installed";
  const Shell shell(GetParam());
  // zsh and fish filter by the beginning of the word themselves.
  const auto complete = [&](std::vector<std::string> words) {
    const std::string last = words.back();
    return BeginningWith(shell.Complete(words), last);
  };
  EXPECT_THAT(complete({""}), IsSupersetOf({"job", "podgroup", "queue", "topology", "preflight", "completion"}));
  EXPECT_THAT(complete({"to"}), UnorderedElementsAre("topology"));
  EXPECT_THAT(complete({"job", "su"}), UnorderedElementsAre("submit", "suspend"));
  EXPECT_THAT(complete({"-n", "job", "job", "wa"}), UnorderedElementsAre("wait", "watch"))
      << "the value of an option is no command";
  for (const char* group : {"podgroup", "queue"}) {
    EXPECT_THAT(complete({group, "wa"}), UnorderedElementsAre("watch"));
  }
  EXPECT_THAT(complete({"job", "restart", "--p"}), UnorderedElementsAre("--partition", "--pod"));
  EXPECT_THAT(complete({"job", "get", "--out"}), UnorderedElementsAre("--output")) << "options of all commands above";
  EXPECT_THAT(complete({"job", "list", "--part"}), IsEmpty()) << "an option of another command";
  EXPECT_THAT(complete({"job", "list", "--phase", "Ab"}), UnorderedElementsAre("Aborted", "Aborting"));
  EXPECT_THAT(complete({"job", "get", "-o", ""}), UnorderedElementsAre("json", "table", "yaml"));
  EXPECT_THAT(complete({"topology", "--slots", "p"}), UnorderedElementsAre("pgsvc"));
  EXPECT_THAT(complete({"completion", "b"}), UnorderedElementsAre("bash"));
  EXPECT_THAT(complete({"job", "submit", "-f", "man"}), UnorderedElementsAre("manifest.yaml"));
  EXPECT_THAT(complete({"job", "wait", "j", "--for", "Del"}), UnorderedElementsAre("Deleted"));
  EXPECT_THAT(complete({"job", "wait", "j", "--for", "Failed,Comp"}),
              UnorderedElementsAre("Failed,Completed", "Failed,Completing"));
}

INSTANTIATE_TEST_SUITE_P(Shells, ShellTest, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

TEST(BashTest, CompletesValuesAfterAnEqualsSign) {
  ASSERT_TRUE(HasShell("bash")) << "bash is not installed";
  const Shell shell("bash");
  EXPECT_THAT(shell.Complete({"job", "get", "--output", "=", "y"}), UnorderedElementsAre("yaml"));
  EXPECT_THAT(shell.Complete({"job", "get", "--output", "="}), UnorderedElementsAre("json", "table", "yaml"));
  EXPECT_THAT(shell.Complete({"job", "submit", "--filename", "="}),
              UnorderedElementsAre("manifest.yaml", "script", "try"));
}

// bash splits the word at "="; zsh and fish leave the word whole.
TEST(FishTest, CompletesValuesAfterAnEqualsSign) {
  ASSERT_TRUE(HasShell("fish")) << "fish is not installed";
  const Shell shell("fish");
  EXPECT_THAT(shell.Complete({"job", "get", "--output=y"}), UnorderedElementsAre("--output=yaml"));
  EXPECT_THAT(shell.Complete({"job", "submit", "--filename=man"}), UnorderedElementsAre("--filename=manifest.yaml"));
}

// Returns the answer as "KIND: a b", such as "words: a b".
std::string Answer(const std::vector<std::string>& line) {
  CLI::App app("", "basaltctl");
  GlobalOptions options;
  int exit_code = 0;
  AddCommands(app, options, exit_code);
  const Completions completions = Complete(app, line);
  std::string text = TextOf({completions.kind, {}});
  text.back() = ':';
  for (const Completions::Word& word : completions.words) text += " " + word.text;
  return text;
}

TEST(CompleteTest, AnswersWhatMayStandThere) {
  const struct {
    std::vector<std::string> line;
    std::string answer;
  } rows[] = {
      {{"job", "su"}, "words: suspend submit"},
      {{"nothing", "su"}, "words:"},
      {{"job", "get", "job", "to"}, "words:"},
      {{"-A", "topo"}, "words: topology"},
      {{"--namespace=job", "topo"}, "words: topology"},
      {{"--namespace", "=", "job", "topo"}, "words: topology"},
      {{"job", "get", "--no-such", "--output", ""}, "words: table json yaml"},
      {{"job", "get", "--output=j"}, "words: --output=json"},
      {{"job", "get", "--no-such=j"}, "words:"},
      {{"job", "list", "--pod"}, "words:"},
      {{"job", "restart", "j", "--pod"}, "words: --pod"},
      {{"job", "submit", "-f", "x"}, "files:"},
      {{"job", "submit", "--filename=x"}, "files:"},
      {{"job", "wait", "--for", "Failed,Comple"}, "list: Failed,Completing Failed,Completed"},
      {{"job", "wait", "--for=Failed,Completed,Del"}, "list: --for=Failed,Completed,Deleted"},
      {{"completion", "z"}, "words: zsh"},
      {{"__comp"}, "words:"},
      {{}, Answer({""})},
  };
  for (const auto& row : rows) EXPECT_EQ(Answer(row.line), row.answer) << fmt::format("{}", fmt::join(row.line, " "));
}

TEST(CompleteTest, AWordComesWithTheFirstSentenceOfItsHelp) {
  EXPECT_EQ(TextOf({Completions::Kind::kWords, {{"a", ""}, {"b", "does so"}}}), "words\na\nb\tdoes so\n");
}

}  // namespace
}  // namespace basalt::cli
