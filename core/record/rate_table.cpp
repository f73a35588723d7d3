#include "record/rate_table.hpp"

#include "record/result_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace convoy::record {

namespace {

using Fields = std::vector<std::string>;

std::size_t column(std::string_view name) {
  std::size_t index = 0;
  for (std::string_view rest = kResultHeader; !rest.empty(); ++index) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return index;
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
  }
  return index;  // a bug: at() throws
}

const std::string& field(const Fields& row, std::string_view name) { return row.at(column(name)); }

std::set<std::string> words(const std::string& text) {
  std::set<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// A network's name at the head of its column: the model, and of its variant what tells it from the others here.
std::map<std::pair<std::string, std::string>, std::string> column_names(const std::vector<const Fields*>& rows) {
  std::map<std::string, std::set<std::string>> variants;
  for (const auto* r : rows) variants[field(*r, "model")].insert(field(*r, "variant"));
  std::map<std::pair<std::string, std::string>, std::string> out;
  for (const auto& [model, of_model] : variants)
    for (const auto& variant : of_model) {
      std::string name = model;
      for (const auto& word : words(variant)) {
        const bool everywhere = std::all_of(of_model.begin(), of_model.end(), [&](const std::string& v) { return words(v).contains(word); });
        if (!everywhere) name += " " + word.substr(word.find('=') + 1);
      }
      out[{model, variant}] = name;
    }
  return out;
}

/// What a block has in common.
std::string heading(const Fields& r) {
  std::string out = field(r, "mode") + " · " + field(r, "device");
  for (const char* name : {"precision", "comm", "sync", "sync_options"})
    if (!field(r, name).empty()) out += " · " + field(r, name);
  if (!field(r, "residency").empty()) out += " · images on " + field(r, "residency");
  if (!field(r, "replicas").empty() && field(r, "replicas") != "1") out += " · " + field(r, "replicas") + " replicas";
  return out;
}

/// " (AMD EPYC)": a row that failed early does not know it.
std::string hardware(const std::vector<const Fields*>& rows) {
  for (const auto* r : rows)
    if (!field(*r, "device_name").empty()) return " (" + field(*r, "device_name") + ")";
  return "";
}

std::string value_text(const Fields& r, const char* what, const char* format) {
  const std::string& text = field(r, what);
  return text.empty() ? "" : fmt::format(fmt::runtime(format), std::strtod(text.c_str(), nullptr));
}

class Block {
 public:
  explicit Block(std::vector<const Fields*> rows) : rows_(std::move(rows)), names_(column_names(rows_)) {
    for (const auto* r : rows_) {
      if (std::find(columns_.begin(), columns_.end(), name(*r)) == columns_.end()) columns_.push_back(name(*r));
      batches_.insert(std::strtoll(field(*r, "batch_per_replica").c_str(), nullptr, 10));
    }
  }

  std::string table(const std::string& title, const char* what, const char* format) const {
    std::string out = title + "\n" + fmt::format("{:>7}", "batch");
    for (const auto& c : columns_) out += fmt::format("  {:>{}}", c, width(c));
    out += "\n";
    for (const int64_t batch : batches_) {
      out += fmt::format("{:>7}", batch);
      for (const auto& c : columns_) out += fmt::format("  {:>{}}", cell(c, batch, what, format), width(c));
      out += "\n";
    }
    return out;
  }
  bool has(const char* what) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const auto* r) { return !field(*r, what).empty(); });
  }

 private:
  static std::size_t width(const std::string& name) { return std::max<std::size_t>(name.size(), 13); }  // "out_of_memory"
  const std::string& name(const Fields& r) const { return names_.at({field(r, "model"), field(r, "variant")}); }

  std::string cell(const std::string& network, int64_t batch, const char* what, const char* format) const {
    std::string out;
    for (const auto* r : rows_) {
      if (name(*r) != network || field(*r, "batch_per_replica") != std::to_string(batch)) continue;
      const std::string value = value_text(*r, what, format);
      out += (out.empty() ? "" : " / ") + (value.empty() && field(*r, "status") != "ok" ? field(*r, "status") : value);
    }
    return out.empty() ? "-" : out;
  }

  std::vector<const Fields*> rows_;
  std::map<std::pair<std::string, std::string>, std::string> names_;
  std::vector<std::string> columns_;
  std::set<int64_t> batches_;
};

}  // namespace

std::string rate_table(std::span<const Fields> rows, const std::string& currency) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Fields*>> blocks;
  for (const auto& r : rows) {
    const std::string head = heading(r);
    if (!blocks.contains(head)) order.push_back(head);
    blocks[head].push_back(&r);
  }
  std::string out;
  for (const auto& head : order) {
    const Block block(blocks[head]);
    out += (out.empty() ? "" : "\n") + block.table(head + hardware(blocks[head]) + "\nimages/s", "images_per_second", "{:.2f}");
    if (block.has("minutes_per_million")) out += "\n" + block.table("minutes for 1,000,000 images", "minutes_per_million", "{:.2f}");
    if (block.has("cost_per_million")) out += "\n" + block.table(currency + " for 1,000,000 images", "cost_per_million", "{:.4f}");
  }
  return out;
}

}  // namespace convoy::record
