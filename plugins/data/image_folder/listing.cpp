// Walking folders and reading lists. The order is that of the bytes of the names, so it is the same on every machine.
#include "listing.hpp"

#include <convoy/sdk/file.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>

namespace convoy::image_folder {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxListBytes = uint64_t{1} << 30;
constexpr uint32_t kMaxClasses = 1'000'000;
constexpr int kMaxDepth = 16;  // folders in folders; a link may lead round in a ring

std::string lower_extension(const fs::path& p) {
  std::string e = p.extension().string();
  for (char& c : e)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return e;
}

bool named_as_picture(const fs::path& p) {
  const std::string e = lower_extension(p);
  return e == ".jpg" || e == ".jpeg" || e == ".png";
}

bool other_picture(const fs::path& p) {
  const std::string e = lower_extension(p);
  return e == ".gif" || e == ".webp" || e == ".bmp" || e == ".tif" || e == ".tiff" || e == ".ppm" || e == ".pgm" ||
         e == ".heic" || e == ".avif";
}

bool is_folder(const fs::path& p) {
  std::error_code ignored;
  return fs::is_directory(p, ignored);
}

bool is_there(const fs::path& p) {
  std::error_code ignored;
  return fs::exists(p, ignored);
}

/// What lies in a folder, sorted, without hidden names.
std::vector<fs::path> content(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> out;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (i->path().filename().string().front() != '.') out.push_back(i->path());
  if (error) sdk::bad_file(folder.string(), error.message());
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return out;
}

/// The class names: the lines of a file.
std::vector<std::string> lines_of(const fs::path& file) {
  const std::vector<unsigned char> bytes = sdk::read_file(file.string(), kMaxListBytes);
  std::vector<std::string> out;
  std::string line;
  const auto end_line = [&] {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.pop_back();
    out.push_back(std::exchange(line, {}));
  };
  for (const unsigned char b : bytes)
    if (b == '\n')
      end_line();
    else
      line += static_cast<char>(b);
  if (!line.empty()) end_line();
  return out;
}

class Lister {
 public:
  explicit Lister(const std::string& path) : root_(path) {
    if (!is_there(root_)) sdk::bad_file(path, "No such file or directory");
    if (!is_folder(root_)) sdk::bad_file(path, "is no folder; the folder that holds train/ and val/ or test/ is expected");
    read_classes();
  }

  Listing list(const std::string& train, const std::string& eval) {
    const std::string train_name = pick("train", train, {"train", "train.txt"});
    const std::string eval_name = pick("eval", eval, {"val", "test", "val.txt", "test.txt"});
    if (train_name.empty() && eval_name.empty())
      sdk::bad_file(root_.string(),
                    "holds neither train/, val/ or test/ (with a folder of pictures for each class) nor train.txt, "
                    "val.txt or test.txt (a line \"FILE LABEL\" for each picture); to use other names, say train = "
                    "and eval =");
    if (!train_name.empty()) read_split(train_name, out_.train);
    if (!eval_name.empty()) read_split(eval_name, out_.eval);
    out_.n_classes = std::max({static_cast<uint32_t>(out_.classes.size()), highest_ + 1});
    note_passed_over();
    return std::move(out_);
  }

 private:
  void read_classes() {
    const fs::path file = root_ / "classes.txt";
    if (!is_there(file)) return;
    for (std::string& line : lines_of(file))
      if (!line.empty()) add_class(std::move(line), file.string());
    if (out_.classes.empty()) sdk::bad_file(file.string(), "names no class");
    given_ = true;
  }

  void add_class(std::string name, const std::string& where) {
    if (!labels_.emplace(name, static_cast<int32_t>(out_.classes.size())).second)
      sdk::bad_file(where, "names the class " + name + " twice");
    out_.classes.push_back(std::move(name));
  }

  /// The first of `usual` that is there, unless the experiment says which.
  std::string pick(const char* key, const std::string& said, std::initializer_list<const char*> usual) const {
    if (!said.empty()) {
      if (!is_there(root_ / said)) sdk::bad_file((root_ / said).string(), std::string("is not there (") + key + " =)");
      return said;
    }
    for (const char* name : usual)
      if (is_there(root_ / name) && is_folder(root_ / name) == (fs::path(name).extension() != ".txt")) return name;
    return {};
  }

  void read_split(const std::string& name, std::vector<Entry>& to) {
    if (is_folder(root_ / name))
      read_folders(name, to);
    else
      read_list(name, to);
    if (to.empty()) sdk::bad_file((root_ / name).string(), "holds no pictures (.jpg, .jpeg, .png)");
  }

