#include <tuple>

#include "tl/recording.hpp"

namespace kernbench::tl::source_line_test {
namespace {

// The lines of the program's commands, counted from `first`.
std::vector<int> lines(const isa::Program& program, int first) {
  std::vector<int> all;
  for (const auto& c : program.commands()) all.push_back(static_cast<int>(program.line(c).line) - first);
  return all;
}

Tile helper(Context& tl, const Tile& x) { return tl.exp(x); }
constexpr int kHelperLine = __LINE__ - 1;

TEST(SourceLines, AreThoseOfTheCallers) {
  Context tl;
  constexpr int kHere = __LINE__;
  const auto x = tl.load(kA, {4, 4}, f16);  // 1
  tl.zeros({4}, f16);                       // 2
  tl.cast(x, f32);                          // 3
  tl.dot(x, x);                             // 4
  tl.softmax(x);                            // 5, five commands
  tl.send("E", x);                          // 6
  tl.recv("E", {4}, f16);                   // 7
  tl.where(x > 0, x, 0);                    // 8, two commands
  tl.fence();                               // 9
  tl.store(kB, x);                          // 10
  EXPECT_THAT(lines(tl.program(), kHere), ElementsAre(1, 2, 3, 4, 5, 5, 5, 5, 5, 6, 7, 8, 8, 9, 10));
  EXPECT_THAT(std::string(tl.program().line(tl.program().command(0)).file),
              HasSubstr("source_line_test.cpp"));
}

TEST(SourceLines, AreKeptThroughOperators) {
  Context tl;
  auto x = tl.load(kA, {4}, f16), y = x;
  auto b = tl.load(kA, {4}, i1);
  constexpr int kHere = __LINE__;
  x + y;                 // 1
  x - 1;                 // 2
  2 * x;                 // 3
  x / y;                 // 4
  -x;                    // 5
  ~b;                    // 6
  b& b;                  // 7
  b | b;                 // 8
  std::ignore = x == y;  // 9
  std::ignore = x != y;  // 10
  std::ignore = x < y;   // 11
  std::ignore = x <= y;  // 12
  std::ignore = x > y;   // 13
  std::ignore = x >= y;  // 14
  x += y;                // 15
  x -= y;                // 16
  x *= 2;                // 17
  x /= y;                // 18
  tl.cast(b, i32) % 2;   // 19, two commands
  x + y* x - 1;          // 20, three commands
  EXPECT_THAT(lines(tl.program(), kHere), ElementsAre(2 - 4, 3 - 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                                      14, 15, 16, 17, 18, 19, 19, 20, 20, 20));
}

TEST(SourceLines, OfAHelperAreItsOwn) {
  Context tl;
  const auto x = tl.load(kA, {4}, f16);
  helper(tl, x);
  EXPECT_EQ(tl.program().line(tl.program().command(1)).line, static_cast<std::uint32_t>(kHelperLine));
}

TEST(SourceLines, MayBeSetByABinding) {
  Context tl;
  tl.set_line("kernels/mine.py", 42);
  const auto x = tl.load(kA, {4}, f16);
  x + x;
  tl.set_line("kernels/mine.py", 43);
  try {
    tl.load(Ptr(), {4}, f16);
    FAIL();
  } catch (const KernelError& e) {
    EXPECT_THAT(e.where(), HasSubstr("mine.py:43"));
  }
  tl.set_line(nullptr, 0);
  tl.fence();
  const auto& program = tl.program();
  EXPECT_EQ(program.line(program.command(0)), (isa::SourceLine{"kernels/mine.py", 42}));
  EXPECT_EQ(program.line(program.command(1)), (isa::SourceLine{"kernels/mine.py", 42}));
  EXPECT_EQ(program.line(program.command(2)).line, static_cast<std::uint32_t>(__LINE__ - 4));
}

TEST(SourceLines, OfTheFoldersDoNotCountInTheFingerprint) {
  const auto fingerprint = [](const char* file, std::uint32_t line) {
    Context tl;
    tl.set_line(file, line);
    return run_kernel([](Context& c) { c.fence(); }, tl).fingerprint();
  };
  EXPECT_EQ(fingerprint("/here/k.cpp", 7), fingerprint("/there/k.cpp", 7));
  EXPECT_NE(fingerprint("/here/k.cpp", 7), fingerprint("/here/k.cpp", 8));
  EXPECT_NE(fingerprint("/here/k.cpp", 7), fingerprint("/here/l.cpp", 7));
}

}  // namespace
}  // namespace kernbench::tl::source_line_test
