// The command line of each command. The only user of Boost.Program_options, in arguments.cpp.
#pragma once

#include <string>
#include <vector>

namespace convoy::runner {

struct RunArguments {
  bool help = false;  // it was shown
  std::string experiment;
  std::vector<std::string> set;          // "key=value"
  std::vector<std::string> sweep;        // "key=a,b"
  std::string resume;                    // "", "auto" or a run directory
  std::vector<std::string> plugin_dirs;
  std::string out = "runs";
  bool allow_experiment_plugins = false;
  bool verbose = false;
};

/// Errors: usage, naming the word that is wrong, the known ones and the nearest.
RunArguments parse_run_arguments(const std::vector<std::string>& args, const std::string& command);

struct DescribeArguments {
  bool help = false;
  std::string model;
  std::vector<std::string> set;  // "depth=50": keys of [model]
  bool json = false;
  std::vector<std::string> plugin_dirs;
};

DescribeArguments parse_describe_arguments(const std::vector<std::string>& args);

struct PluginsArguments {
  bool help = false;
  std::string name;  // "" = all
  bool probe = false;
  bool json = false;
  std::string check;      // --check FILE
  std::string probe_one;  // --probe-one FILE: what --probe runs in a child
  std::vector<std::string> plugin_dirs;
};

PluginsArguments parse_plugins_arguments(const std::vector<std::string>& args);

}  // namespace convoy::runner
