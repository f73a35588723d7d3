#include "runner/arguments.hpp"

#include "error.hpp"
#include "nearest.hpp"

#include <boost/program_options.hpp>

#include <fmt/format.h>

#include <iostream>
#include <sstream>

namespace convoy::runner {

namespace {

namespace po = boost::program_options;

constexpr const char* kRunExamples = R"(
Examples
  runner configs/quickstart.toml
  runner exp.toml --set optimizer.lr=0.05 --set data.batch=64
  runner exp.toml --set device.use=reference --out /tmp/runs
  runner exp.toml --plugin-dir ./my-plugins
  runner configs/bench/inference.toml --sweep data.batch=1,8 --out /tmp/bench
  runner configs/bench/inference.toml --sweep data.batch=1,8 --out /tmp/bench --resume auto

Exit codes
  0 done · 1 bug · 2 usage or experiment · 3 data · 4 plugin or device · 5 numerics ·
  6 peer lost or time-out · 7 storage · 75 stopped on request, weights of a training saved
)";

constexpr const char* kValidateExamples = R"(
Prints the experiment with every default filled in. Needs no device.

Examples
  runner validate exp.toml
  runner validate exp.toml --set model.depth=34 > resolved.toml
)";

constexpr const char* kDescribeExamples = R"(
Layers, shapes, parameters and multiply-adds of a model, for one image and with f32 values. Needs no device.
Keys are those of [model]: the model's own (runner plugins MODEL lists them), classes and image.

Examples
  runner describe resnet --set depth=50 --set version=v1.5
  runner describe resnet --set depth=20 --set image=32 --json
)";

constexpr const char* kPluginsExamples = R"(
Lists plugins without loading them. --probe loads each in a child process, 10 s each.

Examples
  runner plugins
  runner plugins resnet
  runner plugins --probe --json
)";

void show_help(const std::string& usage, const po::options_description& options, const char* examples) {
  std::cout << "usage: " << usage << "\n\n" << options << examples;
}

[[noreturn]] void wrong_word(const std::string& word, const std::string& what, const po::options_description& options) {
  std::vector<std::string> known;
  for (const auto& o : options.options())
    if (!o->long_name().empty()) known.push_back("--" + o->long_name());
  Error e(ErrorKind::usage, what);
  e.note("known", join_names(known));
  if (const auto near = nearest_name(word, known); !near.empty()) e.note("fix", fmt::format("did you mean {}?", near));
  throw e;
}

po::variables_map parse(const std::vector<std::string>& args, const po::options_description& visible,
                        const po::options_description& all, const po::positional_options_description& positional) {
  po::variables_map vm;
  try {
    // No guessing of shortened names: a script must not change meaning when an option is added.
    const auto style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(args).options(all).positional(positional).style(style).run(), vm);
    po::notify(vm);
  } catch (const po::unknown_option& e) {
    wrong_word(e.get_option_name(), fmt::format("unknown option {}", e.get_option_name()), visible);
  } catch (const po::error& e) {
    wrong_word("", e.what(), visible);
  }
  return vm;
}

}  // namespace

RunArguments parse_run_arguments(const std::vector<std::string>& args, const std::string& command) {
  RunArguments out;
  po::options_description visible("Options");
  visible.add_options()("help,h", "this text")("set", po::value(&out.set)->value_name("KEY=VALUE")->composing(), "replace a value of the experiment; may be repeated")(
      "sweep", po::value(&out.sweep)->value_name("KEY=A,B")->composing(), "run each of these values; may be repeated, and then each combination")(
      "plugin-dir", po::value(&out.plugin_dirs)->value_name("DIR")->composing(), "look for plugins here first; may be repeated")(
      "allow-experiment-plugins", po::bool_switch(&out.allow_experiment_plugins), "load plugin files that the experiment names by path");
  if (command == "run")
    visible.add_options()("out", po::value(&out.out)->value_name("DIR")->default_value("runs"), "where run directories are made")(
        "verbose,v", po::bool_switch(&out.verbose), "show debug messages")("resume", po::value(&out.resume)->value_name("auto|PATH"),
                                                                           "go on with a sweep or benchmark: its run directory, or the newest of the same under --out");
  po::options_description all = visible;
  all.add_options()("experiment", po::value(&out.experiment));
  po::positional_options_description positional;
  positional.add("experiment", 1);
  const auto vm = parse(args, visible, all, positional);
  if (vm.count("help") != 0) {
    const bool run = command == "run";
    show_help(run ? "runner EXPERIMENT.toml [options]" : "runner validate EXPERIMENT.toml [options]", visible, run ? kRunExamples : kValidateExamples);
    out.help = true;
    return out;
  }
  if (out.experiment.empty()) throw Error(ErrorKind::usage, "no experiment file is named").note("fix", "runner configs/quickstart.toml");
  return out;
}

DescribeArguments parse_describe_arguments(const std::vector<std::string>& args) {
  DescribeArguments out;
  po::options_description visible("Options");
  visible.add_options()("help,h", "this text")("set", po::value(&out.set)->value_name("KEY=VALUE")->composing(), "an option of the model; may be repeated")(
      "json", po::bool_switch(&out.json), "print JSON")("plugin-dir", po::value(&out.plugin_dirs)->value_name("DIR")->composing(), "look for plugins here first; may be repeated");
  po::options_description all = visible;
  all.add_options()("model", po::value(&out.model));
  po::positional_options_description positional;
  positional.add("model", 1);
  const auto vm = parse(args, visible, all, positional);
  if (vm.count("help") != 0) {
    show_help("runner describe MODEL [options]", visible, kDescribeExamples);
    out.help = true;
  } else if (out.model.empty()) {
    throw Error(ErrorKind::usage, "no model is named").note("fix", "runner describe resnet --set depth=50; runner plugins lists models");
  }
  return out;
}

PluginsArguments parse_plugins_arguments(const std::vector<std::string>& args) {
  PluginsArguments out;
  po::options_description visible("Options");
  visible.add_options()("help,h", "this text")("probe", po::bool_switch(&out.probe), "load each in a child process and ask what it can do here")(
      "json", po::bool_switch(&out.json), "print JSON")("check", po::value(&out.check)->value_name("FILE"), "check one plugin file, for its author's build")(
      "plugin-dir", po::value(&out.plugin_dirs)->value_name("DIR")->composing(), "look for plugins here first; may be repeated");
  po::options_description all = visible;
  all.add_options()("name", po::value(&out.name))("probe-one", po::value(&out.probe_one));
  po::positional_options_description positional;
  positional.add("name", 1);
  const auto vm = parse(args, visible, all, positional);
  if (vm.count("help") != 0) {
    show_help("runner plugins [NAME] [options]", visible, kPluginsExamples);
    out.help = true;
  }
  return out;
}

}  // namespace convoy::runner
