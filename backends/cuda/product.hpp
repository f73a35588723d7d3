// What convolutions and linear layers share: a problem with the precision that the user chose.
#pragma once

#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

inline ConvProblem empty_problem(const Lowering& l) {
  ConvProblem p;
  p.type = p.out = l.compute();
  p.tf32 = l.settings().precision == Precision::tf32;
  p.deterministic = l.settings().deterministic;
  return p;
}

}  // namespace convoy::cuda
