// Which plugins there are, and objects made from them by kind and name.
// Lists without loading anything; loads only what is used; keeps what it loaded until the process ends.
#pragma once

#include "error.hpp"
#include "experiment/schema.hpp"
#include "owned.hpp"
#include "plugin/candidate.hpp"
#include "plugin/host.hpp"
#include "plugin/library.hpp"
#include "plugin/search_path.hpp"

#include <convoy/abi.hpp>
#include <convoy/sdk/plugin.hpp>

#include <map>
#include <string>
#include <vector>

namespace convoy::plugin {

/// A row of `runner plugins`: one thing that a file provides, or a file that could not be read.
struct Row {
  const Candidate* candidate = nullptr;
  std::string kind;         // empty where the manifest could not be read
  std::string name;
  const Candidate* shadowed_by = nullptr;  // the file in an earlier folder that provides the same
  std::optional<Error> clash;              // P102: another file in the same folder does
};

/// A plugin that this process loaded.
struct Used {
  const Candidate* candidate = nullptr;
  std::string sha256;
};

/// Threads: main only. `host` outlives it.
class Registry {
 public:
  /// Scans the folders at once. The first `asked_folders` were asked for: one that cannot be read is an error (usage), any
  /// other a warning.
  Registry(Host& host, const SearchPath& path, std::size_t asked_folders = 0);

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// A line for each file of an asked-for folder that was refused: who does not look at rows() should say them.
  const std::vector<std::string>& refused_warnings() const { return refused_warnings_; }
  const std::vector<Used>& used() const { return used_; }

  /// The factory of `kind` that an experiment names, loaded if need be. A name with a slash is a file (P105 where
  /// not allowed). `at` is where the name was written. Errors: P101 with the known names and the nearest, P102, P107,
  /// whatever refused the file, P301 and on from loading it.
  IFactory& factory(Kind kind, const std::string& name, const Position& at = {});
  /// The version of the file behind a factory.
  std::string version(Kind kind, const std::string& name);
  /// Errors: as factory(); P306 where the text is no schema is left to its reader.
  std::string options_schema(Kind kind, const std::string& name, const Position& at = {});
  /// Throws P401, with the plugin's reason, where it is not usable on this machine.
  ProbeResult probe(Kind kind, const std::string& name, const Position& at = {});

  /// Creates an object and asks it for T. `table` is for messages: "device".
  template <class T>
  Owned<T> create(Kind kind, const std::string& name, const experiment::OptionList& options, const Position& at = {}) {
    Owned<IObject> object = create_object(kind, name, options, at);
    auto* out = static_cast<T*>(object->query(T::id));
    if (out == nullptr)
      throw about(find(kind, name, at), Error(ErrorKind::plugin, std::string(name_of(kind)) + " '" + name + "' offers no interface " + T::id));
    object.release();
    return Owned<T>(out);
  }

  /// Files named by path in an experiment are loaded only after this.
  void allow_experiment_plugins(const std::filesystem::path& experiment_folder);
  /// Calls the shutdown function of every loaded plugin, once.
  void shutdown();

 private:
  struct Loaded {
    Library library;
    std::string openmp;  // the OpenMP runtime that it brings, empty where none
  };

  void scan(const std::filesystem::path& folder, bool must_exist);
  void add_rows(const Candidate& c);
  /// A folder that was asked for holds what was meant: another file of the same name must not step in without a word.
  void warn_if_refused(const Candidate& c);
  const Candidate& find(Kind kind, const std::string& name, const Position& at);
  const Candidate& examined(const std::filesystem::path& file);
  const Candidate& find_file(Kind kind, const std::string& path, const Position& at);
  const Loaded& load(const Candidate& c);
  void warn_of_second_openmp(const Candidate& c, const std::string& mine);
  std::string searched_text() const;
  /// Mentions files that are not even believed in their manifest: one may be the one that was meant.
  void note_unreadable(Error& e) const;
  Owned<IObject> create_object(Kind kind, const std::string& name, const experiment::OptionList& options,
                               const Position& at);

  Host& host_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::vector<Row> rows_;
  std::vector<std::filesystem::path> folders_;
  std::vector<std::string> warnings_, refused_warnings_;
  std::map<const Candidate*, Loaded> loaded_;
  std::vector<Used> used_;
  std::optional<std::filesystem::path> experiment_folder_;
};

}  // namespace convoy::plugin
