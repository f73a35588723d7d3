// The check around each call into a device: silent and free of allocation, or the device's own words.
#include "fake_device.hpp"

#include "error.hpp"

#include "../record/allocation_count.hpp"

#include <doctest/doctest.h>

using namespace convoy;
using convoy::testing::HeldDevice;
using convoy::testing::Script;

TEST_SUITE("device") {
  TEST_CASE("a call that went well is checked without allocating") {
    Script script;
    HeldDevice held(script);
    exec::DeviceEvent event(held.device);
    const exec::DeviceStream stream(held.device);
    event.record(stream.get());  // whatever is made once
    const std::size_t before = record::test::allocation_count();
    for (int step = 0; step < 100; ++step) {
      event.record(stream.get());
      event.sync(1000);
      held.device.check(Code::ok, "do something that needs far more letters than a short string holds");
    }
    CHECK(record::test::allocation_count() == before);
  }

  TEST_CASE("a call that failed is an error in the device's words") {
    Script script;
    HeldDevice held(script);
    held.host.fail(Code::device, sdk::str("here"), sdk::str("the fuse is blown"));
    CHECK_THROWS_WITH_AS(held.device.check(Code::device, "run a step"), "'fake' could not run a step: here: the fuse is blown", Error);
  }

  TEST_CASE("what a call left that went well in the end does not turn up later") {
    Script script;
    HeldDevice held(script);
    held.host.fail(Code::device, sdk::str("here"), sdk::str("the first way failed"));
    held.device.check(Code::ok, "run a step");
    CHECK(held.host.take_message().empty());
  }
}
