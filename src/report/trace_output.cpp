#include "report/trace_output.hpp"

#include <fmt/format.h>

#define ZLIB_CONST  // what it packs, it only reads
#include <zlib.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "kernbench/error.hpp"

namespace kernbench::report {

/// Makes a gzip stream of what it is given.
class TraceOutput::Packer {
 public:
  explicit Packer(NewFile& file) : file_(file) {
    constexpr int kGzip = 15 + 16, kMemory = 8;
    const int code = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY);
    KB_ASSERT(code == Z_OK, "zlib does not start: {}", code);
  }
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void write(std::string_view text, bool last) {
    stream_.next_in = reinterpret_cast<const Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      std::array<char, 65536> out;
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = out.size();
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      file_.write({out.data(), out.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

 private:
  NewFile& file_;
  z_stream stream_{};
};

TraceOutput::TraceOutput(const std::string& path)
    : file_(path),
      packer_(path.ends_with(".gz") ? std::make_unique<Packer>(file_) : nullptr),
      buffer_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[") {}

TraceOutput::~TraceOutput() = default;

void TraceOutput::event(std::string_view fields) {
  constexpr std::size_t kFull = 1 << 20;
  buffer_ += first_ ? "\n{" : ",\n{";
  buffer_ += fields;
  buffer_ += '}';
  first_ = false;
  if (buffer_.size() > kFull) flush();
}

void TraceOutput::flush() {
  packer_ ? packer_->write(buffer_, false) : file_.write(buffer_);
  buffer_.clear();
}

void TraceOutput::finish(std::string_view about) {
  buffer_ += fmt::format("\n],\"otherData\":{}}}\n", about);
  packer_ ? packer_->write(buffer_, true) : file_.write(buffer_);
  file_.commit();
}

std::string microseconds(Time time) {
  const std::int64_t ps = time.ps();
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

std::string json_string(std::string_view text) { return dump_json(nlohmann::ordered_json(text)); }

}  // namespace kernbench::report
