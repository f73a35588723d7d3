// manifest.json of a run: what it was built from, and the variables that change what it does.
#include "train/run_files.hpp"

#include "../record/scratch_folder.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

using namespace convoy;

TEST_SUITE("run files") {
  TEST_CASE("the manifest says what was built and which variables were set") {
    const record::test::ScratchFolder folder;
    record::SilentLog log;
    plugin::Host host(log);
    plugin::Registry registry(host, {{folder.path()}, {}});
    train::RunContext context;
    context.registry = &registry;
    context.directory = record::RunDirectory(folder.path());
    setenv("OMP_CONVOY_TEST", "spread", 1);
    setenv("SECRET_CONVOY_TEST", "nobody's business", 1);
    train::write_run_manifest(context, {}, "", 1);
    const std::string text = record::test::content_of(context.directory.manifest());
    CHECK(text.find("\"OMP_CONVOY_TEST\": \"spread\"") != std::string::npos);
    CHECK(text.find("SECRET_CONVOY_TEST") == std::string::npos);
    const bool checkout = std::filesystem::exists(std::filesystem::path(CONVOY_SOURCE_DIR) / ".git");
    CHECK((text.find("\"source\": \"git ") != std::string::npos) == checkout);
  }
}
