// The JSON header of a weight file, parsed event by event into a table and checked as it comes: no tree is built,
// so neither depth nor repeated keys can hide anything. The shape it may have is two levels and no more:
//   { "__metadata__": { text: text }, name: { "dtype": text, "shape": [n...], "data_offsets": [begin, end] } }
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "nearest.hpp"
#include "record/safetensors_rules.hpp"

namespace convoy::record {
namespace {

using Json = nlohmann::json;

/// Text of the file in a message: cut short, and without what could drive a terminal.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out(text.substr(0, kShown));
  if (has_control_characters(out))
    std::replace_if(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) - 0x20u >= 0x5f; }, '?');
  return "'" + out + (text.size() > kShown ? "...'" : "'");
}

/// Receives the parser's events. A member that returns does so with true; anything wrong is thrown.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& source) : source_(source) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) return enter(Place::root);
    if (place_ != Place::root) refuse("an object");
    if (key_ == kMetadataKey) return enter(Place::metadata);
    header_.tensors.push_back({});
    header_.tensors.back().name = key_;
    fields_.clear();
    return enter(Place::tensor);
  }

  bool key(std::string& text) override {
    if (place_ == Place::tensor) return start_field(text);
    if (has_control_characters(text)) throw error("the name " + in_quotes(text) + " has control characters");
    if (text.size() > kMaxNameBytes) {
      throw error("the name " + in_quotes(text) + " has " + std::to_string(text.size()) + " bytes",
                  {{"allowed", "at most " + std::to_string(kMaxNameBytes) + " bytes"}});
    }
    auto& seen = place_ == Place::metadata ? metadata_names_ : names_;
    if (!seen.insert(text).second) throw error("the name " + in_quotes(text) + " stands there twice");
    (place_ == Place::metadata ? metadata_key_ : key_) = text;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) finish_tensor();
    return enter(place_ == Place::root ? Place::outside : Place::root);
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && field_ == "shape") return enter(Place::shape);
    if (place_ == Place::tensor && field_ == "data_offsets") {
      offsets_.clear();
      return enter(Place::offsets);
    }
    refuse("an array");
  }

  bool end_array() override { return enter(Place::tensor); }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      header_.metadata[metadata_key_] = text;
      return true;
    }
    if (place_ != Place::tensor || field_ != "dtype") refuse("a text");
    const auto dtype = dtype_named(text);
    if (!dtype) throw error(tensor() + " has the type " + in_quotes(text), {{"known", join_names(dtype_names())}});
    header_.tensors.back().dtype = *dtype;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::shape) return add_dimension(value);
    if (place_ != Place::offsets) refuse("a number");
    if (offsets_.size() == 2) throw error(tensor() + " has more than two data_offsets");
    offsets_.push_back(value);
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a truth value"); }
  bool number_integer(std::int64_t value) override { refuse("the number " + std::to_string(value)); }
  bool number_float(double, const std::string& text) override { refuse("the number " + in_quotes(text)); }
  bool binary(Json::binary_t&) override { refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw error("its header is not valid JSON at byte " + std::to_string(position) + " of the header");
  }

 private:
  enum class Place { outside, root, metadata, tensor, shape, offsets };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  Error error(const std::string& what, std::vector<ErrorNote> notes = {}) const {
    return weights_error(source_, what, std::move(notes));
  }

  std::string tensor() const { return "tensor " + in_quotes(header_.tensors.back().name); }

  [[noreturn]] void refuse(const std::string& found) const {
    switch (place_) {
      case Place::outside: throw error("its header is " + found, {{"allowed", "one JSON object"}});
      case Place::root: throw error(in_quotes(key_) + " is " + found, {{"allowed", "an object"}});
      case Place::metadata:
        throw error("'__metadata__' has " + found + " for " + in_quotes(metadata_key_), {{"allowed", "texts"}});
      default: break;
    }
    throw error(tensor() + " has " + found + " in '" + field_ + "'",
                {{"allowed", field_ == "dtype" ? "a text" : "an array of whole numbers, 0 or more"}});
  }

  bool start_field(const std::string& name) {
    if (name != "dtype" && name != "shape" && name != "data_offsets")
      throw error(tensor() + " has the field " + in_quotes(name), {{"known", "dtype, shape, data_offsets"}});
    if (!fields_.insert(name).second) throw error(tensor() + " has '" + name + "' twice");
    field_ = name;
    return true;
  }

  bool add_dimension(std::uint64_t value) {
    auto& shape = header_.tensors.back().shape;
    if (shape.size() == kMaxRank)
      throw error(tensor() + " has more than " + std::to_string(kMaxRank) + " dimensions");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw error(tensor() + " has a dimension of " + std::to_string(value));
    shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  void finish_tensor() {
    auto& info = header_.tensors.back();
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (!fields_.contains(field)) throw error(tensor() + " has no '" + field + "'");
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1])
      throw error(tensor() + " has data_offsets that are no range", {{"allowed", "[begin, end] with begin <= end"}});
    const auto needed = checked_bytes(info.shape, dtype_bytes(info.dtype));
    if (!needed) throw error(tensor() + ", " + describe(info) + ", is larger than any file");
    info.offset = offsets_[0];
    info.bytes = offsets_[1] - offsets_[0];
    if (*needed != info.bytes) {
      throw error(tensor() + " has " + std::to_string(info.bytes) + " bytes of data, but " + describe(info) +
                  " needs " + std::to_string(*needed));
    }
  }

  const std::string& source_;
  Place place_ = Place::outside;
  std::string key_;
  std::string metadata_key_;
  std::string field_;
  std::set<std::string> fields_;
  std::set<std::string> names_;
  std::set<std::string> metadata_names_;
  std::vector<std::uint64_t> offsets_;
  SafetensorsHeader header_;
};

