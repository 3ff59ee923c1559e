// Every way a call can be refused: the id, and what the text must name; kernel, PE and source line in all of them.
#include "tl/recording.hpp"

namespace kernbench::tl::error_test {
namespace {

#define EXPECT_REFUSED(error, wanted_id, text, advice)                                             \
  do {                                                                                             \
    const auto& refused = error;                                                                   \
    EXPECT_EQ(refused.id(), wanted_id);                                                            \
    EXPECT_THAT(refused.where(), HasSubstr("kernel 'faulty' on sip1.cube2.pe3, error_test.cpp:")); \
    EXPECT_THAT(refused.message(), HasSubstr(text));                                               \
    EXPECT_THAT(refused.hint(), HasSubstr(advice));                                                \
  } while (false)

TEST(Errors, NameKernelPeAndSourceLine) {
  int line = 0;
  const auto e = error_of([&](Context& tl) {
    const auto a = tl.load(kA, {4}, f16), b = tl.load(kA, {3}, f16);
    line = __LINE__ + 1;
    a + b;
  });
  EXPECT_EQ(e.where(), "kernel 'faulty' on sip1.cube2.pe3, error_test.cpp:" + std::to_string(line));
  EXPECT_EQ(e.message(), "add of %0:f16[4], %1:f16[3]: shapes [4] and [3] do not broadcast: 4 against 3");
  EXPECT_THAT(e.what(), HasSubstr("kernel 'faulty' on sip1.cube2.pe3"));
}

TEST(Errors, OfAxes) {
  EXPECT_REFUSED(error_of([](Context& tl) { tl.program_id(3); }), "tl.axis", "program_id(3)",
                 "axis 0 is the PE");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.num_programs(-1); }), "tl.axis", "num_programs(-1)",
                 "axis 0 is the PE");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.sum(tl.load(kA, {4, 2}, f16), 2);
                 }),
                 "tl.axis", "sum of %0:f16[4, 2]: axis 2", "axes are 0 … 1");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.softmax(tl.load(kA, {4, 2}, f16), -3);
                 }),
                 "tl.axis", "axis -3", "");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.max(tl.load(kA, {4, 0}, f16), 1);
                 }),
                 "tl.axis", "empty axis", "sum");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.trans(tl.load(kA, {4}, f16)); }), "tl.axis",
                 "trans of %0:f16[4]", "two axes");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.trans(tl.load(kA, {4, 2}, f16), {0, 0});
                 }),
                 "tl.axis", "[0, 0]", "once");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.expand_dims(tl.load(kA, {4}, f16), 3); }), "tl.axis", "axis 3",
                 "0 … 1");
}

TEST(Errors, OfShapes) {
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.load(kA, {4, -1}, f16);
                 }),
                 "tl.shape", "load: shape [4, -1]", "0 or more");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}, f16);
                 }),
                 "tl.shape", "9 axes", "at most 8");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.reshape(tl.load(kA, {4, 2}, f16), {3, 3});
                 }),
                 "tl.shape", "reshape of %0:f16[4, 2] to [3, 3]", "must stay 8");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.reshape(tl.load(kA, {4, 2}, f16), {3, -1});
                 }),
                 "tl.shape", "[3, -1]", "0 or more");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.reshape(tl.trans(tl.ref(kA, {4, 2}, f16)), {8});
                 }),
                 "tl.shape", "row-major", "load it");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.broadcast_to(tl.load(kA, {4}, f16), {4, 3});
                 }),
                 "tl.shape", "broadcast_to of %0:f16[4] to [4, 3]", "equal or the tile's 1");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.broadcast_to(tl.load(kA, {2, 4}, f16), {4});
                 }),
                 "tl.shape", "to [4]", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.arange(4, 4); }), "tl.shape", "arange(4, 4)", "above begin");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto a = tl.load(kA, {4, 8}, f16), b = tl.load(kA, {4, 8}, f16);
                   tl.dot(a, b);
                 }),
                 "tl.shape", "dot of %0:f16[4, 8] and %1:f16[4, 8]", "[…, M, K] and […, K, N]");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.dot(tl.load(kA, {8}, f16), tl.load(kA, {8, 8}, f16));
                 }),
                 "tl.shape", "dot", "[…, M, K]");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto x = tl.load(kA, {8, 8}, f16);
                   tl.dot(x, x, {.acc = tl.zeros({7}, f32)});
                 }),
                 "tl.shape", "acc %2:f32[7]", "[8, 8]");
}

