// The files and folders that a server was given: what a request may name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kernbench::web {

class GivenFiles {
 public:
  /// InputError (`file.unreadable`) if something given is neither a regular file nor a folder.
  explicit GivenFiles(const std::vector<std::string>& given);

  /// The real path of a regular file that was given, or that lies in a folder that was. InputError (`web.file`) if the name
  /// is of anything else, also where a link leads outside; whether that exists is not said.
  std::string path(const std::string& name) const;

 private:
  std::vector<std::filesystem::path> places_;  // without links
};

/// A regular file, and no link to one.
bool is_plain_file(const std::string& path);
/// A folder, and no link to one.
bool is_plain_folder(const std::string& path);

}  // namespace kernbench::web
