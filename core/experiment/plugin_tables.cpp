// The tables that a plugin shares with the core: model, device, comm, sync, data. The core takes its own keys, the rest is
// checked against the plugin's schema.
#include "experiment/section.hpp"
#include "experiment/table_reader.hpp"
#include "experiment/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace convoy::experiment {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallestDeviation = 1e-12;  // pixels are divided by it

void read_use(Choice& c, TableReader& r, const std::string& table, const std::string& otherwise) {
  c.use = r.text("use", otherwise);
  c.at = r.where("use");
  if (c.use.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: [{}] does not say which: use = \"...\"", to_string(c.at), table));
}

/// After the core's own keys were taken. Errors: plugin, where a schema claims one of those, or a table below it.
void read_options(Choice& c, const TableReader& r, const Section& s, const std::string& table, SchemaSource& schemas) {
  const auto rules = parse_schema(schemas.schema(table, c.use, c.at), c.use);
  const auto core_keys = r.asked();
  for (const auto& rule : rules)
    if (std::find(core_keys.begin(), core_keys.end(), rule.key.substr(0, rule.key.find('.'))) != core_keys.end())
      throw Error(ErrorKind::plugin, fmt::format("plugin '{}' wants the option '{}' of [{}], which is the core's", printable(c.use), rule.key, table));
  c.options = check_options(rules, r.rest(), table, core_keys, s.at);
}

/// "10Gbit" with units {"bit": 1, "Gbit": 1e9}. Errors: usage.
double quantity(const TableReader& r, const ConfigEntry& e, const std::string& example,
                const std::vector<std::pair<const char*, double>>& units) {
  const auto* text = e.value.as<std::string>();
  double number = 0;
  if (text != nullptr) {
    const char* const last = text->data() + text->size();
    const auto [end, error] = std::from_chars(text->data(), last, number, std::chars_format::fixed);
    for (const auto& [unit, factor] : units)
      if (error == std::errc() && number >= 0 && number <= kLargest / factor && std::string(end, last) == unit) return number * factor;
  }
  std::string known;
  for (const auto& [unit, factor] : units) known += (known.empty() ? "" : ", ") + std::string(unit);
  r.refuse(e, fmt::format("a number and one of {}, as \"{}\",", known, example));
}

Link read_link(const ConfigEntry& e) {
  const auto* table = e.value.as<ConfigTable>();
  if (table == nullptr)
    throw Error(ErrorKind::usage, fmt::format("{}: comm.link = {} is {}; a table is expected", to_string(e.at), shown(e.value), kind_text(e.value)))
        .note("fix", "link = { bandwidth = \"10Gbit\", latency = \"50us\" }");
  TableReader r(*table, "comm.link", e.at);
  Link link;
  if (const ConfigEntry* b = r.take("bandwidth")) {
    link.bits_per_s = quantity(r, *b, "10Gbit", {{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}});
    link.bandwidth = *b->value.as<std::string>();
    if (link.bits_per_s == 0) r.refuse(*b, "a bandwidth above 0");
  }
  if (const ConfigEntry* l = r.take("latency")) {
    link.latency_s = quantity(r, *l, "50us", {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
    link.latency = *l->value.as<std::string>();
  }
  r.finish();
  return link;
}

void check_normalisation(const DataChoice& c, const TableReader& r) {
  if (c.mean.size() <= 4 && c.mean.size() == c.stdev.size()) return;
  throw Error(ErrorKind::usage, fmt::format("{}: data.mean and data.std need one number a channel each, at most 4; {} and {} are given",
                                            to_string(r.where(c.mean.empty() ? "std" : "mean")), c.mean.size(), c.stdev.size()));
}

}  // namespace

ModelChoice read_model(const Section& s, SchemaSource& schemas) {
  TableReader r(s.table, "model", s.at);
  ModelChoice c;
  read_use(c, r, "model", "");
  c.classes = r.integer("classes", 0, 0, 1 << 24);
  c.image = r.integer("image", 0, 0, 1 << 14);
  c.weights = r.text("weights", "");
  read_options(c, r, s, "model", schemas);
  return c;
}

DeviceChoice read_device(const Section& s, SchemaSource& schemas) {
  TableReader r(s.table, "device", s.at);
  DeviceChoice c;
  read_use(c, r, "device", "auto");
  if (c.use == "auto") c.use = schemas.auto_device();
  c.count = r.integer("count", 1, 1, 1024);
  c.ordinals = r.integers("ordinals", 0);
  c.precision = r.choice("precision", "fp32", {"fp32", "tf32", "bf16", "fp16"});
  c.execution = r.choice("execution", "", {"", "compiled", "stitched"});
  c.deterministic = r.boolean("deterministic", false);
  c.threads = r.integer("threads", 0, 0, 4096);
  read_options(c, r, s, "device", schemas);
  if (!c.ordinals.empty() && static_cast<int64_t>(c.ordinals.size()) != c.count)
    throw Error(ErrorKind::usage, fmt::format("{}: device.ordinals names {} devices, device.count is {}", to_string(r.where("ordinals")),
                                              c.ordinals.size(), c.count));
  return c;
}

std::optional<CommChoice> read_comm(const Section& s, SchemaSource& schemas) {
  if (!s.given) return std::nullopt;
  TableReader r(s.table, "comm", s.at);
  CommChoice c;
  read_use(c, r, "comm", "");
  if (const ConfigEntry* e = r.take("link")) c.link = read_link(*e);
  read_options(c, r, s, "comm", schemas);
  return c;
}

std::optional<Choice> read_sync(const Section& s, SchemaSource& schemas) {
  if (!s.given) return std::nullopt;
  TableReader r(s.table, "sync", s.at);
  Choice c;
  read_use(c, r, "sync", "");
  read_options(c, r, s, "sync", schemas);
  return c;
}

DataChoice read_data(const Section& s, SchemaSource& schemas) {
  TableReader r(s.table, "data", s.at);
  DataChoice c;
  read_use(c, r, "data", "shapes");
  c.batch = r.integer("batch", 32, 1, 1 << 24);
  c.train_limit = r.integer("train_limit", 0, 0);
  c.eval_limit = r.integer("eval_limit", 0, 0);
  c.residency = r.choice("residency", "auto", {"auto", "real", "host", "device"});
  c.remainder = r.choice("remainder", "roll_over", {"roll_over", "drop"});
  c.mean = r.reals("mean", -kLargest, kLargest);
  c.stdev = r.reals("std", kSmallestDeviation, kLargest);
  c.shuffle = r.boolean("shuffle", true);
  c.augment = r.boolean("augment", true);
  c.workers = r.integer("workers", 0, 0, 1024);
  check_normalisation(c, r);
  read_options(c, r, s, "data", schemas);
  return c;
}

}  // namespace convoy::experiment