TEST(Errors, OfSlices) {
  const auto slice = [](Slice s) {
    return error_of([&](Context& tl) { tl.load(kA, {4, 2}, f16).slice({s}); });
  };
  EXPECT_REFUSED(slice({1, 5}), "tl.slice", "slice 1:5:1 of axis 0 of %0:f16[4, 2]", "end ≤ 4");
  EXPECT_REFUSED(slice({3, 2}), "tl.slice", "3:2", "");
  EXPECT_REFUSED(slice({-5, 4}), "tl.slice", "-5:4", "");
  EXPECT_REFUSED(slice({0, 4, 0}), "tl.slice", "0:4:0", "step ≥ 1");
  EXPECT_REFUSED(slice(index(4)), "tl.slice", "4:5", "");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.load(kA, {4}, f16).slice({all, all});
                 }),
                 "tl.slice", "2 slices", "1 axes");
}

TEST(Errors, OfDTypes) {
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kA, {4}, f16) % 2; }), "tl.dtype",
                 "mod of %0:f16[4], 2:f16", "integers");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kA, {4}, f32) & 1; }), "tl.dtype", "and of %0:f32[4]",
                 "");
  EXPECT_REFUSED(error_of([](Context& tl) { ~tl.load(kA, {4}, f16); }), "tl.dtype", "not of %0:f16[4]", "i1");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.where(tl.load(kA, {4}, i8), 1, 0); }), "tl.dtype",
                 "where of %0:i8[4]", "mask");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto a = tl.load(kA, {4, 4}, i8), b = tl.load(kA, {4, 4}, f16);
                   tl.dot(a, b);
                 }),
                 "tl.dtype", "%0:i8[4, 4] and %1:f16[4, 4]", "two floats or two i8");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.dot(tl.load(kA, {4, 4}, i8), tl.load(kA, {4, 4}, i8), {.out_dtype = f32});
                 }),
                 "tl.dtype", "to f32", "i32");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.dot(tl.load(kA, {4, 4}, f16), tl.load(kA, {4, 4}, f16), {.out_dtype = i32});
                 }),
                 "tl.dtype", "to i32", "is a float");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto x = tl.load(kA, {4, 4}, f16);
                   tl.dot(x, x, {.acc = x});
                 }),
                 "tl.dtype", "dot to f32 with acc %0:f16[4, 4]", "acc is f32");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.softmax(tl.load(kA, {4}, i8)); }), "tl.dtype",
                 "softmax of %0:i8[4]", "cast");
  EXPECT_REFUSED(
      error_of([](Context& tl) { tl.math(MathOp::sum, std::vector<Operand>{tl.load(kA, {4}, f16)}); }),
      "tl.dtype", "sum", "its own");
  EXPECT_REFUSED(
      error_of([](Context& tl) { tl.math(MathOp::add, std::vector<Operand>(4, tl.load(kA, {4}, f16))); }),
      "tl.dtype", "add with 4 operands", "takes 2");
}

TEST(Errors, OfNumbersThatDoNotFit) {
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kA, {4}, i32) * 2.5; }), "tl.scalar", "2.5 is no i32",
                 "cast the tile");
  EXPECT_REFUSED(error_of([](Context& tl) { (void)(tl.load(kA, {4}, i8) < 128); }), "tl.scalar",
                 "128 is no i8", "");
  EXPECT_REFUSED(error_of([](Context& tl) { (void)(tl.load(kA, {4}, i8) > -129); }), "tl.scalar",
                 "-129 is no i8", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kA, {4}, f16) - 1e6; }), "tl.scalar", "is no f16", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.full({4}, std::numeric_limits<double>::infinity(), f8e4m3); }),
                 "tl.scalar", "is no f8e4m3", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.arange(0, 3'000'000'000); }), "tl.scalar", "is no i32", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.cdiv(4, 0); }), "tl.scalar", "divisor is 0", "above 0");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.static_range(0, 4, -1); }), "tl.scalar", "step is -1",
                 "above 0");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load_scalar(kA, i32); }), "tl.scalar", "without memory",
                 "ScalarSource");
}

