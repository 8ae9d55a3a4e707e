// Sizes in bytes: elements times the size of an element, whatever multiplies either.
#include <doctest/doctest.h>

#include "tests/support/lowered_module.h"
#include "tests/support/planned.h"

namespace tenon::test {

TEST_CASE("liveness: scratch of a tile has all of its elements (F10)") {
  LoweredModule b({{"x", i32(64)}});
  const Value n = b.call("n", {b.in(0)}, i32(64), {.shared = {0}, .worker = 96});
  tir::Buffer& tiled = b.module().kernels.back().kernel.buffers.back();
  tiled.dtype = DType::f32;
  tiled.elements = 4 * 64;  // four rows of a tile of 256 bytes
  Module m = b.finish({b.call("y", {n}, i32(64))});
  const Planned p = plan_module(m);
  REQUIRE(p.value("n.b2"));
  CHECK(p.value("n.b2")->size == 1024);
  CHECK(p.value("n")->size == 256);
  CHECK(p.peak("ram") == 1024 + 256);
  CHECK(p.peak("worker") == 96);  // planned once; the runtime has one per thread
  run_and_compare(m, p);
}

TEST_CASE("liveness: vector lanes are part of an element's size (F26)") {
  TensorType v{DType::f32, ::tenon::Shape{100}};
  v.lanes = 4;
  CHECK(byte_size(v) == 1600);
  LoweredModule b({{"v", v}});
  Module m = b.finish({b.copy("w", b.copy("u", b.in(0)))});
  auto values = storage_values(m, {.io_planned = true});
  REQUIRE_MESSAGE(values, text(values.status()));
  REQUIRE(values->values.size() == 3);
  for (const StorageValue& x : values->values) CHECK_MESSAGE(x.size == 1600, x.name);
}

TEST_CASE("liveness: elements below a byte are rounded up once per tensor, none are lost") {
  CHECK(byte_size({DType::i4, ::tenon::Shape{5}}) == 3);
  CHECK(byte_size({DType::i4, ::tenon::Shape{3, 5}}) == 8);
  CHECK(byte_size({DType::boolean, ::tenon::Shape{5}}) == 5);
  CHECK(byte_size({DType::f64, ::tenon::Shape{1ll << 31, 1ll << 29}}) == std::nullopt);
}

}  // namespace tenon::test
