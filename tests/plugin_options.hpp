// Options of a plugin, written by a test as key and value. Not checked against a schema: the core does that.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace convoy::testing {

/// `PluginOptions().set("depth", 50).set("version", "v2")`; get() stays valid as long as this object.
class PluginOptions {
 public:
  PluginOptions() = default;
  PluginOptions(const PluginOptions&) = delete;
  PluginOptions& operator=(const PluginOptions&) = delete;

  PluginOptions& set(const std::string& key, bool value) {
    add(key, OptionType::boolean).i = value ? 1 : 0;
    return *this;
  }
  PluginOptions& set(const std::string& key, int value) {
    add(key, OptionType::integer).i = value;
    return *this;
  }
  PluginOptions& set(const std::string& key, double value) {
    add(key, OptionType::real).f = value;
    return *this;
  }
  PluginOptions& set(const std::string& key, const char* value) { return set(key, std::string(value)); }
  PluginOptions& set(const std::string& key, std::string value) {
    texts_.push_back(std::move(value));
    add(key, OptionType::text).s = sdk::str(texts_.back());
    return *this;
  }
  PluginOptions& set(const std::string& key, std::vector<double> value) {
    reals_.push_back(std::move(value));
    add(key, OptionType::reals).lf = sdk::span(reals_.back());
    return *this;
  }

  Options get() const {
    auto out = sdk::sized<Options>();
    out.items = {options_.data(), static_cast<uint32_t>(options_.size()), sizeof(Option)};
    out.table = sdk::str("test");
    return out;
  }

 private:
  Option& add(const std::string& key, OptionType type) {
    texts_.push_back(key);
    Option o{};
    o.key = sdk::str(texts_.back());
    o.type = type;
    options_.push_back(o);
    return options_.back();
  }

  std::deque<std::string> texts_;  // a deque: addresses stay
  std::deque<std::vector<double>> reals_;
  std::vector<Option> options_;
};

}  // namespace convoy::testing
