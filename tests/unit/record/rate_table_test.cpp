#include "record/rate_table.hpp"

#include "record/repeats.hpp"
#include "record/result_row.hpp"

#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

namespace convoy::record::test {

namespace {

std::vector<std::string> row(const std::string& model, const std::string& variant, int64_t batch, double rate, const std::string& mode = "inference") {
  ResultRow r;
  r.model = model;
  r.variant = variant;
  r.mode = mode;
  r.device = "cpu";
  r.device_name = "Some CPU";
  r.batch_per_replica = batch;
  r.status = rate > 0 ? RowStatus::ok : RowStatus::out_of_memory;
  if (rate > 0) {
    r.images_per_second = rate;
    r.minutes_per_million = 1e6 / rate / 60;
    r.cost_per_million = 0.01 * *r.minutes_per_million;
  }
  return to_fields(r);
}

}  // namespace

TEST_CASE("networks stand across and batches down; what tells two variants apart is in the head") {
  const std::vector<std::vector<std::string>> rows{row("alexnet", "variant=owt", 1, 100),         row("alexnet", "variant=owt", 16, 1600.126),
                                                   row("resnet", "depth=50 version=v1.5", 1, 50), row("resnet", "depth=152 version=v1.5", 1, 0)};
  CHECK(rate_table(rows, "EUR") ==
        "inference · cpu (Some CPU)\n"
        "images/s\n"
        "  batch        alexnet      resnet 50     resnet 152\n"
        "      1         100.00          50.00  out_of_memory\n"
        "     16        1600.13              -              -\n"
        "\n"
        "minutes for 1,000,000 images\n"
        "  batch        alexnet      resnet 50     resnet 152\n"
        "      1         166.67         333.33  out_of_memory\n"
        "     16          10.42              -              -\n"
        "\n"
        "EUR for 1,000,000 images\n"
        "  batch        alexnet      resnet 50     resnet 152\n"
        "      1         1.6667         3.3333  out_of_memory\n"
        "     16         0.1042              -              -\n");
}

TEST_CASE("each mode has a block of its own") {
  const std::vector<std::vector<std::string>> rows{row("lenet", "", 1, 100), row("lenet", "", 1, 30, "train")};
  const std::string text = rate_table(rows, "USD");
  CHECK(text.find("inference · cpu") != std::string::npos);
  CHECK(text.find("train · cpu") > text.find("100.00"));
  CHECK(rate_table({}, "USD").empty());
}

TEST_CASE("repeats are read back, but for a torn last line") {
  const ScratchFolder folder;
  const auto path = folder / "repeats.ndjson";
  {
    Repeats first(path);
    CHECK(first.earlier().empty());
    first.append({"data.batch=1", {"a", "b, \"c\""}, {1.25, 1e-3}});
    first.append({"data.batch=2", {}, {}});
  }
  std::ofstream(path, std::ios::app) << "{\"sweep\": \"data.ba";
  Repeats again(path);
  REQUIRE(again.earlier().size() == 2);
  CHECK(again.earlier()[0].sweep == "data.batch=1");
  CHECK(again.earlier()[0].fields == std::vector<std::string>{"a", "b, \"c\""});
  CHECK(again.earlier()[0].step_ms == std::vector<double>{1.25, 1e-3});
  again.append({"data.batch=3", {}, {2}});
  CHECK(Repeats(path).earlier().size() == 3);
}

}  // namespace convoy::record::test