TEST(Errors, InfinityAndNanFitWhereTheDTypeHasThem) {
  EXPECT_NO_THROW(recorded([](Context& tl) { tl.full({4}, -std::numeric_limits<double>::infinity(), f16); }));
  EXPECT_NO_THROW(
      recorded([](Context& tl) { tl.full({4}, std::numeric_limits<double>::quiet_NaN(), f8e4m3); }));
  EXPECT_NO_THROW(recorded([](Context& tl) { tl.full({4}, 127, i8); }));
  EXPECT_NO_THROW(recorded([](Context& tl) { tl.full({4}, -128, i8); }));
}

TEST(Errors, OfPointers) {
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(Ptr(), {4}, f16); }), "tl.null-pointer",
                 "load at a null pointer", "tensor");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.store(Ptr(), tl.zeros({4}, f16)); }), "tl.null-pointer",
                 "store", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.ref(Ptr(), {4}, f16); }), "tl.null-pointer", "ref", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load_scalar(Ptr(), f16); }), "tl.null-pointer", "load_scalar",
                 "");
}

TEST(Errors, OfTilesOfPointersSayToUseStrides) {
  int line = 0;
  const auto e = error_of([&](Context& tl) {
    line = __LINE__ + 1;
    tl.load(kA + tl.arange(0, 16), {16}, f16);
  });
  EXPECT_REFUSED(e, "tl.pointer-tile", "0x1000 plus the tile %1:i32[16]", "strides");
  EXPECT_EQ(e.where(), "kernel 'faulty' on sip1.cube2.pe3, error_test.cpp:" + std::to_string(line));
}

TEST(Errors, OfStrides) {
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.load(kA, {4, 2}, f16, {.strides = {2}});
                 }),
                 "tl.strides", "with 1 strides", "each axis");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kA, {4}, f16, {.strides = {-1}}); }), "tl.strides",
                 "stride -1", "0 or more");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.store(kA, tl.zeros({4}, f16), {.strides = {0}}); }),
                 "tl.strides", "stride 0", "above 0");
}

TEST(Errors, OfMasks) {
  int load_line = 0;
  const auto e = error_of([&](Context& tl) {
    load_line = __LINE__ + 1;
    const auto x = tl.load(kA, {4}, f16);
    tl.load(kB, {4}, f16, {.mask = x > 0});
  });
  EXPECT_REFUSED(e, "tl.mask",
                 "which depends on the result of dma_read at error_test.cpp:" + std::to_string(load_line),
                 "use where");
  EXPECT_REFUSED(
      error_of([](Context& tl) { tl.store(kB, tl.zeros({4}, f16), {.mask = tl.recv("E", {4}, i1)}); }),
      "tl.mask", "result of recv", "use where");
  EXPECT_REFUSED(
      error_of([](Context& tl) { tl.load(kB, {4}, f16, {.mask = tl.exp(tl.zeros({4}, f32)) > 0}); }),
      "tl.mask", "result of exp", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kB, {4}, f16, {.mask = tl.arange(0, 4)}); }), "tl.mask",
                 "%1:i32[4]", "compare first");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kB, {4}, f16, {.mask = tl.arange(0, 3) < 2}); }),
                 "tl.mask", "load of shape [4] with the mask", "broadcasts to it");
}

TEST(Errors, OfHandles) {
  EXPECT_REFUSED(error_of([](Context& tl) { tl.exp(Tile()); }), "tl.tile", "exp of an empty tile", "assign");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.zeros({4}, f16) + Tile(); }), "tl.tile",
                 "add of an empty tile", "");
  EXPECT_THROW(Tile() + Tile(), KernelError);
  EXPECT_THROW(Tile().shape(), KernelError);
  EXPECT_THROW(Tile().slice({all}), KernelError);
  Context other;
  const auto foreign = other.zeros({4}, f16);
  EXPECT_REFUSED(error_of([&](Context& tl) { tl.exp(foreign); }), "tl.tile", "another recording",
                 "memory or queues");
  EXPECT_REFUSED(error_of([&](Context& tl) { tl.wait(other.store(kA, foreign)); }), "tl.tile",
                 "another recording", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.ref(kA, {4}, f16) + 1; }), "tl.tile",
                 "add of @0x1000:f16[4], a reference", "load it first");
}

