// Opening and reading weight files. See safetensors.hpp; the header is checked in safetensors_header.cpp.
#include "record/safetensors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "nearest.hpp"
#include "record/narrow_float.hpp"
#include "record/safetensors_rules.hpp"

namespace convoy::record {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor data is copied as it lies in the file");

Error system_error(const std::string& source, const char* what) {
  return weights_error(source, what + std::string(": ") + std::generic_category().message(errno));
}

/// Reads exactly out.size() bytes at `offset`.
void read_exactly(int fd, std::uint64_t offset, std::span<std::byte> out, const std::string& source) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error(source, "cannot read");
    if (got == 0) throw weights_error(source, "it became shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

FileDescriptor open_regular(const std::string& source, std::uint64_t& bytes) {
  // Without O_NONBLOCK a named pipe would keep us waiting for a writer.
  FileDescriptor file(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) throw system_error(source, "cannot open");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw system_error(source, "cannot open");
  if (!S_ISREG(status.st_mode)) throw weights_error(source, "it is not a regular file");
  bytes = static_cast<std::uint64_t>(status.st_size);
  return file;
}

/// The header's text, its length checked against the file before anything is allocated.
std::string read_header(int fd, std::uint64_t file_bytes, const std::string& source) {
  if (file_bytes < kLengthBytes) {
    throw weights_error(source, "it has " + std::to_string(file_bytes) + " bytes",
                        {{"allowed", "8 bytes of length, a JSON header, data"}});
  }
  std::uint64_t length = 0;
  read_exactly(fd, 0, std::as_writable_bytes(std::span(&length, 1)), source);
  if (length > file_bytes - kLengthBytes || length > kMaxHeaderBytes) {
    throw weights_error(source, "its header claims " + std::to_string(length) + " bytes, but the file has " +
                                    std::to_string(file_bytes),
                        {{"allowed", "at most " + std::to_string(kMaxHeaderBytes) + " bytes, within the file"}});
  }
  std::string json(length, '\0');
  read_exactly(fd, kLengthBytes, std::as_writable_bytes(std::span(json)), source);
  return json;
}

template <class Stored, class Widen>
void widen(std::span<const std::byte> in, std::span<float> out, Widen to_f32) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, in.data() + i * sizeof stored, sizeof stored);
    out[i] = to_f32(stored);
  }
}

/// `in` holds out.size() elements of `dtype`. False where that is no floating point type that we widen.
bool convert(TensorDtype dtype, std::span<const std::byte> in, std::span<float> out) {
  switch (dtype) {
    case TensorDtype::f16: widen<std::uint16_t>(in, out, f16_to_f32); return true;
    case TensorDtype::bf16: widen<std::uint16_t>(in, out, bf16_to_f32); return true;
    case TensorDtype::f64: widen<double>(in, out, [](double v) { return static_cast<float>(v); }); return true;
    default: return false;
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile out;
  out.source_ = path.string();
  std::uint64_t bytes = 0;
  out.file_ = open_regular(out.source_, bytes);
  const std::string json = read_header(out.file_.get(), bytes, out.source_);
  out.data_start_ = kLengthBytes + json.size();
  out.header_ = parse_safetensors_header(json, bytes - out.data_start_, out.source_);
  for (std::size_t i = 0; i < out.header_.tensors.size(); ++i) out.by_name_[out.header_.tensors[i].name] = i;
  return out;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

const TensorInfo& SafetensorsFile::at(std::string_view name) const {
  if (const TensorInfo* found = find(name)) return *found;
  std::vector<std::string> known;
  for (const auto& tensor : header_.tensors) known.push_back(tensor.name);
  Error error = weights_error(source_, "it has no tensor '" + std::string(name) + "'");
  if (const auto nearest = nearest_name(name, known); !nearest.empty()) error.note("nearest", nearest);
  const std::string first = known.empty() ? "" : ", the first '" + known[0] + "'";
  error.note("holds", std::to_string(known.size()) + " tensors" + first);
  throw error;
}

void SafetensorsFile::read_at(std::uint64_t data_offset, std::span<std::byte> out, const TensorInfo& tensor) const {
  read_exactly(file_.get(), data_start_ + tensor.offset + data_offset, out, source_);
}

void SafetensorsFile::read_f32(std::string_view name, std::span<float> out) const {
  const TensorInfo& tensor = at(name);
  const std::string found = "tensor '" + tensor.name + "' is " + describe(tensor);
  if (tensor.elements() != out.size()) {
    throw weights_error(source_, found + ", " + std::to_string(tensor.elements()) + " elements, but " +
                                     std::to_string(out.size()) + " are wanted");
  }
  if (tensor.dtype == TensorDtype::f32) return read_at(0, std::as_writable_bytes(out), tensor);
  if (!convert(tensor.dtype, {}, {}))
    throw weights_error(source_, found + ", and floating point numbers are wanted",
                        {{"allowed", "F32, F16, BF16, F64"}});
  constexpr std::size_t kChunkElements = 8192;  // converts what is still in the cache
  std::array<std::byte, kChunkElements * sizeof(double)> chunk;
  const std::size_t element_bytes = dtype_bytes(tensor.dtype);
  for (std::size_t done = 0; done < out.size(); done += kChunkElements) {
    const auto part = out.subspan(done, std::min(kChunkElements, out.size() - done));
    const auto bytes = std::span(chunk).first(part.size() * element_bytes);
    read_at(done * element_bytes, bytes, tensor);
    convert(tensor.dtype, bytes, part);
  }
}

void SafetensorsFile::read_bytes(std::string_view name, std::span<std::byte> out) const {
  const TensorInfo& tensor = at(name);
  if (tensor.bytes != out.size()) {
    throw weights_error(source_, "tensor '" + tensor.name + "' is " + describe(tensor) + ", " +
                                     std::to_string(tensor.bytes) + " bytes, but " + std::to_string(out.size()) +
                                     " are wanted");
  }
  read_at(0, out, tensor);
}

}  // namespace convoy::record
