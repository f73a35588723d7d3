// See manifest.hpp.
#include "record/manifest.hpp"

#include <convoy/abi/plain.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <fstream>

#include "record/atomic_file.hpp"
#include "record/machine.hpp"
#include "record/record_json.hpp"
#include "sha256.hpp"

namespace convoy::record {
namespace {

using Json = nlohmann::ordered_json;

Json to_value(const PluginIdentity& plugin) {
  return {{"provides", plugin.provides}, {"name", plugin.name},     {"version", plugin.version},
          {"build_id", plugin.build_id}, {"sha256", plugin.sha256}, {"file", plugin.file}};
}

Json to_value(const Machine& machine) {
  return {{"hostname", machine.hostname},   {"kernel", machine.kernel},
          {"cpu", machine.cpu_model},       {"cores", machine.cores},
          {"cores_online", machine.cores_online}, {"memory_bytes", machine.memory_bytes},
          {"isa", machine.isa}};
}

std::string compiler() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

/// Of the program that runs now, even if its file has been replaced since.
std::string program_sha256() {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  Sha256 hash;
  std::array<char, 1 << 16> piece;
  while (program.read(piece.data(), piece.size()) || program.gcount() > 0)
    hash.update(std::string_view(piece.data(), static_cast<std::size_t>(program.gcount())));
  return hash.hex();
}

}  // namespace

std::string experiment_hash(std::string_view text) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : canonical.digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string iso_time(std::time_t time) {
  std::tm local{};
  ::localtime_r(&time, &local);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S%z", &local);
  std::string out(text.data(), length);
  return out.insert(out.size() - 2, ":");  // +0100 -> +01:00
}

std::string to_json(const Manifest& manifest) {
  Json object = Json::object();
  object["convoy"] = manifest.convoy_version;
  object["source"] = manifest.source;
  object["program_sha256"] = program_sha256();
  object["abi"] = std::to_string(CONVOY_ABI_EPOCH) + "." + std::to_string(CONVOY_ABI_MINOR);
  object["opset"] = CONVOY_OPSET;
  object["compiler"] = compiler();
  object["started"] = iso_time(manifest.started);
  object["argv"] = manifest.argv;
  object["seed"] = manifest.seed;
  object["experiment_xxh3_128"] = experiment_hash(manifest.experiment);
  object["machine"] = to_value(this_machine());
  object["plugins"] = Json::array();
  for (const auto& plugin : manifest.plugins) object["plugins"].push_back(to_value(plugin));
  object["libraries"] = mapped_libraries();
  object["environment"] = Json::object();
  for (const auto& [name, value] : manifest.environment) object["environment"][name] = value;
  add_fields(object, manifest.more);
  return dump(object, 2) + "\n";
}

void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  write_atomic(path, to_json(manifest));
}

}  // namespace convoy::record