// Numbers with which careless arithmetic would overflow.
TEST(Errors, OfExtentsAndStridesBeyondAllMeasure) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40, kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.load(kA, {kHuge, kHuge}, f16);
                 }),
                 "tl.shape", "too many elements", "2⁶⁰");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.load(kA, {0, kHuge, kHuge}, f16);  // no elements, but what strides?
                 }),
                 "tl.shape", "too many elements", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.ref(kA, {kMost}, f32); }), "tl.shape", "too many elements",
                 "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv("E", {kMost / 2}, f32); }), "tl.shape", "recv: shape",
                 "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.load(kA, {kHuge}, f32); }), "tl.scratch", "alone exceeds", "");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.reshape(tl.load(kA, {4}, f16), {kHuge, kHuge, -1});
                 }),
                 "tl.shape", "reshape", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.broadcast_to(tl.load(kA, {1}, f16), {kMost}); }), "tl.shape",
                 "broadcast_to", "");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.load(kA, {4, 2}, f16, {.strides = {kMost, 1}});
                 }),
                 "tl.strides", "load of shape [4, 2] with strides [9223372036854775807, 1]", "2⁶⁰");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.ref(kA, {3}, f16, {kMost / 2}); }), "tl.strides", "ref", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.arange(std::numeric_limits<std::int64_t>::min(), 0); }),
                 "tl.scalar", "is no i32", "");
  EXPECT_NO_THROW(recorded([](Context& tl) {
    tl.load(kA, {1, 4}, f16, {.strides = {kMost, 1}});  // of one row the stride does not matter
    EXPECT_EQ(tl.load(kA, {8}, f16).slice({{3, Slice::kEnd, kMost}}).shape(), Shape{1});
  }));
}

TEST(Errors, OfACompositeWhoseResultsShareAPlace) {
  const auto into = [](auto out) {
    return [out](Context& tl) {
      const auto r = tl.ref(kA, {16, 16}, f16);
      tl.composite("gemm", r, r, out(tl));
    };
  };
  EXPECT_REFUSED(error_of(into([](Context& tl) {
                   return tl.ref(kB, {16, 16}, f16, {0, 1});
                 })),
                 "tl.strides", "composite gemm into @0x20000:f16[16, 16] with stride 0 in axis 0", "its own");
  EXPECT_REFUSED(error_of(into([](Context& tl) {
                   return tl.broadcast_to(tl.ref(kB, {16, 1}, f16), {16, 16});
                 })),
                 "tl.strides", "axis 1", "");
}

// A kernel that keeps a tile in a variable of its own meets it again on the next PE, where it would be another value.
TEST(Errors, OfTilesKeptFromAnEarlierRecording) {
  Tile kept;
  std::optional<Op> op;
  const auto keep = [&](Context& tl) {
    kept = tl.zeros({4}, f16);
    op = tl.store(kA, kept);
  };
  Context tl({.kernel = "faulty", .pe = {1, 2, 3}});
  run_kernel(keep, tl);
  const auto again = [&](auto use) {
    tl.begin();
    tl.store(kA, tl.zeros({4}, f16));  // the same value and command numbers exist again
    try {
      use();
    } catch (const KernelError& e) {
      return e;
    }
    ADD_FAILURE() << "a tile of an earlier recording was taken";
    return KernelError({.id = "none", .where = "", .what = "", .hint = ""});
  };
  EXPECT_REFUSED(again([&] { tl.exp(kept); }), "tl.tile", "exp of a tile of another recording", "");
  EXPECT_REFUSED(again([&] { kept + kept; }), "tl.tile", "another recording", "");
  EXPECT_REFUSED(again([&] { tl.wait(*op); }), "tl.tile", "another recording", "");
  EXPECT_EQ(again([&] { kept.shape(); }).id(), "tl.tile");
  EXPECT_EQ(again([&] { kA + kept; }).id(), "tl.pointer-tile");
}

