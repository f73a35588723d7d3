// Fuzz target of the weight file reader. Each input is read twice: as a whole file, and as the text of a header
// with the bytes behind its last '}' as data, so that a mutation need not also repair the length in front.
// Whatever is accepted must keep the reader's promises; whatever is refused must be refused by an error of
// kind data, and nothing else.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"
#include "record/safetensors.hpp"

namespace {

using namespace convoy::record;

/// Not assert(): it must hold in every kind of build.
void require(bool holds) {
  if (!holds) std::abort();
}

void check_layout(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const auto& tensor : tensors) {
    require(tensor.offset == end && tensor.name.size() <= 512 && tensor.shape.size() <= 8);
    std::uint64_t elements = 1;
    for (const std::int64_t n : tensor.shape) require(n >= 0);
    for (const std::int64_t n : tensor.shape) elements *= static_cast<std::uint64_t>(n);
    require(elements * dtype_bytes(tensor.dtype) == tensor.bytes);
    end += tensor.bytes;
  }
  require(end == data_bytes);
}

bool is_floating(TensorDtype dtype) {
  return dtype == TensorDtype::f32 || dtype == TensorDtype::f16 || dtype == TensorDtype::bf16 ||
         dtype == TensorDtype::f64;
}

void read_all(const SafetensorsFile& file, std::uint64_t file_bytes) {
  for (const auto& tensor : file.tensors()) {
    require(tensor.bytes <= file_bytes && file.find(tensor.name) == &tensor);
    std::vector<std::byte> bytes(tensor.bytes);
    file.read_bytes(tensor.name, bytes);
    std::vector<float> values(is_floating(tensor.dtype) ? tensor.elements() : 0);
    if (is_floating(tensor.dtype)) file.read_f32(tensor.name, values);
  }
}

template <class Action>
void accept_or_refuse(Action action) {
  try {
    action();
  } catch (const convoy::Error& error) {
    require(error.kind() == convoy::ErrorKind::data);
    require(!error.render().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int memory = ::memfd_create("safetensors", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(memory);
  require(::ftruncate(memory, 0) == 0 && ::pwrite(memory, data, size, 0) == static_cast<ssize_t>(size));
  accept_or_refuse([&] { read_all(SafetensorsFile::open(path), size); });

  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t header_bytes = text.rfind('}') + 1;  // 0 where there is none
  const std::uint64_t data_bytes = size - header_bytes;
  accept_or_refuse([&] {
    check_layout(parse_safetensors_header(text.substr(0, header_bytes), data_bytes, "fuzz").tensors, data_bytes);
  });
  return 0;
}
