#include <fmt/format.h>

#include <algorithm>

#include "kernbench/ccl_steps.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr std::int64_t kScratchShare = 16;  // of the scratch, for one tile
constexpr std::int64_t kScratchUse = 8;  // of the scratch, for all tiles of a batch: each has a few relatives
constexpr std::int64_t kBatch = 8;       // enough to keep a queue of that many slots busy

/// Pieces come in one size, but for the last.
std::int64_t largest_bytes(Pieces all) {
  return all.empty() ? 1 : std::max<std::int64_t>(1, all.front().elements * itemsize(all.front().dtype));
}

std::vector<Piece> cut(const Piece& whole, std::int64_t elements) {
  std::vector<Piece> out;
  for (std::int64_t first = 0; first < whole.elements; first += elements)
    out.push_back(whole.part(first, std::min(elements, whole.elements - first)));
  return out;
}

}  // namespace

Piece held(const tl::Context& tl, tl::Ptr tensor, At at) {
  const auto shards = tl.shards(tensor, at);
  Piece whole{shards.front().ptr, 0, shards.front().dtype};
  for (const auto& shard : shards) {
    KB_ASSERT(shard.ptr - whole.ptr == whole.elements * itemsize(whole.dtype),
              "the tiles of tensor '{}' on {} do not follow each other", shard.name,
              to_string(tl.environment().pe));
    whole.elements += shard.shape.elements();
  }
  return whole;
}

std::int64_t tile_elements(const tl::Context& tl, DType dtype) {
  const auto& e = tl.environment();
  auto bytes = e.scratch.count() / kScratchShare;
  if (e.queues)
    for (const auto& queue : *e.queues) bytes = std::min(bytes, queue.slot_size.count());
  return std::max<std::int64_t>(1, bytes / itemsize(dtype));
}

std::vector<Piece> pieces(const tl::Context& tl, const Piece& whole) {
  return cut(whole, tile_elements(tl, whole.dtype));
}

std::vector<Piece> even_pieces(const tl::Context& tl, const Piece& whole, int n) {
  if (whole.elements == 0) return {};
  const auto rounds = tl.cdiv(whole.elements, n * tile_elements(tl, whole.dtype));
  return cut(whole, tl.cdiv(whole.elements, n * rounds));
}

std::vector<Piece> in_every_part(const tl::Context& tl, const Piece& whole, int ranks, const Piece& one,
                                 Pieces pieces, At at) {
  if (whole.elements != ranks * one.elements || whole.dtype != one.dtype)
    fail_kernel(tl, "shape",
                fmt::format("{} elements of {} beside {} of {}", whole.elements, to_string(whole.dtype),
                            one.elements, to_string(one.dtype)),
                fmt::format("one tensor must be {} times the other, of the same dtype", ranks), at);
  std::vector<Piece> out;
  for (const auto& piece : pieces) {
    const auto offset = (piece.ptr - one.ptr) / itemsize(one.dtype);
    for (int r = 0; r < ranks; ++r) out.push_back(whole.part(r * one.elements + offset, piece.elements));
  }
  return out;
}

void fail_kernel(const tl::Context& tl, const char* id, std::string what, std::string hint, At at) {
  const auto& e = tl.environment();
  const isa::SourceLine line{at.file_name(), static_cast<std::uint32_t>(at.line())};
  throw tl::KernelError(
      {fmt::format("tl.{}", id),
       fmt::format("kernel '{}' on {}, {}", e.kernel, to_string(e.pe), isa::to_string(line)), std::move(what),
       std::move(hint)});
}

std::vector<Pieces> batches(Pieces all, std::int64_t n) {
  std::vector<Pieces> out;
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t first = 0; first < all.size(); first += size)
    out.push_back(all.subspan(first, std::min(size, all.size() - first)));
  return out;
}

std::int64_t tiles_at_once(const tl::Context& tl, Pieces all) {
  return std::clamp<std::int64_t>(tl.environment().scratch.count() / kScratchUse / largest_bytes(all), 1,
                                  kBatch);
}

std::int64_t torus_cuts(std::int64_t elements, MeshCoord grid) {
  constexpr std::int64_t kLeast = 128;
  return std::clamp<std::int64_t>(elements / kLeast, 1, 4LL * grid.x * grid.y);
}

std::vector<Piece> torus_pieces(const tl::Context& tl, const Piece& whole, MeshCoord grid) {
  return even_pieces(tl, whole, static_cast<int>(torus_cuts(whole.elements, grid)));
}

// Of n pieces a rank keeps its share of the first dimension, n / 2 / x + n / 2 / y tiles, and as many results. All of that is a
// quarter of the scratch.
std::int64_t torus_pieces_at_once(const tl::Context& tl, MeshCoord grid, Pieces all) {
  const std::int64_t kept = 2 * tl.environment().scratch.count() / kScratchUse / largest_bytes(all);
  const std::int64_t most = std::max<std::int64_t>(4, kept * grid.x * grid.y / (grid.x + grid.y));
  const std::int64_t round = 4LL * grid.x * grid.y;
  return most < round ? most : round * std::min(most / round, kBatch);
}

std::int64_t kept_at_once(int slots) { return std::max(1, slots / 2); }

tl::Tile load(tl::Context& tl, const Piece& piece, At at) {
  return tl.load(piece.ptr, {piece.elements}, piece.dtype, {}, at);
}

void store(tl::Context& tl, const Piece& piece, const tl::Tile& tile, At at) {
  tl.store(piece.ptr, tile, {}, at);
}

tl::Tile recv(tl::Context& tl, std::string_view direction, const Piece& piece, At at) {
  return tl.recv(direction, {piece.elements}, piece.dtype, {}, at);
}

tl::Tile out_of_slot(tl::Context& tl, const tl::Tile& tile, At at) {
  const auto& queues = tl.environment().queues;
  return queues && std::ranges::any_of(*queues, &tl::Queue::in_slot) ? tl.copy(tile, at) : tile;
}

}  // namespace kernbench::ccl
