#include "runner/probe_one.hpp"

#include "experiment/schema.hpp"
#include "ir/graph.hpp"
#include "owned.hpp"
#include "plugin/abi_options.hpp"
#include "plugin/candidate.hpp"
#include "plugin/library.hpp"
#include "runner/environment.hpp"
#include "runner/probe_child.hpp"

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace convoy::runner {

namespace {

using Json = nlohmann::ordered_json;
using plugin::Candidate;

constexpr uint32_t kMostDevices = 64;  // what a plugin claims is not believed without end

/// The way back to the program that asks. Standard output is set aside: vendors' libraries write to it.
class Reply {
 public:
  Reply() : to_(fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w")) { dup2(STDERR_FILENO, STDOUT_FILENO); }

  void stage(const std::string& name) { line(kStageMark + name); }
  void line(const std::string& text) {
    fmt::print(to_, "{}\n", text);
    std::fflush(to_);
  }

 private:
  std::FILE* to_;
};

Candidate examine_file(const std::string& file) {
  const auto path = std::filesystem::absolute(file);
  Candidate c = plugin::examine(path, path.parent_path());
  if (c.refused) throw *c.refused;
  return c;
}

Json names_in(uint32_t mask, const std::vector<std::pair<uint32_t, std::string>>& bits) {
  Json out = Json::array();
  for (const auto& [bit, name] : bits)
    if ((mask & bit) != 0) out.push_back(name);
  return out;
}

Json types_of(uint32_t mask) {
  std::vector<std::pair<uint32_t, std::string>> bits;
  for (DType t : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32, DType::i64})
    bits.emplace_back(1u << static_cast<uint32_t>(t), ir::name_of(t));
  return names_in(mask, bits);
}

Json facets_of(IDevice& device) {
  Json out = Json::array();
  for (const auto& [id, name] : {std::pair{IKernels::id, "kernels"}, {ICompiler::id, "compiler"}, {ICapture::id, "capture"}, {IVectorOps::id, "vector"}})
    if (device.query(id) != nullptr) out.push_back(name);
  return out;
}

/// A text field of the border, which its plugin may have left without an end.
template <std::size_t N>
std::string field(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

/// Makes the device with its defaults and asks it.
Json describe_device(plugin::Host& host, IFactory& f, int64_t ordinal) {
  const std::string name = sdk::text(f.name());
  const auto rules = experiment::parse_schema(sdk::text(f.options_schema()), name);
  auto options = experiment::check_options(rules, experiment::ConfigTable{}, "device", {});
  options.push_back({"ordinal", ordinal});
  const plugin::AbiOptions abi(options, "device");
  IObject* made = nullptr;
  host.check(f.create(abi.view(), &made), name, "create the device");
  if (made == nullptr) throw Error(ErrorKind::plugin, "it created nothing and said ok");
  const Owned<IObject> object(made);
  auto* device = static_cast<IDevice*>(object->query(IDevice::id));
  if (device == nullptr) throw Error(ErrorKind::plugin, fmt::format("it offers no interface {}", IDevice::id));
  auto info = sdk::sized<DeviceInfo>();
  host.check(device->info(&info), name, "describe itself");
  return {{"name", field(info.name)}, {"memory_bytes", info.total_bytes}, {"free_bytes", info.free_bytes}, {"types", types_of(info.dtypes)},
          {"memory", names_in(info.mem_kinds, {{static_cast<uint32_t>(Mem::host), "host"}, {static_cast<uint32_t>(Mem::pinned), "pinned"}, {static_cast<uint32_t>(Mem::device), "device"}})},
          {"async", info.async != 0}, {"facets", facets_of(*device)}};
}

Json describe_devices(plugin::Host& host, IFactory& f, uint32_t devices, Reply& reply) {
  Json out = Json::array();
  for (uint32_t ordinal = 0; ordinal < std::clamp(devices, 1u, kMostDevices); ++ordinal) {
    reply.stage(fmt::format("device {}", ordinal));
    try {
      out.push_back(describe_device(host, f, ordinal));
    } catch (const Error& e) {
      out.push_back({{"error", e.what()}});
    }
  }
  return out;
}

ProbeResult ask(plugin::Host& host, IFactory& f) {
  auto result = sdk::sized<ProbeResult>();
  try {
    host.check(f.probe(&result), sdk::text(f.name()), "probe this machine");
  } catch (const Error& e) {
    result.score = 0;
    sdk::copy_text(result.reason, e.what());
  }
  return result;
}

Json probe_factory(plugin::Host& host, IFactory& f, Reply& reply) {
  reply.stage("its probe");
  const ProbeResult result = ask(host, f);
  Json j;
  j["kind"] = plugin::name_of(f.kind());
  j["name"] = sdk::text(f.name());
  j["score"] = result.score;
  j["reason"] = field(result.reason);
  j["devices"] = result.n_devices;
  j["schema"] = sdk::text(f.options_schema());
  if (f.kind() == Kind::device && result.score != 0) j["found"] = describe_devices(host, f, result.n_devices, reply);
  return j;
}

Json probe_file(Environment& environment, const std::string& file, Reply& reply) {
  const Candidate c = examine_file(file);
  reply.stage("static initialisers");
  plugin::map_library(c, environment.host());
  reply.stage("its entry point");
  const auto library = plugin::load_library(c, environment.host());
  Json provides = Json::array();
  for (IFactory* f : library.factories) provides.push_back(probe_factory(environment.host(), *f, reply));
  return {{"provides", provides}};
}

}  // namespace

int probe_one(Environment& environment, const std::string& file) {
  Reply reply;
  Json answer;
  try {
    answer = probe_file(environment, file, reply);
  } catch (const Error& e) {
    answer = {{"error", fmt::format("refused {}: {}", e.number(), e.what())}};
  }
  reply.line(answer.dump(-1, ' ', false, Json::error_handler_t::replace));  // a plugin's own words may be no UTF-8
  reply.stage("its end");
  return 0;
}

int check_plugin(Environment& environment, const std::string& file) {
  const Candidate c = examine_file(file);
  const auto library = plugin::load_library(c, environment.host());
  for (IFactory* f : library.factories) {
    experiment::parse_schema(sdk::text(f->options_schema()), sdk::text(f->name()));
    fmt::print("{} '{}' {}: ok\n", plugin::name_of(f->kind()), sdk::text(f->name()), c.manifest->version);
  }
  return 0;
}

}  // namespace convoy::runner
