// Names and sizes of the element types of safetensors.hpp.
#include <array>

#include "record/safetensors_rules.hpp"

namespace convoy::record {
namespace {

struct Row {
  TensorDtype dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array kRows = {
    Row{TensorDtype::f64, "F64", 8},         Row{TensorDtype::f32, "F32", 4},   Row{TensorDtype::f16, "F16", 2},
    Row{TensorDtype::bf16, "BF16", 2},       Row{TensorDtype::f8_e4m3, "F8_E4M3", 1},
    Row{TensorDtype::f8_e5m2, "F8_E5M2", 1}, Row{TensorDtype::i64, "I64", 8},   Row{TensorDtype::i32, "I32", 4},
    Row{TensorDtype::i16, "I16", 2},         Row{TensorDtype::i8, "I8", 1},     Row{TensorDtype::u64, "U64", 8},
    Row{TensorDtype::u32, "U32", 4},         Row{TensorDtype::u16, "U16", 2},   Row{TensorDtype::u8, "U8", 1},
    Row{TensorDtype::boolean, "BOOL", 1}};

const Row& row_of(TensorDtype dtype) {
  for (const auto& row : kRows)
    if (row.dtype == dtype) return row;
  throw Error(ErrorKind::bug, "a tensor type without a name");
}

}  // namespace

std::string_view dtype_name(TensorDtype dtype) { return row_of(dtype).name; }

std::size_t dtype_bytes(TensorDtype dtype) { return row_of(dtype).bytes; }

std::optional<TensorDtype> dtype_named(std::string_view name) {
  for (const auto& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> out;
  for (const auto& row : kRows) out.emplace_back(row.name);
  return out;
}

}  // namespace convoy::record
