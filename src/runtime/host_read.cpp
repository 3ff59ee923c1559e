// How values come back to the host: reads of tensors, and numbers that kernels ask for while they are recorded.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernbench/error.hpp"
#include "runtime/engine.hpp"
#include "runtime/numbers.hpp"

namespace kernbench::runtime {
namespace {

constexpr const char* kTurnDataOn =
    "turn data on to compute real numbers: `kernbench run … --verify-data`, verify=True of run_bench, "
    "data=True of kb.Torch, or TorchOptions{.data = true} in C++";

std::string place(const Storage& storage) { return fmt::format("tensor '{}'", storage.name); }

[[noreturn]] void fail_no_data(TensorState& tensor, const char* what) {
  const Storage& storage = *tensor.storage();
  if (!tensor.image->last_writer() && !tensor.image->has_lost())
    throw InputError({"tensor.unwritten", place(storage),
                      fmt::format("{} of {}, but nobody has written there", what, place(storage)),
                      "fill the tensor from the host first"});
  throw NoData({"tensor.no-data", place(storage),
                fmt::format("{} of {}, but data is off and {}", what, place(storage),
                            tensor.image->has_lost()
                                ? "of bytes that the host passes to tensors larger than 1 MiB nothing is kept"
                                : "a launch may have written there"),
                kTurnDataOn});
}

/// The first element in which two copies differ, for a message.
[[noreturn]] void fail_copies(const Storage& storage, const TransferRequest::Place& a,
                              const TransferRequest::Place& b, const std::byte* in_a, const std::byte* in_b,
                              std::int64_t bytes) {
  const auto differ = std::mismatch(in_a, in_a + bytes, in_b).first - in_a;
  const std::int64_t item = differ / storage.layout.itemsize() * storage.layout.itemsize();
  const auto& holders = storage.layout.holders();
  throw InputError(
      {"tensor.copies-differ", place(storage),
       fmt::format("its copies on {} and {} differ: {} and {}, {} bytes into what is read",
                   to_string(storage.at(holders[a.holder])), to_string(storage.at(holders[b.holder])),
                   number_at(storage.dtype, in_a + item), number_at(storage.dtype, in_b + item), item),
       "write to all copies alike, or split the axis instead of replicating it"});
}

/// One of all copies, which must be alike: the bytes of all chunks, in the order of the storage.
ByteBuffer one_copy(TransferRequest& request, std::int64_t bytes) {
  const Storage& storage = request.storage();
  const auto in_order = [&](const TransferRequest::Place& place) {
    return place.in_buffer == request.chunks()[place.chunk].in_buffer;
  };
  if (!storage.layout.is_replicated() && std::ranges::all_of(request.places(), in_order))
    return std::move(request.buffer);
  ByteBuffer buffer(static_cast<std::size_t>(bytes));
  std::vector<const TransferRequest::Place*> first(request.chunks().size());
  for (const auto& place : request.places()) {
    const Chunk& chunk = request.chunks()[place.chunk];
    const std::byte* mine = request.buffer.data() + place.in_buffer;
    const auto n = static_cast<std::size_t>(chunk.bytes());
    if (auto*& one = first[place.chunk]; one == nullptr) {
      one = &place;
      std::memcpy(buffer.data() + chunk.in_buffer, mine, n);
    } else if (std::memcmp(buffer.data() + chunk.in_buffer, mine, n) != 0) {
      fail_copies(storage, *one, place, buffer.data() + chunk.in_buffer, mine, chunk.bytes());
    }
  }
  request.buffer = {};
  return buffer;
}

/// The array that a buffer in the order of the storage holds; the buffer itself where that is the array's order.
NdArray in_array_order(DType dtype, const Shape& shape, const Chunks& chunks, ByteBuffer buffer) {
  if (chunks.is_array_order()) return NdArray::adopt(dtype, shape, std::move(buffer));
  NdArray array = NdArray::unset(dtype, shape);
  gather(chunks, buffer, array.bytes());
  return array;
}

}  // namespace

NdArray Engine::read(TensorState& tensor, const Region& region) {
  release_held();
  const Chunks chunks = chunks_of(tensor.layout(), region);
  NdArray image;
  if (!options_.data) image = read_image(tensor, region, chunks);
  Stream& stream = reading_stream(tensor);
  const auto request = std::make_shared<TransferRequest>(
      processors_, stream.next_number(), device::Direction::read, tensor.storage(), joined(chunks));
  if (&stream != &tensor.stream())
    if (auto writer = last_writer(tensor)) request->comes_after(std::move(writer));
  stream.submit(request, *host_);
  if (meter_) meter_->submitted(*request);
  if (options_.data) request->buffer.resize(static_cast<std::size_t>(request->moved().count()));
  wait(*request);
  if (!options_.data) return image;
  const data::MemoryStore& store = replay().store();
  if (request->unwritten) store.fail_unwritten(*request->unwritten, place(*tensor.storage()));
  return in_array_order(tensor.storage()->dtype, region.shape, chunks, one_copy(*request, chunks.bytes));
}

/// Each of several ranks reads in its own stream, so that a tensor of another one makes it wait for what has written
/// that tensor, and for nothing else the other one does.
Stream& Engine::reading_stream(const TensorState& tensor) {
  return waiter_ != nullptr ? current_stream() : tensor.stream();
}

/// The last request of the tensor's stream that is not complete and may write to it.
std::shared_ptr<Request> Engine::last_writer(const TensorState& tensor) const {
  const auto base = tensor.storage()->base.raw(),
             end = base + static_cast<std::uint64_t>(tensor.layout().bytes());
  const auto writes = [&](const Request& request) {
    if (request.phase() == Phase::map)
      return static_cast<const MapRequest&>(request).storage() == tensor.storage();
    if (request.phase() == Phase::write)
      return &static_cast<const TransferRequest&>(request).storage() == tensor.storage().get();
    return request.phase() == Phase::launch &&
           static_cast<const LaunchRequest&>(request).writes().touch(base, end);
  };
  const auto& open = tensor.stream().open();
  const auto last = std::find_if(open.rbegin(), open.rend(), [&](const Request* r) { return writes(*r); });
  return last == open.rend() ? nullptr : requests_[(*last)->number()];
}

NdArray Engine::read_image(TensorState& tensor, const Region& region, const Chunks& chunks) {
  NdArray array(tensor.storage()->dtype, region.shape);
  std::vector<std::byte> buffer(static_cast<std::size_t>(chunks.bytes));
  if (!tensor.image->read(chunks.list, buffer)) fail_no_data(tensor, "the host wants values");
  gather(chunks, buffer, array.bytes());
  return array;
}

double Engine::read_scalar(PeCoord pe, std::uint64_t address, DType dtype) {
  std::byte bytes[8];
  read_memory(pe, address, {bytes, static_cast<std::size_t>(itemsize(dtype))});
  return number_at(dtype, bytes);
}

void Engine::read_memory(PeCoord pe, std::uint64_t address, std::span<std::byte> out) {
  while (!out.empty()) {  // neighbouring bytes may be of several tensors
    TensorState* tensor = tensor_at(address);
    if (tensor == nullptr || tensor->storage()->sip != pe.sip ||
        !tensor->storage()->holds(address::VirtAddr(address)))
      throw InputError({"tensor.scalar", to_string(pe),
                        fmt::format("no tensor of its SIP is at {:#x}", address),
                        "read from a tensor argument"});
    const auto offset = static_cast<std::int64_t>(address - tensor->storage()->base.raw());
    const std::size_t here =
        std::min(out.size(), static_cast<std::size_t>(tensor->layout().bytes() - offset));
    fetch_scalar(*tensor, pe, offset, out.first(here));
    address += here;
    out = out.subspan(here);
  }
}

/// What the host wrote last, if no launch has written since; else what the launch has written, once it is complete.
/// (Of a large tensor the host keeps nothing: there everything before is waited for.)
void Engine::fetch_scalar(TensorState& tensor, PeCoord pe, std::int64_t offset, std::span<std::byte> out) {
  if (tensor.image->read(offset, out)) return;
  const Storage& storage = *tensor.storage();
  if (!options_.data || (!tensor.image->last_writer() && !tensor.image->has_lost()))
    fail_no_data(tensor, "a kernel wants a scalar");
  wait(tensor.image->has_lost() ? *tensor.stream().last() : *tensor.image->last_writer());
  std::vector<address::PhysPiece> pieces;
  storage.segment(pe)->append_pieces(Bytes(offset), Bytes(static_cast<std::int64_t>(out.size())), pieces);
  const data::MemoryStore& store = replay().store();
  for (const auto& piece : pieces) {
    const auto n = static_cast<std::size_t>(piece.size.count());
    store.read(piece.begin, out.first(n));
    out = out.subspan(n);
  }
}

// ── without a request ──

data::MemoryStore& Engine::store_at_rest() {
  if (!options_.data)
    throw NoData({"tensor.no-data", "", "data is off: memories hold no values", kTurnDataOn});
  synchronize();
  return replay().store();
}

/// The pieces of memory that hold these bytes, once for each copy.
std::vector<std::vector<address::PhysPiece>> Engine::copies_of(const TensorState* tensor,
                                                               address::MemorySpace space,
                                                               std::uint64_t address, Bytes size) const {
  if (tensor == nullptr || !tensor->storage()->holds(address::VirtAddr(address))) {
    const auto at = address::PhysAddr::from_raw(address);
    const address::Resource resource = address::decode(at).resource;
    const bool is_there = (space == address::MemorySpace::Hbm && resource == address::Resource::Hbm) ||
                          (space == address::MemorySpace::Tcm && resource == address::Resource::Tcm) ||
                          (space == address::MemorySpace::Sram && resource == address::Resource::Sram);
    if (!is_there || size > address::room_after(at))
      throw InputError(
          {"memory.range", address::to_string(at),
           fmt::format("{} at {:#x} are not in {}", kernbench::to_string(size), address, to_string(space)),
           "give the address of a tensor that is alive, or a physical one of that memory"});
    return {{{at, size}}};
  }
  const Storage& storage = *tensor->storage();
  const Bytes offset = address::VirtAddr(address) - storage.base;
  if (space != storage.mem || offset + size > storage.size())
    throw InputError(
        {"memory.range", place(storage),
         fmt::format("{} at {:#x} are not in {} of it", kernbench::to_string(size), address,
                     to_string(space)),
         fmt::format("it has {} in {}", kernbench::to_string(storage.size()), to_string(storage.mem))});
  std::vector<std::vector<address::PhysPiece>> copies;
  std::vector<const address::MapSegment*> seen;
  for (const auto& segment : storage.segments) {
    if (!segment || std::ranges::find(seen, segment.get()) != seen.end()) continue;
    seen.push_back(segment.get());
    segment->append_pieces(offset, size, copies.emplace_back());
  }
  return copies;
}

void Engine::poke_memory(address::MemorySpace space, std::uint64_t address,
                         std::span<const std::byte> bytes) {
  data::MemoryStore& store = store_at_rest();
  TensorState* const tensor = tensor_at(address);
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (const auto& pieces : copies_of(tensor, space, address, Bytes(size))) {
    auto rest = bytes;
    for (const auto& piece : pieces) {
      const auto n = static_cast<std::size_t>(piece.size.count());
      store.write(piece.begin, rest.first(n));
      rest = rest.subspan(n);
    }
  }
  if (tensor == nullptr || !tensor->storage()->holds(address::VirtAddr(address))) return;
  const Chunk chunk{0, (address::VirtAddr(address) - tensor->storage()->base).count(), size, 1, size, 0, 0};
  tensor->image->write({&chunk, 1},
                       std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
}

void Engine::peek_memory(address::MemorySpace space, std::uint64_t address, std::span<std::byte> out) {
  const data::MemoryStore& store = store_at_rest();
  const auto copies =
      copies_of(tensor_at(address), space, address, Bytes(static_cast<std::int64_t>(out.size())));
  for (const auto& piece : copies.front()) {
    const auto n = static_cast<std::size_t>(piece.size.count());
    store.read(piece.begin, out.first(n));
    out = out.subspan(n);
  }
}

std::optional<NdArray> Engine::peek(TensorState& tensor) {
  const data::MemoryStore& store = store_at_rest();
  const Storage& storage = *tensor.storage();
  const Region region = Region::whole(tensor.layout());
  const Chunks chunks = chunks_of(tensor.layout(), region);
  ByteBuffer buffer(static_cast<std::size_t>(chunks.bytes));
  for (const auto& segment : storage.segments) {
    if (!segment) continue;
    std::vector<address::PhysPiece> pieces;
    segment->append_pieces(Bytes(), storage.size(), pieces);
    std::size_t at = 0;
    for (const auto& piece : pieces) {
      if (store.first_unwritten(piece.begin, piece.size)) return std::nullopt;
      const auto n = static_cast<std::size_t>(piece.size.count());
      store.read(piece.begin, std::span(buffer).subspan(at, n));
      at += n;
    }
    break;
  }
  return in_array_order(storage.dtype, region.shape, chunks, std::move(buffer));
}

}  // namespace kernbench::runtime
