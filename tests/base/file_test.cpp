#include "base/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/new_file.hpp"
#include "kernbench/error.hpp"
#include "temp_folder.hpp"

namespace kernbench::file_test {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test, protected testing::TempFolder {
 protected:
  std::string in_dir(const char* name) const { return file(name); }
  template <class Function>
  static std::string id_of(Function function) {
    try {
      function();
    } catch (const InputError& e) {
      return e.id();
    }
    return "accepted";
  }
};

TEST_F(FileTest, WritesWhatIsReadBackAndLeavesNothingBeside) {
  write_file(in_dir("a"), "one\n");
  write_file(in_dir("a"), "two\n");
  EXPECT_EQ(read_text_file(in_dir("a")), "two\n");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, KeepsPermissionsOfTheFileItReplaces) {
  write_file(in_dir("a"), "one");
  ::chmod(in_dir("a").c_str(), 0640);
  write_file(in_dir("a"), "two");
  EXPECT_EQ(static_cast<int>(fs::status(in_dir("a")).permissions()), 0640);
}

TEST_F(FileTest, FollowsALinkInsteadOfReplacingIt) {
  write_file(in_dir("target"), "one");
  fs::create_symlink("target", path() / "link");
  write_file(in_dir("link"), "two");
  EXPECT_TRUE(fs::is_symlink(path() / "link"));
  EXPECT_EQ(read_text_file(in_dir("target")), "two");
}

TEST_F(FileTest, ANewFileAppearsWhenItIsCommitted) {
  write_file(in_dir("a"), "old");
  {
    NewFile file(in_dir("a"));
    file.write("0123");
    file.write("4567");
    file.rewrite(2, "xy");
    EXPECT_EQ(read_text_file(in_dir("a")), "old");
    file.commit();
  }
  EXPECT_EQ(read_text_file(in_dir("a")), "01xy4567");
  { NewFile(in_dir("a")).write("half"); }
  EXPECT_EQ(read_text_file(in_dir("a")), "01xy4567");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, ANewFileReplacesWhatALinkLeadsToAndKeepsItsPermissions) {
  write_file(in_dir("target"), "one");
  ::chmod(in_dir("target").c_str(), 0640);
  fs::create_symlink("target", path() / "link");
  NewFile file(in_dir("link"));
  file.write("two");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path() / "link"));
  EXPECT_EQ(read_text_file(in_dir("target")), "two");
  EXPECT_EQ(static_cast<int>(fs::status(in_dir("target")).permissions()), 0640);
}

TEST_F(FileTest, AskingWhetherAPlaceCanBeWrittenChangesNothing) {
  write_file(in_dir("a"), "one");
  check_writable(in_dir("a"));
  check_writable(in_dir("b"));
  EXPECT_EQ(read_text_file(in_dir("a")), "one");
  EXPECT_EQ(files(), 1u);
  ASSERT_EQ(::mkfifo(in_dir("pipe").c_str(), 0600), 0);
  check_writable(in_dir("pipe"));  // does not wait for a reader
  EXPECT_EQ(id_of([&] { check_writable(in_dir("no/such/folder/a")); }), "file.unwritable");
  EXPECT_EQ(id_of([&] { check_writable(path().string()); }), "file.unwritable");
}

TEST_F(FileTest, TheFileBesideHasANameThatNobodyCanGuessAndIsMadeAnew) {
  write_file(in_dir("a"), "old");
  const auto beside = [&] {
    NewFile file(in_dir("a"));
    for (const auto& entry : fs::directory_iterator(path()))
      if (entry.path().filename() != "a") return entry.path().filename().string();
    return std::string();
  };
  const std::string once = beside();
  EXPECT_NE(once, "");
  EXPECT_NE(once, beside());
}

TEST_F(FileTest, ALinkThatLeadsNowhereIsRefused) {
  fs::create_symlink("nowhere", path() / "link");
  EXPECT_EQ(id_of([&] { write_file(in_dir("link"), "x"); }), "file.unwritable");
  EXPECT_EQ(id_of([&] { check_writable(in_dir("link")); }), "file.unwritable");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, NamesMayBeAsLongAsTheFileSystemAllows) {
  const std::string longest(255, 'n');
  write_file(file(longest), "x");
  EXPECT_EQ(read_text_file(file(longest)), "x");
  EXPECT_EQ(id_of([&] { check_writable(file(longest + "n")); }), "file.unwritable");
}

TEST_F(FileTest, WritesDevicesDirectly) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, RefusesPlacesThatCannotBeWrittenAndLeavesNothing) {
  EXPECT_EQ(id_of([&] { write_file(in_dir("no/such/folder/a"), "x"); }), "file.unwritable");
  EXPECT_EQ(id_of([&] { write_file(path().string(), "x"); }), "file.unwritable");
  EXPECT_EQ(id_of([&] { write_file("", "x"); }), "file.unwritable");
  EXPECT_EQ(id_of([&] { write_file("/dev/full", "x"); }), "file.unwritable");
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileTest, RefusesToReadWhatIsNoFile) {
  EXPECT_EQ(id_of([&] { read_text_file(in_dir("missing")); }), "file.missing");
  EXPECT_EQ(id_of([&] { read_text_file(path().string()); }), "file.folder");
  EXPECT_EQ(id_of([&] { read_text_file("/dev/zero"); }), "file.too-large");
  std::ofstream(in_dir("large")) << std::string((4 << 20) + 1, 'x');
  EXPECT_EQ(id_of([&] { read_text_file(in_dir("large")); }), "file.too-large");
}

}  // namespace
}  // namespace kernbench::file_test