// The model has values and commands that were not recorded here.
TEST(Errors, OfHandlesAreTheSameWithAModel) {
  const auto kernel = [](Context& tl) {
    const Tile x = tl.exp(tl.load(kA, {4}, f16));
    tl.wait(tl.store(kA, x));
    return x;
  };
  Context first({.kernel = "faulty"});
  run_kernel(kernel, first);
  const isa::Program model = first.take_program();
  const Environment environment{.kernel = "faulty", .pe = {1, 2, 3}, .like = &model};
  Context other(environment), ended(environment), again(environment);
  const Tile foreign = kernel(other);
  const Op foreign_op = other.store(kA, foreign);
  const Tile over = kernel(ended);
  ended.finish();
  const Tile stale = kernel(again);
  const Op stale_op = again.store(kA, stale);
  again.begin();
  const auto refusal = [&](Context& tl, auto use) {
    try {
      use(tl);
    } catch (const KernelError& e) {
      return e;
    }
    ADD_FAILURE() << "a handle was taken that is none of this recording's";
    return KernelError({.id = "none", .where = "", .what = "", .hint = ""});
  };
  Context tl(environment);
  tl.load(kA, {4}, f16);
  EXPECT_REFUSED(refusal(tl, [&](Context& c) { c.exp(foreign); }), "tl.tile", "another recording", "");
  EXPECT_REFUSED(refusal(tl, [&](Context& c) { c.wait(foreign_op); }), "tl.tile", "another recording", "");
  EXPECT_REFUSED(refusal(again, [&](Context& c) { c.exp(stale); }), "tl.tile", "another recording", "");
  EXPECT_REFUSED(refusal(again, [&](Context& c) { c.wait(stale_op); }), "tl.tile", "another recording", "");
  EXPECT_REFUSED(refusal(ended, [&](Context& c) { c.exp(over); }), "tl.tile", "another recording", "");
  EXPECT_EQ(tl.program().commands().size(), 1u);
  EXPECT_EQ(other.program().commands().size(), model.commands().size() + 1);
  EXPECT_TRUE(ended.program().shares_with(model));
}

TEST(Errors, AfterTheRecordingHasEnded) {
  Context tl;
  Tile kept;
  run_kernel([&](Context& c) { kept = c.zeros({4}, f16); }, tl);
  EXPECT_EQ(kept.shape(), Shape{4});
  EXPECT_THROW(tl.fence(), KernelError);
  EXPECT_THROW(kept + kept, KernelError);
  tl.begin();
  EXPECT_NO_THROW(tl.fence());
  EXPECT_THROW(kept + kept, KernelError);
}

TEST(Errors, OfComposites) {
  const auto composite = [](std::string_view op, CompositeOptions options = {}) {
    return error_of([&](Context& tl) {
      const auto r = tl.ref(kA, {16, 16}, f16);
      tl.composite(op, r, r, tl.ref(kB, {16, 16}, f16), options);
    });
  };
  EXPECT_REFUSED(composite("conv"), "tl.composite", "unknown composite operation 'conv'", "known: gemm");
  EXPECT_REFUSED(composite("gemm", {{{"gelu"}}}), "tl.composite", "unknown epilogue operation 'gelu'",
                 "relu, add");
  EXPECT_REFUSED(composite("gemm", {{{"eq", 1}}}), "tl.composite", "'eq'", "");
  EXPECT_REFUSED(composite("gemm", {{{"add"}}}), "tl.composite", "add with no operand", "takes 1");
  EXPECT_REFUSED(composite("gemm", {{{"exp", 1}}}), "tl.composite", "exp with an operand", "takes 0");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto r = tl.ref(kA, {16, 16}, f16);
                   tl.composite("gemm", r, r, tl.zeros({16, 16}, f16));
                 }),
                 "tl.composite", "into %2:f16[16, 16]", "tl.ref");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto r = tl.ref(kA, {16, 16}, f16);
                   tl.composite("gemm", r, r, tl.ref(kB, {16, 8}, f16));
                 }),
                 "tl.shape", "into @0x20000:f16[16, 8]", "[16, 16]");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto r = tl.ref(kA, {16, 16}, f16);
                   tl.composite("gemm", r, r, tl.ref(kB, {16, 16}, i32));
                 }),
                 "tl.dtype", "to i32", "");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   const auto r = tl.ref(kA, {16, 16}, f16);
                   tl.composite("gemm", r, r, r, {{{"add", tl.zeros({3}, f16)}}});
                 }),
                 "tl.shape", "epilogue add with %2:f16[3]", "broadcast to [16, 16]");
}

