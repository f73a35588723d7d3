// Plugins that exist only as schemas, for tests of experiment files.
// Not a registry: nothing is loaded, and only the names below are known.
#pragma once

#include "experiment/experiment.hpp"

#include <map>
#include <string>
#include <utility>

namespace convoy::testing {

class Schemas final : public experiment::SchemaSource {
 public:
  std::string schema(const std::string& kind, const std::string& use, const Position& at) override {
    const auto found = known_.find({kind, use});
    if (found == known_.end())
      throw Error(ErrorKind::usage, to_string(at) + ": there is no " + kind + " " + experiment::quoted(use), "P101");
    return found->second;
  }

  std::string auto_device() override { return "cpu"; }

  void set(const std::string& kind, const std::string& use, const std::string& schema) { known_[{kind, use}] = schema; }

 private:
  std::map<std::pair<std::string, std::string>, std::string> known_{
      {{"model", "resnet"},
       "depth : int = 50 [1..1000] # layers\n"
       "version : string = \"v1.5\" [\"v1\"|\"v1.5\"|\"v2\"]\n"},
      {{"model", "every"},
       "flag : bool = true\n"
       "whole : int = -3\n"
       "part.ratio : float = 0.5\n"
       "text : string = \"\"\n"
       "part.wholes : [int] = [1, 2]\n"
       "ratios : [float] = []\n"
       "part.deep.texts : [string] = [\"a\"]\n"},
      {{"device", "cpu"}, "profile : bool = false\n"},
      {{"device", "other"}, ""},
      {{"comm", "threads"}, "spin : bool = true\n"},
      {{"sync", "ring_allreduce"}, "bucket_mib : float = 25 [0.1..1024]\noverlap : bool = true\n"},
      {{"data", "shapes"}, "train : int = 1000 [0..]\n"},
      {{"data", "idx"}, "path : string # folder\n"},
  };
};

}  // namespace convoy::testing
