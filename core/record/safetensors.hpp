// Weight files in the safetensors format: a strict reader that trusts nothing in the file, and a writer that
// leaves the old file or the new one, never half of either. Not a checkpoint (no optimiser state, no resume),
// and never a reader of pickles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/file_descriptor.hpp"

namespace convoy::record {

/// Element types that the reader knows; all are whole bytes, little-endian. Any other name is refused.
enum class TensorDtype {
  f64, f32, f16, bf16, f8_e4m3, f8_e5m2, i64, i32, i16, i8, u64, u32, u16, u8, boolean
};

/// "F32", "BOOL": as the file spells it.
std::string_view dtype_name(TensorDtype dtype);
/// Bytes of one element.
std::size_t dtype_bytes(TensorDtype dtype);

/// One tensor of a file. The product of `shape` times the size of `dtype` is exactly `bytes`.
struct TensorInfo {
  std::string name;
  TensorDtype dtype = TensorDtype::f32;
  std::vector<std::int64_t> shape;  // at most 8 dimensions; empty = a scalar
  std::uint64_t offset = 0;         // bytes from the start of the data section
  std::uint64_t bytes = 0;

  std::uint64_t elements() const { return bytes / dtype_bytes(dtype); }
};

/// "F32 [64, 3, 7, 7]".
std::string describe(const TensorInfo& tensor);

/// Free-form strings of the header, `__metadata__`.
using TensorMetadata = std::map<std::string, std::string>;

/// What stands in front of the data. Tensors are in the order of their data.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;
  TensorMetadata metadata;
};

/// Checks the JSON text of a header against a data section of `data_bytes`.
/// `source` is the file's name, for messages. Errors: data.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& source);

/// An open weight file, its header read and checked as a whole: unique names, known types, no hole, no overlap,
/// nothing behind the last tensor. The data is read when asked for, from the file that was opened, even if
/// its name has been given to another since. Symbolic links are followed (model caches are made of them);
/// anything but a regular file is refused. Threads: any, once open. Errors of all members: data.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  const std::string& source() const { return source_; }
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  const TensorMetadata& metadata() const { return header_.metadata; }

  /// Null where the file has no such tensor.
  const TensorInfo* find(std::string_view name) const;
  /// The tensor, or an error with the nearest name that the file does have.
  const TensorInfo& at(std::string_view name) const;

  /// Reads a whole F32, F16, BF16 or F64 tensor as f32 (F64 is rounded to nearest). Integer tensors are
  /// refused, and so is a destination that does not have exactly the tensor's number of elements.
  void read_f32(std::string_view name, std::span<float> out) const;
  /// Reads a whole tensor of any type as it lies in the file; `out` has exactly its bytes.
  void read_bytes(std::string_view name, std::span<std::byte> out) const;

 private:
  SafetensorsFile() = default;
  void read_at(std::uint64_t data_offset, std::span<std::byte> out, const TensorInfo& tensor) const;

  std::string source_;
  FileDescriptor file_;
  std::uint64_t data_start_ = 0;  // bytes from the start of the file
  SafetensorsHeader header_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

/// A tensor to be written. Borrows its data for the call.
struct TensorSource {
  std::string name;
  TensorDtype dtype = TensorDtype::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

/// A f32 tensor to be written.
inline TensorSource f32_source(std::string name, std::vector<std::int64_t> shape,
                               std::span<const float> data) {
  return {std::move(name), TensorDtype::f32, std::move(shape), std::as_bytes(data)};
}

/// Writes a complete file under a temporary name in the same folder, then gives it its name: a reader, or a
/// crash at any point, finds the old file or the new one. `path` may be a file that is open for reading.
/// Data lies in the given order, wider types first so that each tensor is aligned.
/// Errors: storage (disk full, no permission; an existing file is untouched); bug where a tensor breaks
/// the rules that the reader enforces.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                       const TensorMetadata& metadata = {});

}  // namespace convoy::record
