#include "plugin/search_path.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace convoy::plugin {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& why, const std::string& fix) {
  throw Error(ErrorKind::plugin, fmt::format("refusing to load {}: {}", path.string(), why), "P104").note("fix", fix);
}

struct stat status_of(const fs::path& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) refuse(path, "it cannot be examined", "check that it exists and may be read");
  return s;
}

/// A group of the owner alone, named like him, as many systems give each user together with a umask of 0002: what it may
/// write, nobody else may. Any other group counts as other users.
bool is_private_group(gid_t group, uid_t owner) {
  const passwd* user = getpwuid(owner);
  const ::group* g = user == nullptr ? nullptr : getgrgid(group);
  if (g == nullptr || std::strcmp(g->gr_name, user->pw_name) != 0) return false;
  for (char** member = g->gr_mem; *member != nullptr; ++member)
    if (std::strcmp(*member, user->pw_name) != 0) return false;
  return true;
}

/// Under an access list the group's bits of the mode are its mask: they stand for everybody whom it names.
bool has_access_list(const fs::path& path) { return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0; }

void check_one(const fs::path& path, const fs::path& part, bool is_parent) {
  const struct stat s = status_of(part);
  const std::string which = part == path ? "it" : part.string();
  if (s.st_uid != 0 && s.st_uid != geteuid())
    refuse(path, fmt::format("{} belongs to another user (uid {})", which, s.st_uid), "install a copy of your own");
  const bool writable = (s.st_mode & S_IWOTH) != 0 ||
                        ((s.st_mode & S_IWGRP) != 0 && (has_access_list(part) || !is_private_group(s.st_gid, s.st_uid)));
  const bool kept_by_sticky = is_parent && (s.st_mode & S_ISVTX) != 0;
  if (writable && !kept_by_sticky)
    refuse(path, fmt::format("{} is writable by other users (mode {:04o})", which, s.st_mode & 07777),
           fmt::format("chmod go-w {}, or install the plugin where only root and you can write", part.string()));
}

/// All entries, the empty one behind a last colon included: elsewhere it would mean the working directory.
std::vector<std::string> entries_of(const char* variable) {
  std::vector<std::string> out;
  if (variable == nullptr || *variable == '\0') return out;
  std::string_view rest = variable;
  for (auto colon = rest.find(':'); colon != rest.npos; colon = rest.find(':')) {
    out.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
  }
  out.emplace_back(rest);
  return out;
}

}  // namespace

SearchPath make_search_path(const std::vector<std::string>& asked, const char* variable, const fs::path& program) {
  SearchPath out;
  for (const auto& folder : asked) {
    if (folder.empty()) throw Error(ErrorKind::usage, "--plugin-dir is empty").note("fix", "--plugin-dir ./my-plugins");
    std::error_code ec;
    const fs::path absolute = fs::absolute(folder, ec);
    if (ec)
      throw Error(ErrorKind::usage, fmt::format("--plugin-dir {}: the working directory cannot be found ({})", folder, ec.message()))
          .note("fix", "name the folder from the root, or change to a folder that exists");
    out.folders.push_back(absolute.lexically_normal());
  }
  for (const std::string& entry : entries_of(variable)) {
    if (!entry.empty() && fs::path(entry).is_absolute())
      out.folders.push_back(fs::path(entry).lexically_normal());
    else
      out.warnings.push_back(
          fmt::format("warning[P103]: CONVOY_PLUGIN_PATH entry '{}' is not absolute and was ignored", entry));
  }
  std::error_code ec;
  const fs::path real = fs::canonical(program, ec);
  if (!ec) out.folders.push_back((real.parent_path() / ".." / "lib" / "convoy" / "plugins").lexically_normal());
  return out;
}

void refuse_if_writable_by_others(const fs::path& path) {
  check_one(path, path, false);
  for (fs::path folder = path.parent_path();; folder = folder.parent_path()) {
    // The folder that holds the file decides who may put another one there, sticky bit or not.
    check_one(path, folder, folder != path.parent_path());
    if (folder == folder.parent_path()) return;
  }
}

}  // namespace convoy::plugin
