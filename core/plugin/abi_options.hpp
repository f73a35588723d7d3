// Checked options in the form that crosses the border. Keeps everything that the view borrows.
#pragma once

#include "experiment/schema.hpp"

#include <convoy/abi.hpp>

#include <deque>
#include <string>
#include <vector>

namespace convoy::plugin {

/// Not movable: the view points into it.
class AbiOptions {
 public:
  AbiOptions(const experiment::OptionList& options, std::string table);
  AbiOptions(const AbiOptions&) = delete;
  AbiOptions& operator=(const AbiOptions&) = delete;

  /// Valid as long as this object.
  const Options& view() const { return view_; }

 private:
  Option convert(const experiment::OptionValue& o);

  experiment::OptionList options_;
  std::string table_;
  std::deque<std::vector<Str>> text_lists_;
  std::vector<Option> rows_;
  Options view_{};
};

}  // namespace convoy::plugin
