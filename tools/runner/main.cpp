// The program: picks the command, turns errors into messages and exit codes.
#include "error.hpp"
#include "nearest.hpp"
#include "runner/describe_command.hpp"
#include "runner/output.hpp"
#include "runner/plugins_command.hpp"
#include "runner/run_command.hpp"
#include "runner/version.hpp"

#include <convoy/abi/plain.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using convoy::Error;
using convoy::ErrorKind;

constexpr const char* kHelp = R"(runner: trains convolutional networks described by one TOML file

usage
  runner EXPERIMENT.toml [options]            run an experiment
  runner validate EXPERIMENT.toml [options]   check it and print it with every default
  runner describe MODEL [options]             layers, shapes, parameters, multiply-adds
  runner plugins [NAME] [options]             what is there: models, devices, data
  runner --version

Each command has --help with its options and examples.

Examples
  runner configs/quickstart.toml
  runner configs/train/mnist.toml --set run.epochs=1
  runner plugins --probe

Exit codes
  0 done · 1 bug · 2 usage or experiment · 3 data · 4 plugin or device · 5 numerics ·
  6 peer lost or time-out · 7 storage · 75 stopped on request, weights of a training saved
)";

const std::vector<std::string> kCommands{"validate", "describe", "plugins"};
const std::vector<std::string> kNotYet{"explain", "report", "compare", "predict", "doctor", "conform", "lock"};

bool contains(const std::vector<std::string>& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

/// A word that is neither a command nor looks like a file is a misspelt command.
void refuse_unknown_command(const std::string& word) {
  if (contains(kNotYet, word)) throw Error(ErrorKind::usage, fmt::format("'runner {}' is not in this version", word)).note("known", convoy::join_names(kCommands));
  std::error_code ignored;
  if (word.find('.') != std::string::npos || word.find('/') != std::string::npos || std::filesystem::exists(word, ignored)) return;
  Error e(ErrorKind::usage, fmt::format("'{}' is neither a command nor an experiment file", word));
  e.note("known", convoy::join_names(kCommands) + ", or a .toml file");
  if (const auto near = convoy::nearest_name(word, kCommands); !near.empty()) e.note("fix", fmt::format("did you mean 'runner {}'?", near));
  throw e;
}

int dispatch(const std::vector<std::string>& argv) {
  const std::vector<std::string> args(argv.begin() + 1, argv.end());
  if (args.empty()) throw Error(ErrorKind::usage, "no experiment file is named").note("fix", "runner configs/quickstart.toml, or runner --help");
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "--help" || args[0] == "-h") return std::fputs(kHelp, stdout), convoy::runner::printed(0);
  if (args[0] == "--version") return fmt::print("runner {} (plugin ABI {}.{})\n", convoy::runner::kVersion, CONVOY_ABI_EPOCH, CONVOY_ABI_MINOR), convoy::runner::printed(0);
  if (args[0] == "validate") return convoy::runner::printed(convoy::runner::validate_command(rest));
  if (args[0] == "describe") return convoy::runner::printed(convoy::runner::describe_command(rest));
  if (args[0] == "plugins") return convoy::runner::printed(convoy::runner::plugins_command(rest));
  if (args[0][0] != '-') refuse_unknown_command(args[0]);
  return convoy::runner::run_command(args, argv);
}

/// Not by fmt::print, which throws where standard error cannot be written.
int complain(const std::string& text, ErrorKind kind) {
  std::fputs((text + "\n").c_str(), stderr);
  return static_cast<int>(kind);
}

}  // namespace

int main(int argc, char** argv) {
  convoy::runner::fill_standard_descriptors();
  try {
    return dispatch({argv, argv + argc});
  } catch (const Error& e) {
    return complain(e.render(), e.kind());
  } catch (const std::exception& e) {
    if (std::ferror(stdout) != 0) return complain(fmt::format("error: standard output could not be written ({})", e.what()), ErrorKind::storage);
    return complain(fmt::format("error: {}\n  cause  a bug in the program; please report it with the command", e.what()), ErrorKind::bug);
  }
}
