// metrics.ndjson, results.csv, summary.json: their text, and what reopening does to torn files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "error.hpp"
#include "record/csv.hpp"
#include "record/ndjson.hpp"
#include "record/result_row.hpp"
#include "record/summary.hpp"
#include "scratch_folder.hpp"

using namespace convoy;
using namespace convoy::record;
using namespace convoy::record::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

Record step(int number) { return Record().add("step", number).add("loss", 0.5).add("note", "a \"b\"\n"); }

}  // namespace

TEST_SUITE_BEGIN("record");

TEST_CASE("a record is one line of valid JSON, its fields in their order") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto text = to_json(Record()
                                .add("step", std::int64_t{1} << 60)
                                .add("a", true)
                                .add("loss", 0.1)
                                .add("nan", std::nan(""))
                                .add("inf", -inf)
                                .add("text", "line\nbreak \xff \x01"));
  CHECK(text == "{\"step\":1152921504606846976,\"a\":true,\"loss\":0.1,\"nan\":null,\"inf\":null,"
                "\"text\":\"line\\nbreak \xef\xbf\xbd \\u0001\"}");
  CHECK(to_json(Record()) == "{}");
  CHECK_THROWS_AS((void)to_json(Record().add("a", 1).add("a", 2)), Error);
}

TEST_CASE("metrics cut off at any byte are whole lines again after reopening") {
  const ScratchFolder folder;
  {
    NdjsonWriter writer(folder / "full");
    for (int i = 0; i < 3; ++i) writer.append(step(i));
    CHECK(writer.repaired_bytes() == 0);
  }
  const std::string full = content_of(folder / "full");
  for (std::size_t cut = 0; cut <= full.size(); ++cut) {
    CAPTURE(cut);
    put(folder / "cut", full.substr(0, cut));
    NdjsonWriter(folder / "cut").append(step(9));
    const auto lines = lines_of(content_of(folder / "cut"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto object = nlohmann::json::parse(lines[i]);
      REQUIRE(object["step"] == (i + 1 == lines.size() ? 9 : static_cast<int>(i)));
    }
    // A line that lacks nothing but its end is whole.
    const auto kept = static_cast<std::size_t>(std::count(full.begin(), full.begin() + static_cast<long>(cut), '\n'));
    const bool only_end_missing = cut < full.size() && full[cut] == '\n';
    REQUIRE(lines.size() == kept + (only_end_missing ? 2 : 1));
  }
}

TEST_CASE("zeros left by a power cut are repaired, a file of another kind is refused untouched") {
  const ScratchFolder folder;
  put(folder / "zeros", "{\"a\":1}\n" + std::string(40, '\0'));
  NdjsonWriter zeros(folder / "zeros");
  CHECK(zeros.repaired_bytes() == 40);
  CHECK(content_of(folder / "zeros") == "{\"a\":1}\n");
  put(folder / "other", "my notes");
  CHECK_THROWS_AS(NdjsonWriter(folder / "other"), Error);
  CHECK(content_of(folder / "other") == "my notes");
}

TEST_CASE("the columns of results.csv are the promised ones") {
  CHECK(kResultHeader ==
        "model,variant,mode,device,device_name,precision,batch_per_replica,replicas,comm,sync,sync_options,status,"
        "images_per_second,images_per_second_p10,images_per_second_p90,step_ms,step_ms_p99,compute_ms,comm_total_ms,"
        "comm_exposed_ms,comm_hidden_ms,convoy_wait_ms,bytes_sent_per_step,peak_device_bytes,fraction_of_limit,"
        "minutes_per_million,cost_per_million,joules_per_image,gate,residency,fraction_of_roofline,repeats,sweep");
}

TEST_CASE("every value of a row stands under its own column") {
  ResultRow row;
  row.model = "resnet";
  row.variant = "v";
  row.mode = "train";
  row.device = "cpu";
  row.device_name = "Some CPU, \"fast\"";
  row.precision = "fp32";
  row.batch_per_replica = 1;
  row.replicas = 2;
  row.comm = "threads";
  row.sync = "none";
  row.sync_options = "o";
  row.status = RowStatus::gate_failed;
  row.images_per_second = 3.5;
  row.images_per_second_p10 = 4;
  row.images_per_second_p90 = 5;
  row.step_ms = 6;
  row.step_ms_p99 = 7;
  row.compute_ms = 8;
  row.comm_total_ms = 9;
  row.comm_exposed_ms = 10;
  row.comm_hidden_ms = 11;
  row.convoy_wait_ms = 12;
  row.bytes_sent_per_step = 1'000'000;
  row.peak_device_bytes = 14;
  row.fraction_of_limit = 0.1;
  row.minutes_per_million = 1e6;
  row.cost_per_million = std::nan("");
  row.gate = "replicas differ";
  row.residency = "host";
  row.fraction_of_roofline = 0.2;
  row.repeats = 15;
  row.sweep = "data.batch=1";
  const ScratchFolder folder;
  CsvWriter(folder / "results.csv", kResultHeader).append(to_fields(row));
  const auto lines = lines_of(content_of(folder / "results.csv"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == kResultHeader);
  CHECK(lines[1] ==
        "resnet,v,train,cpu,\"Some CPU, \"\"fast\"\"\",fp32,1,2,threads,none,o,gate_failed,3.5,4,5,6,7,8,9,10,11,12,"
        "1000000,14,0.1,1000000,,,replicas differ,host,0.2,15,data.batch=1");
}

TEST_CASE("CSV fields are quoted where they must be and only there") {
  CHECK(csv_field("plain text; 1.5") == "plain text; 1.5");
  CHECK(csv_field("") == "");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("a\nb") == "\"a\nb\"");
  CHECK(csv_field("a\rb") == "\"a\rb\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
}

TEST_CASE("a table cut off at any byte is whole rows again after reopening") {
  const ScratchFolder folder;
  const std::vector<std::string> row{"1", "two\nlines, \"quoted\"", "3"};
  const std::string row_text = "1,\"two\nlines, \"\"quoted\"\"\",3\n";
  {
    CsvWriter writer(folder / "full", "a,b,c");
    writer.append(row);
    writer.append(row);
  }
  const std::string full = content_of(folder / "full");
  REQUIRE(full == "a,b,c\n" + row_text + row_text);
  for (std::size_t cut = 0; cut <= full.size(); ++cut) {
    CAPTURE(cut);
    put(folder / "cut", full.substr(0, cut));
    CsvWriter(folder / "cut", "a,b,c").append(row);
    const std::size_t rows = cut < 6 ? 0 : (cut - 6) / row_text.size();
    std::string wanted = "a,b,c\n";
    for (std::size_t i = 0; i <= rows; ++i) wanted += row_text;
    REQUIRE(content_of(folder / "cut") == wanted);
  }
}

TEST_CASE("a table with other columns is refused and left alone, a row of another length is a bug") {
  const ScratchFolder folder;
  put(folder / "x", "a,b\n1,2\n");
  CHECK_THROWS_WITH_AS(CsvWriter(folder / "x", "a,b,c"), doctest::Contains("its columns"), Error);
  put(folder / "y", "no table");
  CHECK_THROWS_AS(CsvWriter(folder / "y", "a,b,c"), Error);
  CHECK(content_of(folder / "x") == "a,b\n1,2\n");
  CHECK(content_of(folder / "y") == "no table");
  CsvWriter writer(folder / "z", "a,\"b,c\"");
  CHECK_THROWS_AS(writer.append(std::vector<std::string>{"1"}), Error);
  CHECK_NOTHROW(writer.append(std::vector<std::string>{"1", "2"}));
}

TEST_CASE("a summary has numbers as numbers and leaves out what was not measured") {
  Summary summary;
  summary.status = "done";
  summary.steps = 300;
  summary.epochs = 3;
  summary.train_loss = std::nan("");
  summary.top1 = 0.975;
  summary.wall_s = 12.25;
  summary.more.add("device", "cpu");
  const auto object = nlohmann::ordered_json::parse(to_json(summary));
  CHECK(object.dump() == R"({"status":"done","exit_code":0,"steps":300,"epochs":3,"train_loss":null,)"
                         R"("top1":0.975,"wall_s":12.25,"device":"cpu"})");
  summary.epochs = 2.5;
  CHECK(nlohmann::json::parse(to_json(summary))["epochs"] == 2.5);
  const ScratchFolder folder;
  write_summary(folder / "summary.json", summary);
  CHECK(content_of(folder / "summary.json") == to_json(summary));
}

TEST_SUITE_END();
