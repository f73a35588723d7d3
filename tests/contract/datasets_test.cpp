// The contract of every dataset found that works without files; those that need some are tested in their folders.
#include "found_plugins.hpp"

#include "error.hpp"

#include <doctest/doctest.h>

#include "dataset_reader.hpp"

using namespace convoy;
using testing::DatasetReader;
using testing::spec;

namespace {

/// The dataset with its defaults, or null where it needs options.
Owned<IDataset> create_if_possible(const std::string& name) {
  try {
    return contract::create_dataset(name);
  } catch (const Error& e) {
    MESSAGE("skipped: dataset " << name << ": " << std::string(e.what()));
    return nullptr;
  }
}

}  // namespace

TEST_SUITE("contract/datasets") {
  TEST_CASE("every sample can be read, from several threads, and nonsense is refused") {
    int tested = 0;
    for (const std::string& name : contract::names_of(Kind::dataset)) {
      CAPTURE(name);
      const auto dataset = create_if_possible(name);
      if (!dataset) continue;
      DatasetReader data([] { return contract::plugin_host().take_message(); }, *dataset);
      if (data.open(spec(), spec(3, 24, 20, 5)) != Code::ok) {
        MESSAGE("skipped: dataset " << name << ": " << data.message());
        continue;
      }
      ++tested;
      CHECK((data.info.channels > 0 && data.info.height > 0 && data.info.width > 0 && data.info.classes > 0));
      CHECK((data.info.dtype == DType::u8 || data.info.dtype == DType::f32));
      if (data.info.dtype == DType::u8)
        for (uint32_t c = 0; c < data.info.channels; ++c) CHECK(data.info.stdev[c] > 0);
      for (const Split split : {Split::train, Split::eval})
        if (data.count(split) != 0) check_dataset_contract(data, split, 100);
    }
    CHECK(tested > 0);
  }

  TEST_CASE("generated data meet the experiment's demand or say why not") {
    for (const std::string& name : contract::names_of(Kind::dataset)) {
      CAPTURE(name);
      const auto dataset = create_if_possible(name);
      if (!dataset) continue;
      DatasetReader data([] { return contract::plugin_host().take_message(); }, *dataset);
      const Code c = data.open(spec(3, 40, 28, 6), spec(1, 224, 224, 1000));
      if (c == Code::ok) {
        CHECK((data.info.channels == 3 && data.info.height == 40 && data.info.width == 28 && data.info.classes == 6));
      } else {
        CHECK(data.message() != "");
      }
    }
  }
}
