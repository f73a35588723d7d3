// Writing weight files. What is written has passed the reader's own checks first.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "record/atomic_file.hpp"
#include "record/safetensors_rules.hpp"

namespace convoy::record {
namespace {

std::string json_text(std::string_view text) { return nlohmann::json(text).dump(); }

/// Wider types first: the data begins at a multiple of 8, so each tensor is aligned to its type.
std::vector<const TensorSource*> in_file_order(std::span<const TensorSource> tensors) {
  std::vector<const TensorSource*> out;
  for (const auto& tensor : tensors) out.push_back(&tensor);
  std::stable_sort(out.begin(), out.end(), [](const TensorSource* a, const TensorSource* b) {
    return dtype_bytes(a->dtype) > dtype_bytes(b->dtype);
  });
  return out;
}

std::string metadata_entry(const TensorMetadata& metadata) {
  std::string out;
  for (const auto& [key, value] : metadata) out += (out.empty() ? "" : ",") + json_text(key) + ":" + json_text(value);
  return json_text(kMetadataKey) + ":{" + out + "}";
}

std::string tensor_entry(const TensorSource& tensor, std::uint64_t offset) {
  return json_text(tensor.name) + ":{\"dtype\":" + json_text(dtype_name(tensor.dtype)) +
         ",\"shape\":" + nlohmann::json(tensor.shape).dump() + ",\"data_offsets\":[" + std::to_string(offset) + "," +
         std::to_string(offset + tensor.data.size()) + "]}";
}

/// Put together by hand, so that a name given twice stands there twice, and is refused by the check.
std::string header_text(const std::vector<const TensorSource*>& tensors, const TensorMetadata& metadata,
                        std::uint64_t& data_bytes) {
  std::string out = "{";
  if (!metadata.empty()) out += metadata_entry(metadata) + ",";
  for (const auto* tensor : tensors) {
    out += tensor_entry(*tensor, data_bytes) + ",";
    data_bytes += tensor->data.size();
  }
  if (out.size() > 1) out.pop_back();
  out += "}";
  return out.append((8 - out.size() % 8) % 8, ' ');
}

/// Errors here are the caller's: what it asked to be written is no valid file.
std::string checked_header(const std::vector<const TensorSource*>& tensors, const TensorMetadata& metadata,
                           const std::string& source) {
  try {
    std::uint64_t data_bytes = 0;
    std::string header = header_text(tensors, metadata, data_bytes);
    parse_safetensors_header(header, data_bytes, source);
    return header;
  } catch (const Error& invalid) {
    throw Error(ErrorKind::bug, std::string("would not be readable: ") + invalid.what(), {}, invalid.notes());
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::bug, "a name or a text for weights file " + source + " is not UTF-8");
  }
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                       const TensorMetadata& metadata) {
  const auto ordered = in_file_order(tensors);
  const std::string header = checked_header(ordered, metadata, path.string());
  const std::uint64_t length = header.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const auto* tensor : ordered) file.write(tensor->data);
  file.commit();
}

}  // namespace convoy::record
