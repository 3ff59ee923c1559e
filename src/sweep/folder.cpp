#include "sweep/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.hpp"
#include "base/new_file.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::sweep {
namespace {

[[noreturn]] void refuse_folder(const std::string& path, const std::string& what, const std::string& hint) {
  throw InputError({"sweep.folder", shown_path(path), what, hint});
}

int open_or_refuse(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) refuse_folder(path, std::strerror(errno), "give a folder that can be written with -o");
  return fd;
}

/// Whether it has what `run_point` writes, each of its type.
template <class Json>
bool is_record(const Json& json) {
  const auto has = [&](const char* key, auto... types) {
    return json.contains(key) && ((json[key].type() == types) || ...);
  };
  using Type = nlohmann::json::value_t;
  return json.is_object() && has("key", Type::string) && has("values", Type::object) &&
         std::ranges::all_of(json["values"], [](const Json& value) { return value.is_string(); }) &&
         has("ok", Type::boolean) && has("error", Type::null, Type::string) && json.contains("seconds") &&
         json["seconds"].is_number() && has("run", Type::null, Type::object);
}

}  // namespace

Folder::Folder(const std::string& path) : path_(path) {
  make("");
  lock_.emplace(path_);
  points_ = open_or_refuse(file("points.jsonl"), O_RDWR | O_APPEND);
  sync_.emplace(points_);
  read_points();
}

Folder::~Folder() {
  sync_.reset();
  if (points_ >= 0) ::close(points_);
}

void Folder::make(const std::string& name) const {
  std::error_code error;
  std::filesystem::create_directories(file(name), error);
  if (error) refuse_folder(file(name), error.message(), "give a folder that can be written with -o");
}

void Folder::read_points() {
  std::ifstream in(file("points.jsonl"), std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  const std::string all = content.str();
  std::size_t begin = 0;
  for (int number = 1; begin < all.size(); ++number) {
    const std::size_t end = all.find('\n', begin);
    if (end == all.npos) break;  // cut off: that point runs again
    const std::string line = all.substr(begin, end - begin);
    const auto json = parse_json_or_discard(line);
    if (!is_record(json))
      refuse_folder(fmt::format("{}:{}", file("points.jsonl"), number), "this line is no point of a sweep",
                    "remove the line, or give another folder with -o");
    lines_[json["key"].get<std::string>()] = line;
    begin = end + 1;
  }
  if (begin < all.size() && ::ftruncate(points_, static_cast<off_t>(begin)) != 0)
    refuse_write(file("points.jsonl"), errno);
}

void Folder::add(const std::string& key, const std::string& line) {
  append_to_file(points_, line + "\n", file("points.jsonl"));
  lines_[key] = line;
  sync_->request();
}

void Folder::finish() {
  if (const int error = sync_->finish(); error != 0) refuse_write(file("points.jsonl"), error);
}

}  // namespace kernbench::sweep
