// Files that are not what was written are refused with a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "damage.hpp"
#include "kernbench/error.hpp"
#include "report/saved.hpp"
#include "seeds.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::damaged_file_test {
namespace {

using ::testing::HasSubstr;

/// Everything a file holds that anybody can ask for.
std::string content_of(const SavedRun& run) {
  std::string all = run.json() + run.machine() + to_text(run.log().critical_path());
  for (const auto& l : run.launches()) all += fmt::format("{} {} {}\n", l.id, l.name, l.total.ps());
  for (const auto& l : run.lines()) all += l.place() + l.text.value_or("-");
  for (const auto& l : run.links()) all += fmt::format("{} {} {}\n", l.name, l.bytes, l.deepest_wait.ps());
  for (const auto& m : run.memories()) all += fmt::format("{} {} {}\n", m.name, m.kind, m.read_bytes);
  for (const auto& h : run.hazards()) all += h.text;
  for (const auto& l : run.loads())
    for (const double u : l.utilization) all += fmt::format("{} ", u);
  for (const auto& p : run.critical_path().pieces) all += fmt::format("{} {} {}\n", p.what, p.op, p.end.ps());
  run.for_each_command([&](const SavedCommand& c) { all += c.text + c.operands + c.shapes; });
  run.for_each_op([&](const SavedOp& op) { all += fmt::format("{} {} {}\n", op.id, op.kind, op.end.ps()); });
  return all;
}

class DamagedFile : public ::testing::Test, protected testing::TempFolder {
 protected:
  DamagedFile() {
    save_shipped("matmul-composite", {"M=32", "K=64", "N=32"}, file("whole"));
    std::ifstream in(file("whole"), std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(in), {});
  }

  /// The id of the InputError that reading such a file gives; empty if there is none.
  std::string error_of(const std::string& content) const {
    std::ofstream(file("bad"), std::ios::binary) << content;
    try {
      if (content_of(SavedRun::open(file("bad"))) != content_of(SavedRun::open(file("whole"))))
        return "other content";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("bad"));
      return error.id();
    }
    return "";
  }

  std::string whole_;
};

TEST_F(DamagedFile, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < whole_.size(); size += 509) {
    const std::string id = error_of(whole_.substr(0, size));
    ASSERT_EQ(id, size < 16 ? "run-file.foreign" : "run-file.truncated") << size;
  }
  EXPECT_EQ(error_of(whole_.substr(0, whole_.size() - 1)), "run-file.truncated");
}

TEST_F(DamagedFile, ForeignAndNewerFilesAreNamed) {
  EXPECT_EQ(error_of("{\"kernbench\": 1, \"bench\": \"something else entirely, long enough\"}"),
            "run-file.foreign");
  std::string other = whole_;
  other[68] = 'x';
  EXPECT_EQ(error_of(other), "run-file.foreign");
  other = whole_;
  other[63] = 2;
  EXPECT_EQ(error_of(other), "run-file.newer");
  EXPECT_THROW(SavedRun::open(file("missing")), InputError);
  EXPECT_THROW(SavedRun::open(path().string()), InputError);
}

/// Damage to a file's bytes, made from a seed alone.
std::string damaged(std::string bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t n = 1 + pick(4); n > 0; --n) switch (pick(4)) {
      case 0:
        bytes[pick(bytes.size())] = static_cast<char>(pick(256));
        break;
      case 1:
        bytes[pick(bytes.size())] ^= static_cast<char>(1 << pick(8));
        break;
      case 2:
        bytes.erase(pick(bytes.size()), pick(40));
        break;
      default:
        bytes.replace(pick(bytes.size() - 64), 64, bytes.substr(pick(bytes.size() - 64), 64));
    }
  return bytes;
}

// Damage in a page that nobody uses, or in an index, changes nothing of what is read: then it reads as before.
TEST_F(DamagedFile, DamageIsRefusedOrMakesNoDifference) {
  unsigned refused = 0;
  const auto [first, end] = testing::seeds(0, fuzz_rounds() / 5);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const std::string id = error_of(damaged(whole_, seed));
    ASSERT_NE(id, "other content") << "seed " << seed;
    if (!id.empty()) ++refused;
  }
  EXPECT_GE(refused, (end - first) / 4);
}

// A digit of a number in a row, found by its bytes.
TEST_F(DamagedFile, AValueThatWasChangedIsRefused) {
  const std::size_t at = whole_.find("tile_gemm");
  ASSERT_NE(at, std::string::npos);
  std::string damaged = whole_;
  damaged.replace(at, 9, "tile_math");
  EXPECT_EQ(error_of(damaged), "run-file.damaged");
}

}  // namespace
}  // namespace kernbench::report::damaged_file_test
