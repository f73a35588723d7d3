// One idx file, plain or gzip, checked and unpacked. Knows nothing about pictures, labels or splits.
// Format: Y. LeCun's MNIST page: two zero bytes, type, number of dimensions, each dimension as a big-endian u32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::idx {

struct IdxFile {
  std::vector<uint32_t> dims;
  std::vector<unsigned char> values;  // row-major, exactly the product of dims
};

/// Reads `path`, which must hold unsigned bytes in `rank` dimensions. Gzip is known by its first bytes, not by
/// the name. Memory is bounded by what the file can really hold, whatever its header says.
/// Errors: sdk::Error(io), "FILE: REASON", for anything missing, cut short, too long, or of another kind.
IdxFile read_idx(const std::string& path, uint32_t rank);

}  // namespace convoy::idx
