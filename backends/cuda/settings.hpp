// What the user chose for this backend, read once from the options.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <string>

namespace convoy::cuda {

/// fp32: products of full floats. tf32: of floats whose mantissa has 10 bits. bf16, fp16: activations and working copies
/// of weights in 16 bits. Sums, parameters, statistics and losses are f32 in all of them.
enum class Precision { fp32, tf32, bf16, fp16 };

struct Settings {
  uint32_t ordinal = 0;
  Precision precision = Precision::fp32;
  bool deterministic = true;  // only algorithms that give the same bits run to run
  bool fusion = true;         // off: a kernel for each node, for tests
  bool graph = true;          // off: every step is enqueued kernel by kernel
  bool profile = false;
  int candidates = 8;         // plans timed for each distinct operation; 1 = the heuristics' first
  std::string cache;          // folder of remembered plans; empty = none
};

constexpr const char* kSchema =
    "fusion : bool = true # compute several nodes in one kernel\n"
    "graph : bool = true # record a step once and replay it\n"
    "candidates : int = 8 [1..64] # algorithms timed for each distinct convolution; 1 takes the library's first\n"
    "cache : string = \"default\" # folder that remembers which algorithms won; \"off\" searches anew\n"
    "nondeterministic : bool = false # allow algorithms whose bits differ from run to run\n"
    "profile : bool = false # log where the time of a step goes, when it is over";

/// Errors: invalid, for a precision that does not exist.
Settings read_settings(const Options& o);

const char* name_of(Precision p);

}  // namespace convoy::cuda