  void read_folders(const std::string& name, std::vector<Entry>& to) {
    std::vector<fs::path> folders = content(root_ / name);
    folders.erase(std::remove_if(folders.begin(), folders.end(), [](const fs::path& p) { return !is_folder(p); }),
                  folders.end());
    if (!given_ && !folders.empty()) {
      for (const fs::path& f : folders) add_class(f.filename().string(), (root_ / name).string());
      given_ = true;
    }
    for (const fs::path& f : folders) {
      const std::string c = f.filename().string();
      const auto found = labels_.find(c);
      if (found == labels_.end())
        sdk::bad_file(f.string(), "is a class that " + std::string(is_there(root_ / "classes.txt") ? "classes.txt" : "train") +
                                      " does not have; known are " + some_classes());
      const std::size_t before = to.size();
      walk(f, (fs::path(name) / c).string(), found->second, to, 0);
      if (to.size() == before) out_.notes.push_back(f.string() + " holds no pictures");
    }
  }

  void walk(const fs::path& folder, const std::string& name, int32_t label, std::vector<Entry>& to, int depth) {
    if (depth > kMaxDepth) sdk::bad_file(folder.string(), "folders are nested too deeply (a link that leads back?)");
    for (const fs::path& p : content(folder)) {
      const std::string below = name + "/" + p.filename().string();
      if (named_as_picture(p))
        to.push_back({below, label});
      else if (is_folder(p))
        walk(p, below, label, to, depth + 1);
      else if (other_picture(p))
        ++passed_over_;
    }
  }

  void read_list(const std::string& name, std::vector<Entry>& to) {
    const std::string file = (root_ / name).string();
    const std::vector<std::string> lines = lines_of(root_ / name);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty()) to.push_back(entry_of(lines[i], file + ": line " + std::to_string(i + 1)));
  }

  Entry entry_of(const std::string& line, const std::string& where) {
    const std::size_t space = line.find_last_of(" \t");
    const char* digits = line.data() + (space == std::string::npos ? 0 : space + 1);
    const char* end = line.data() + line.size();
    uint32_t label = 0;
    const auto parsed = std::from_chars(digits, end, label);
    if (space == std::string::npos || parsed.ec != std::errc() || parsed.ptr != end)
      sdk::bad_file(where, "\"FILE LABEL\" is expected, with a whole number at the end");
    const std::size_t last = line.find_last_not_of(" \t", space);
    std::string file = last == std::string::npos ? std::string() : line.substr(0, last + 1);
    check_inside(file, where);
    const uint32_t bound = out_.classes.empty() ? kMaxClasses : static_cast<uint32_t>(out_.classes.size());
    if (label >= bound)
      sdk::bad_file(where, "label " + std::to_string(label) + "; there are " + std::to_string(bound) + " classes, from 0 on");
    highest_ = std::max(highest_, label);
    return {std::move(file), static_cast<int32_t>(label)};
  }

  /// A list may come from anybody, so it must not lead out of the folder.
  static void check_inside(const std::string& file, const std::string& where) {
    const fs::path p(file);
    if (file.empty() || p.is_absolute() || file.find('\0') != std::string::npos)
      sdk::bad_file(where, "the file must be named relative to the data's folder");
    for (const fs::path& part : p)
      if (part == "..") sdk::bad_file(where, "the file must lie inside the data's folder: no \"..\"");
  }

  std::string some_classes() const {
    constexpr std::size_t kMost = 8;
    std::string out;
    for (std::size_t i = 0; i < std::min(kMost, out_.classes.size()); ++i) out += (i == 0 ? "" : ", ") + out_.classes[i];
    return out_.classes.size() > kMost ? out + " ..." : out;
  }

  void note_passed_over() {
    if (passed_over_ > 0)
      out_.notes.push_back(std::to_string(passed_over_) +
                           " files are named as pictures of other kinds (gif, webp, bmp ...) and are not used");
  }

  fs::path root_;
  Listing out_;
  std::map<std::string, int32_t> labels_;
  bool given_ = false;      // the classes are known
  uint32_t highest_ = 0;    // label in a list
  uint64_t passed_over_ = 0;
};

}  // namespace

Listing list_pictures(const std::string& path, const std::string& train, const std::string& eval) {
  return Lister(path).list(train, eval);
}

}  // namespace convoy::image_folder