/// Every byte of the data belongs to exactly one tensor. Sorts the tensors by their place.
void check_layout(SafetensorsHeader& header, std::uint64_t data_bytes, const std::string& source) {
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  std::uint64_t end = 0;
  for (const auto& tensor : header.tensors) {
    const std::string name = "tensor " + in_quotes(tensor.name);
    if (tensor.offset != end) {
      throw weights_error(source, name + " begins at byte " + std::to_string(tensor.offset) + " of the data, but the " +
                                      "data before it ends at " + std::to_string(end) +
                                      (tensor.offset < end ? ": they overlap" : ": there is a hole"));
    }
    end += tensor.bytes;  // cannot wrap: offset + bytes is the end that the file stated
    if (end > data_bytes) {
      throw weights_error(source, "it is cut short: " + name + " ends at byte " + std::to_string(end) +
                                      " of the data, but there are only " + std::to_string(data_bytes));
    }
  }
  if (end < data_bytes) {
    throw weights_error(source, std::to_string(data_bytes - end) + " bytes behind the last tensor belong to none");
  }
}

}  // namespace

bool has_control_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) return true;
  }
  return false;
}

std::optional<std::uint64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::size_t element_bytes) {
  auto bytes = static_cast<std::int64_t>(element_bytes);
  for (const std::int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string describe(const TensorInfo& tensor) {
  std::string out(dtype_name(tensor.dtype));
  out += " [";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
  return out + "]";
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& source) {
  if (json.size() > kMaxHeaderBytes)
    throw weights_error(source, "its header has more than " + std::to_string(kMaxHeaderBytes) + " bytes");
  // The JSON library would skip a byte order mark in front and take a NUL for the end.
  if (json.empty() || json.front() != '{') throw weights_error(source, "its header does not begin with '{'");
  if (json.find('\0') != std::string_view::npos) throw weights_error(source, "its header has a NUL byte");
  HeaderReader reader(source);
  Json::sax_parse(json.begin(), json.end(), &reader);
  SafetensorsHeader header = reader.take();
  check_layout(header, data_bytes, source);
  return header;
}

}  // namespace convoy::record
