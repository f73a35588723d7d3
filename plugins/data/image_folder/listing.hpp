// Which pictures a split has: class folders, or a list file. Names and labels only; no picture is opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::image_folder {

struct Entry {
  std::string file;  // relative to the data's folder, for people and for opening
  int32_t label;
};

struct Listing {
  std::vector<std::string> classes;  // empty: not known by name
  std::vector<Entry> train, eval;
  uint32_t n_classes = 0;
  std::vector<std::string> notes;    // what somebody may want to know: files that were passed over
};

/// `train` and `eval` name a folder or a list below `path`; "" = train/ or train.txt, val/ or test/ or val.txt or
/// test.txt, in this order. The classes are the lines of classes.txt, else the sorted folders. Pictures are the files
/// named .jpg, .jpeg or .png in any spelling, in folders of folders too, sorted by name; hidden files are no pictures.
/// A list has "FILE LABEL" on each line, FILE relative to `path` and inside it.
/// Errors: sdk::Error io, with file and reason.
Listing list_pictures(const std::string& path, const std::string& train, const std::string& eval);

}  // namespace convoy::image_folder