TEST(Errors, OfDirectionsListTheOnesThereAre) {
  const Environment wired{.queues = {{{.direction = "E", .slot_size = Bytes(64)}, {.direction = "W"}}}};
  EXPECT_REFUSED(error_of([](Context& tl) { tl.send("N", tl.zeros({4}, f16)); }, wired), "tl.direction",
                 "send: unknown direction 'N'", "this PE has E, W to send to");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv("S", {4}, f16); }, wired), "tl.direction",
                 "recv: unknown direction 'S'", "E, W");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv("", {4}, f16); }), "tl.direction", "without a direction",
                 "");
  const Environment unwired{.queues = std::vector<Queue>{}};
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv_async("S", {4}, f16); }, unwired), "tl.direction", "'S'",
                 "not wired");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv_any({4}, f16); }, unwired), "tl.direction", "recv_any",
                 "not wired");
}

TEST(Errors, OfDirectionsThatGoTheOtherWay) {
  const Environment wired{
      .queues = {{{.direction = "E", .receives = false}, {.direction = "W", .sends = false}}}};
  EXPECT_NO_THROW(recorded([](Context& tl) { tl.send("E", tl.recv("W", {4}, f16)); }, wired));
  EXPECT_NO_THROW(recorded([](Context& tl) { tl.recv_any({4}, f16); }, wired));
  EXPECT_REFUSED(error_of([](Context& tl) { tl.send("W", tl.zeros({4}, f16)); }, wired), "tl.direction",
                 "send: nothing can be sent in direction 'W'", "this PE has E to send to");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv("E", {4}, f16); }, wired), "tl.direction",
                 "recv: nothing can come from direction 'E'", "this PE has W to recv from");
  const Environment deaf{.queues = {{{.direction = "E", .receives = false}}}};
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv_any({4}, f16); }, deaf), "tl.direction", "recv_any",
                 "not wired to any queue to recv from");
}

TEST(Errors, OfTilesLargerThanASlot) {
  const Environment wired{.queues = {{{.direction = "E", .slot_size = Bytes(64)}, {.direction = "W"}}}};
  EXPECT_NO_THROW(recorded([](Context& tl) { tl.send("E", tl.zeros({32}, f16)); }, wired));
  EXPECT_REFUSED(error_of([](Context& tl) { tl.send("E", tl.zeros({33}, f16)); }, wired), "tl.slot",
                 "send E: a tile of 66 B in slots of 64 B", "in pieces");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv("E", {33}, f16); }, wired), "tl.slot", "recv E", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv_any({33}, f16); }, wired), "tl.slot", "66 B", "");
}

TEST(Errors, OfMessagesOfNothing) {
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.send("E", tl.zeros({0, 3}, f16));
                 }),
                 "tl.shape", "send of a tile of no elements", "both sides");
  EXPECT_REFUSED(error_of([](Context& tl) {
                   tl.recv("E", {3, 0}, f16, {.dst_addr = kA});
                 }),
                 "tl.shape", "recv", "");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.recv_any({0}, f16); }), "tl.shape", "recv", "");
}

TEST(Errors, OfShards) {
  const Environment one{.shards = {{.tensor = kB, .ptr = kB, .name = "weights"}}};
  EXPECT_REFUSED(error_of([](Context& tl) { tl.shard(kA); }, one), "tl.shard",
                 "no shard of a tensor at 0x1000", "weights at 0x20000");
  EXPECT_REFUSED(error_of([](Context& tl) { tl.shard(kA); }), "tl.shard", "0x1000", "kernel argument");
  const Environment dealt{.shards = {{.tensor = kB, .ptr = kB}, {.tensor = kB, .ptr = kC}}};
  EXPECT_REFUSED(error_of([](Context& tl) { tl.shard(kB); }, dealt), "tl.shard", "2 tiles", "shards()");
}

}  // namespace
}  // namespace kernbench::tl::error_test
