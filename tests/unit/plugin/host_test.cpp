// The host's side of failures: chains of messages, kinds, missing messages, failures from other threads.
#include "plugin/host.hpp"

#include "error.hpp"

#include <convoy/sdk/plugin.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using convoy::Code;
using convoy::Error;
using convoy::ErrorKind;
using convoy::plugin::Host;
using convoy::sdk::str;

namespace {

/// What check() throws; a bug where it throws nothing.
Error checked(Host& host, Code c) {
  try {
    host.check(c, "acme", "compile the graph");
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorKind::bug, "nothing was thrown");
}

Error polled(Host& host) {
  try {
    host.poll();
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorKind::bug, "nothing was thrown");
}

/// Keeps what was logged.
class Lines final : public convoy::record::LogSink {
 public:
  void write(convoy::record::LogLevel level, std::string_view who, std::string_view message) noexcept override {
    lines.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(who) + " " + std::string(message));
  }
  std::vector<std::string> lines;
};

}  // namespace

TEST_SUITE("host") {
  TEST_CASE("ok throws nothing, and forgets what an inner call left behind") {
    Lines log;
    Host host(log);
    host.fail(Code::unsupported, str("Inner"), str("tried another way"));
    CHECK_NOTHROW(host.check(Code::ok, "acme", "compile the graph"));
    CHECK(host.take_message() == "");
  }

  TEST_CASE("a chain of messages arrives innermost first") {
    Lines log;
    Host host(log);
    CHECK(host.fail(Code::device, str("Stream"), str("no stream left")) == Code::device);
    host.fail(Code::internal, str("Acme::compile"), str("cannot compile b3"));
    const Error e = checked(host, Code::internal);
    CHECK(std::string(e.what()) == "'acme' could not compile the graph: Stream: no stream left");
    REQUIRE(e.notes().size() == 1);
    CHECK(e.notes()[0] == convoy::ErrorNote{"in", "Acme::compile: cannot compile b3"});
    CHECK(host.take_message() == "");  // said once
  }

  TEST_CASE("a code without a message is P402, with the code as number and as word") {
    Lines log;
    Host host(log);
    const Error e = checked(host, Code::internal);
    CHECK(e.number() == "P402");
    CHECK(e.kind() == ErrorKind::plugin);
    CHECK(std::string(e.what()) == "'acme' failed to compile the graph and gave no message (code 11, internal)");
    CHECK(e.notes().at(0).second.find("report it") == 0);
  }

  TEST_CASE("a failure names the file that the plugin came from, with or without a message") {
    Lines log;
    Host host(log);
    host.introduce("acme", "/opt/acme/fast.convoy.so (acme_fast 0.4.1)");
    host.introduce("acme", "/opt/acme/fast.convoy.so (acme_fast 0.4.1)");  // loaded for two kinds
    host.introduce("other", "/opt/other.convoy.so (other 1.0)");
    const convoy::ErrorNote file{"file", "/opt/acme/fast.convoy.so (acme_fast 0.4.1)"};
    CHECK(checked(host, Code::internal).notes().at(0) == file);
    host.fail(Code::device, str("Stream"), str("no stream left"));
    host.fail(Code::internal, str("Acme::compile"), str("cannot compile b3"));
    const Error e = checked(host, Code::internal);
    REQUIRE(e.notes().size() == 2);
    CHECK(e.notes()[0] == file);
    CHECK(e.notes()[1].first == "in");
  }

  TEST_CASE("a code of a newer plugin that has no name here is still reported") {
    Lines log;
    Host host(log);
    CHECK(std::string(checked(host, static_cast<Code>(77)).what()).find("(code 77, unknown)") != std::string::npos);
  }

  TEST_CASE("the kind of an error, and so the exit code, follows from the code") {
    Lines log;
    Host host(log);
    const auto kind = [&](Code c) {
      host.fail(c, str("x"), str("y"));
      return checked(host, c).kind();
    };
    CHECK(kind(Code::io) == ErrorKind::data);
    for (Code c : {Code::comm, Code::timeout, Code::aborted}) CHECK(kind(c) == ErrorKind::peer);
    CHECK(kind(Code::invalid) == ErrorKind::usage);
    for (Code c : {Code::unsupported, Code::out_of_memory, Code::device, Code::version, Code::not_found, Code::internal})
      CHECK(kind(c) == ErrorKind::plugin);
  }

  TEST_CASE("what is wrong with an experiment or its files is said without names of functions, nodes stay named") {
    Lines log;
    Host host(log);
    const auto said = [&](Code c, const char* where) {
      host.fail(c, str(where), str("too small"));
      return std::string(checked(host, c).what());
    };
    for (Code c : {Code::invalid, Code::io})
      for (const char* where : {"Dataset::open", "create", ""}) CHECK(said(c, where) == "'acme' could not compile the graph: too small");
    CHECK(said(Code::invalid, "conv1") == "'acme' could not compile the graph: conv1: too small");
    CHECK(said(Code::device, "Acme::compile") == "'acme' could not compile the graph: Acme::compile: too small");
  }

  TEST_CASE("invalid work on a thread of the plugin's own is the plugin's fault") {
    Lines log;
    Host host(log);
    host.fail_async(Code::invalid, str("link"), str("no such peer"));
    CHECK(polled(host).kind() == ErrorKind::plugin);
  }

  TEST_CASE("a plugin that fails in a loop does not fill memory") {
    Lines log;
    Host host(log);
    for (int i = 0; i < 10000; ++i) host.fail(Code::internal, str("loop"), str("again"));
    CHECK(checked(host, Code::internal).notes().size() < 16);
  }

  TEST_CASE("messages belong to the thread that fails") {
    Lines log;
    Host host(log);
    std::thread([&] { host.fail(Code::io, str("other"), str("thread")); }).join();
    CHECK(checked(host, Code::io).number() == "P402");
  }

  TEST_CASE("of failures on threads of a plugin the first wins, and is thrown once") {
    Lines log;
    Host host(log);
    CHECK_NOTHROW(host.poll());
    host.fail_async(Code::comm, str("link"), str("peer 3 is gone"));
    host.fail_async(Code::internal, str("link"), str("and so it went on"));
    const Error e = polled(host);
    CHECK(std::string(e.what()) == "'link' failed: peer 3 is gone");
    CHECK(e.kind() == ErrorKind::peer);
    CHECK_NOTHROW(host.poll());
  }

  TEST_CASE("failures from many threads at once leave exactly one") {
    Lines log;
    Host host(log);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&host, i] { host.fail_async(Code::device, str("t"), str(std::to_string(i))); });
    for (auto& t : threads) t.join();
    CHECK(std::string(polled(host).what()).find("'t' failed: ") == 0);
    CHECK_NOTHROW(host.poll());
  }

  TEST_CASE("query knows the host itself and what was provided, and nothing else") {
    Lines log;
    Host host(log);
    int service = 0;
    CHECK(host.query(convoy::IHost::id) == static_cast<convoy::IHost*>(&host));
    CHECK(host.query("convoy.workers.1") == nullptr);
    host.provide("convoy.workers.1", &service);
    CHECK(host.query("convoy.workers.1") == &service);
    CHECK(host.query("convoy.workers.2") == nullptr);
    host.provide("convoy.workers.1", nullptr);
    CHECK(host.query("convoy.workers.1") == nullptr);
  }

  TEST_CASE("a log level that does not exist is taken as the least grave") {
    Lines log;
    Host host(log);
    host.log(1, str("acme"), str("warm"));
    host.log(99, str("acme"), str("odd"));
    CHECK(log.lines == std::vector<std::string>{"1 acme warm", "3 acme odd"});
  }
}
