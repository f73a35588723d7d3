#include "settings.hpp"

#include "plan_memory.hpp"

namespace convoy::cuda {

namespace {

constexpr Precision kAll[] = {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

Precision parse_precision(const std::string& name) {
  for (Precision p : kAll)
    if (name == name_of(p)) return p;
  throw sdk::Error(Code::invalid, "precision '" + name + "' does not exist; known are fp32, tf32, bf16, fp16");
}

}  // namespace

const char* name_of(Precision p) {
  switch (p) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
  }
  return "?";
}

Settings read_settings(const Options& o) {
  Settings s;
  s.ordinal = static_cast<uint32_t>(sdk::get(o, "ordinal", 0));
  s.precision = parse_precision(sdk::get(o, "precision", "fp32"));
  s.deterministic = !sdk::get(o, "nondeterministic", false);
  s.fusion = sdk::get(o, "fusion", true);
  s.graph = sdk::get(o, "graph", true);
  s.profile = sdk::get(o, "profile", false);
  s.candidates = static_cast<int>(sdk::get(o, "candidates", 8));
  s.cache = sdk::get(o, "cache", "default");
  if (s.cache == "default") s.cache = default_cache_folder();
  if (s.cache == "off") s.cache.clear();
  return s;
}

}  // namespace convoy::cuda
