// How results of a device are compared with those computed in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::contract {

/// Normalised mean square error: sum (a - b)^2 / sum b^2, where b is the truth; plain mean square where b is zero.
/// Elements that are NaN in both agree; not finite where one is and the other is not.
double nmse(const std::vector<double>& found, const std::vector<double>& truth);

/// "element 12 is 0.5 and should be 0.25": the element that is farthest off.
std::string worst_element(const std::vector<double>& found, const std::vector<double>& truth);

}  // namespace convoy::contract
