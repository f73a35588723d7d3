// Rows of results.csv as a table for people: networks across, batches down, as published benchmarks print them.
// Not a comparison with anybody's figures.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace convoy::record {

/// `rows`: fields in the order of kResultHeader. One block of images/s for each mode, device, precision and so on that
/// occurs, with what is the same for all its rows in its heading; a row without a number shows its status. Below, minutes
/// and, where a price is known, cost of 1,000,000 images. Ends with a line feed.
std::string rate_table(std::span<const std::vector<std::string>> rows, const std::string& currency);

}  // namespace convoy::record
