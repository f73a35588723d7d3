#include "plan.hpp"

namespace convoy::cuda {

bool ConvProblem::is_product() const {
  return R == 1 && S == 1 && groups == 1 && stride == std::array<int64_t, 2>{1, 1} && pad_lo == std::array<int64_t, 2>{0, 0} &&
         pad_hi == std::array<int64_t, 2>{0, 0};
}

const char* name_of(Type t) {
  switch (t) {
    case Type::f32: return "f32";
    case Type::bf16: return "bf16";
    case Type::f16: return "f16";
    case Type::u8: return "u8";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
  }
  return "?";
}

std::string ConvProblem::text() const {
  const auto number = [](int64_t n) { return std::to_string(n); };
  std::string out = direction == Direction::forward ? "fprop" : direction == Direction::input_gradient ? "dgrad" : "wgrad";
  out += " n" + number(N) + " c" + number(C) + " " + number(H) + "x" + number(W) + " k" + number(K) + " " + number(R) + "x" + number(S);
  out += "/" + number(stride[0]) + "," + number(stride[1]);
  out += " p" + number(pad_lo[0]) + "," + number(pad_lo[1]) + "," + number(pad_hi[0]) + "," + number(pad_hi[1]);
  out += " d" + number(dilation[0]) + "," + number(dilation[1]) + " g" + number(groups);
  out += std::string(" ") + name_of(type) + (type != this->out ? std::string(">") + name_of(this->out) : "");
  if (tf32) out += " tf32";
  if (linear) out += " linear";
  if (bias) out += " +bias";
  if (add) out += " +add";
  if (relu) out += " +relu";
  if (!deterministic) out += " any";
  return out;
}

uint64_t ConvProblem::x_bytes() const {
  return static_cast<uint64_t>(N * C * H * W) * bytes_of(direction == Direction::input_gradient ? out : type);
}
uint64_t ConvProblem::w_bytes() const {
  return static_cast<uint64_t>(K * (C / groups) * R * S) * bytes_of(direction == Direction::weight_gradient ? out : type);
}
uint64_t ConvProblem::y_bytes() const {
  return static_cast<uint64_t>(N * K * P * Q) * bytes_of(direction == Direction::forward ? out : type);
}

}  // namespace convoy::cuda
