#include "plugin/abi_options.hpp"

namespace convoy::plugin {

namespace {
Str borrowed(const std::string& s) { return {s.data(), s.size()}; }
}  // namespace

AbiOptions::AbiOptions(const experiment::OptionList& options, std::string table)
    : options_(options), table_(std::move(table)) {
  for (const auto& o : options_) rows_.push_back(convert(o));
  view_.struct_size = sizeof view_;
  view_.items = {rows_.data(), static_cast<uint32_t>(rows_.size()), sizeof(Option)};
  view_.table = borrowed(table_);
}

Option AbiOptions::convert(const experiment::OptionValue& o) {
  Option out{};
  out.key = borrowed(o.key);
  if (const auto* b = std::get_if<bool>(&o.value)) {
    out.type = OptionType::boolean;
    out.i = *b ? 1 : 0;
  } else if (const auto* i = std::get_if<int64_t>(&o.value)) {
    out.type = OptionType::integer;
    out.i = *i;
  } else if (const auto* d = std::get_if<double>(&o.value)) {
    out.type = OptionType::real;
    out.f = *d;
  } else if (const auto* s = std::get_if<std::string>(&o.value)) {
    out.type = OptionType::text;
    out.s = borrowed(*s);
  } else if (const auto* li = std::get_if<std::vector<int64_t>>(&o.value)) {
    out.type = OptionType::integers;
    out.li = {li->data(), li->size()};
  } else if (const auto* lf = std::get_if<std::vector<double>>(&o.value)) {
    out.type = OptionType::reals;
    out.lf = {lf->data(), lf->size()};
  } else if (const auto* ls = std::get_if<std::vector<std::string>>(&o.value)) {
    out.type = OptionType::texts;
    text_lists_.emplace_back();
    for (const auto& s : *ls) text_lists_.back().push_back(borrowed(s));
    out.ls = {text_lists_.back().data(), text_lists_.back().size()};
  }
  return out;
}

}  // namespace convoy::plugin
