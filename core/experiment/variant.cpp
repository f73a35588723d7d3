#include "experiment/variant.hpp"

#include <fmt/format.h>

namespace convoy::experiment {

std::string options_text(const OptionList& options) {
  std::string out;
  for (const auto& o : options) {
    std::string value = toml_text(o.value);
    std::erase(value, '"');
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", o.key, value);
  }
  return out;
}

std::string variant_text(const ModelChoice& model) {
  std::string out = options_text(model.options);
  if (model.image != 0) out += fmt::format("{}image={}", out.empty() ? "" : " ", model.image);
  if (model.classes != 0) out += fmt::format("{}classes={}", out.empty() ? "" : " ", model.classes);
  return out;
}

}  // namespace convoy::experiment
