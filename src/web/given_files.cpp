#include "web/given_files.hpp"

#include <algorithm>
#include <system_error>

#include "kernbench/error.hpp"

namespace kernbench::web {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& file, const fs::path& place) {
  return std::ranges::mismatch(place, file).in1 == place.end();
}

}  // namespace

GivenFiles::GivenFiles(const std::vector<std::string>& given) {
  for (const std::string& path : given) {
    std::error_code error;
    if (!fs::is_directory(path, error) && !fs::is_regular_file(path, error))
      throw InputError({"file.unreadable", path, "there is no such file or folder",
                        "give saved runs, folders that hold some, or machine files"});
    places_.push_back(fs::canonical(path));
  }
}

std::string GivenFiles::path(const std::string& name) const {
  std::error_code error;
  const fs::path file = fs::canonical(name, error);
  const auto holds = [&](const fs::path& place) { return lies_in(file, place); };
  if (error || !fs::is_regular_file(file, error) || std::ranges::none_of(places_, holds))
    throw InputError({"web.file", name, "no file of this name is among those that this server was given",
                      "start 'kernbench web' with that file, or with its folder"});
  return file.string();
}

bool is_plain_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error));
}

bool is_plain_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

}  // namespace kernbench::web
