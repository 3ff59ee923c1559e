#include "trace/info_bytes.hpp"

#include <bit>
#include <cstring>

namespace kernbench::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "saved logs are little-endian");

class Writer {
 public:
  template <class T>
  void number(T n) {
    out_.append(reinterpret_cast<const char*>(&n), sizeof n);
  }
  void text(const std::string& s) { number<std::uint64_t>(s.size()), out_ += s; }
  void numbers(const std::vector<std::uint32_t>& list) {
    number<std::uint64_t>(list.size());
    out_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(std::uint32_t));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T n;
    std::memcpy(&n, bytes(sizeof n).data(), sizeof n);
    return n;
  }
  /// How many elements follow, each of at least `least` bytes.
  std::size_t size(std::size_t least) {
    const auto n = number<std::uint64_t>();
    if (n > left_.size() / least) throw BadBytes();
    return n;
  }
  std::string text() {
    const auto part = bytes(size(1));
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::vector<std::uint32_t> numbers(std::size_t limit) {
    std::vector<std::uint32_t> list(size(sizeof(std::uint32_t)));
    const auto part = bytes(list.size() * sizeof(std::uint32_t));
    if (!list.empty()) std::memcpy(list.data(), part.data(), part.size());
    for (const auto n : list)
      if (n >= limit) throw BadBytes();
    return list;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::span<const std::byte> bytes(std::size_t n) {
    if (n > left_.size()) throw BadBytes();
    const auto part = left_.first(n);
    left_ = left_.subspan(n);
    return part;
  }
  std::span<const std::byte> left_;
};

OriginInfo read_origin(Reader& in, std::size_t lines) {
  OriginInfo o;
  o.pe.sip = in.number<std::int32_t>(), o.pe.cube = in.number<std::int32_t>(),
  o.pe.pe = in.number<std::int32_t>();
  o.launch = in.number<std::uint32_t>();
  o.fingerprint = in.number<std::uint64_t>();
  o.name = in.text();
  o.lines = in.numbers(lines);
  return o;
}

}  // namespace

std::string to_bytes(const RunInfo& info) {
  Writer out;
  out.text(info.machine);
  out.number<std::uint64_t>(info.lines.size());
  for (const auto& l : info.lines) out.number(l.line), out.text(l.file);
  out.number<std::uint64_t>(info.origins.size());
  for (const auto& o : info.origins) {
    out.number<std::int32_t>(o.pe.sip), out.number<std::int32_t>(o.pe.cube),
        out.number<std::int32_t>(o.pe.pe);
    out.number(o.launch), out.number(o.fingerprint);
    out.text(o.name), out.numbers(o.lines);
  }
  return out.take();
}

RunInfo info_from_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t kLeastLine = 12, kLeastOrigin = 40;  // their fixed parts
  constexpr std::uint32_t kMostLaunches = 1u << 28;
  Reader in(bytes);
  RunInfo info;
  info.machine = in.text();
  info.lines.resize(in.size(kLeastLine));
  for (auto& l : info.lines) l.line = in.number<std::uint32_t>(), l.file = in.text();
  info.origins.resize(in.size(kLeastOrigin));
  for (auto& o : info.origins) {
    o = read_origin(in, info.lines.size());
    if (o.launch >= kMostLaunches || o.pe.sip < -1 || o.pe.sip >= UINT16_MAX) throw BadBytes();
  }
  if (!in.at_end()) throw BadBytes();
  return info;
}

}  // namespace kernbench::trace
