// The limits of the safetensors format as this reader and writer hold to them.
// For the sources of this folder only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"
#include "record/safetensors.hpp"

namespace convoy::record {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::uint64_t kLengthBytes = 8;  // the header's length, little-endian, in front of it
inline constexpr std::string_view kMetadataKey = "__metadata__";

std::optional<TensorDtype> dtype_named(std::string_view name);
std::vector<std::string> dtype_names();

/// Has bytes below space, or DEL, or the two-byte C1 controls: they can drive a terminal that shows the name.
bool has_control_characters(std::string_view text);

/// Product of the dimensions times `element_bytes`, or nothing where that does not fit in 63 bits.
std::optional<std::uint64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::size_t element_bytes);

inline Error weights_error(const std::string& source, const std::string& what, std::vector<ErrorNote> notes = {}) {
  return Error(ErrorKind::data, "weights file " + source + ": " + what, {}, std::move(notes));
}

}  // namespace convoy::record
