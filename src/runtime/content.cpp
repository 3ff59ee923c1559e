#include "runtime/content.hpp"

#include <algorithm>
#include <cstring>

#include "data/tiles.hpp"

namespace kernbench::runtime {

Engine::Fill array_content(NdArray array) {
  return [array = std::make_shared<const NdArray>(std::move(array))](
             const Chunks& chunks, std::span<std::byte> out) { scatter(chunks, array->bytes(), out); };
}

Engine::Fill value_content(DType dtype, double value) {
  return [element = data::scalar_content(dtype, value), size = static_cast<std::size_t>(itemsize(dtype))](
             const Chunks&, std::span<std::byte> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = element[static_cast<std::ptrdiff_t>(i % size)];
  };
}

Engine::Fill row_content(Torch::RowBytes fill) {
  return [fill = std::move(fill)](const Chunks& chunks, std::span<std::byte> out) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(chunks.array_row));
    for (std::int64_t row = 0; row < chunks.bytes / chunks.array_row; ++row) {
      fill(row, buffer);
      for (const Chunk& c : chunks.list) {
        const std::int64_t in_chunk = row - c.in_array / chunks.array_row;
        if (in_chunk < 0 || in_chunk >= c.rows) continue;
        std::memcpy(out.data() + c.in_buffer + in_chunk * c.row_bytes,
                    buffer.data() + c.in_array % chunks.array_row, static_cast<std::size_t>(c.row_bytes));
      }
    }
  };
}

}  // namespace kernbench::runtime
