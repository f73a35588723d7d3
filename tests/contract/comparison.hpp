// How results of a device are compared with those computed in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::contract {

/// Normalised mean square error: sum (a - b)^2 / sum b^2, where b is the truth; plain mean square where b is zero.
/// Not finite where a is not finite and b is.
double nmse(const std::vector<double>& found, const std::vector<double>& truth);

/// "element 12 is 0.5 and should be 0.25": the element that is farthest off.
std::string worst_element(const std::vector<double>& found, const std::vector<double>& truth);

}  // namespace convoy::contract
