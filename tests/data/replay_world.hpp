// A machine for tests of replay and hazards: no engines, no time to speak of. Programs are recorded by tl and
// played command by command; each record takes 10 ps and ends in the order it was played.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/composite.hpp"
#include "data/memory_store.hpp"
#include "data/replay.hpp"
#include "data/run_facts.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::data {

class World : public RunFacts {
 public:
  static constexpr TileShape kTile{4, 8, 16};
  using Command = isa::CommandIndex;

  /// Records `kernel` as part of a launch. Queues must have been wired.
  template <class Kernel>
  std::uint32_t launch_on(PeCoord pe, Kernel kernel, std::uint32_t request) {
    tl::Context tl({.kernel = "kernel", .pe = pe});
    run_kernel(kernel, tl);
    programs_.push_back(tl.take_program());
    origins_.push_back({&programs_.back(), pe, request});
    const auto origin = static_cast<std::uint32_t>(origins_.size() - 1);
    number_messages(origin);
    return origin;
  }
  std::uint32_t new_request(std::uint32_t stream = 0, std::vector<std::uint32_t> after = {}) {
    requests_.push_back({stream, std::move(after)});
    return static_cast<std::uint32_t>(requests_.size() - 1);
  }
  /// Records it on one PE as a request of its own and plays it.
  template <class Kernel>
  std::uint32_t run(PeCoord pe, Kernel kernel, std::uint32_t stream = 0) {
    const auto request = new_request(stream);
    const auto origin = launch_on(pe, kernel, request);
    play(origin);
    end_launch(request);
    return origin;
  }

  /// The records of one command, or of all.
  void play(std::uint32_t origin, Command command) {
    const auto& c = program(origin).command(command);
    if (c.kind == isa::CommandKind::wait || c.kind == isa::CommandKind::fence) return;
    if (c.kind == isa::CommandKind::composite) return play_composite(origin, command);
    add(kind_of(c.kind), origin, command);
    if (c.kind != isa::CommandKind::ipcq_send) return;
    const auto& m = messages_.at({origin, command});
    sent_.emplace(m.ring, m.number);
  }
  void play(std::uint32_t origin) {
    for (Command c = 0; c < program(origin).commands().size(); ++c) play(origin, c);
  }
  /// All programs, turn by turn; a receive waits for its send.
  void play_together(const std::vector<std::uint32_t>& origins) {
    std::vector<Command> next(origins.size(), 0);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < origins.size(); ++i) {
        const auto& p = program(origins[i]);
        if (next[i] == p.commands().size()) continue;
        if (p.command(next[i]).kind == isa::CommandKind::ipcq_recv && !has_arrived(origins[i], next[i]))
          continue;
        play(origins[i], next[i]++);
        more = true;
      }
    }
  }
  void play_composite(std::uint32_t origin, Command command) {
    const auto& p = program(origin);
    const auto& spec = p.composite(p.command(command));
    const TilePlan plan(p.shape(spec.out)[0], p.shape(spec.out)[1], p.shape(spec.a)[1], kTile);
    for (std::int64_t step = 0; step < plan.steps(); ++step) {
      for (const auto id : {spec.a, spec.b})
        if (p.value(id).kind == isa::ValueKind::reference) add(device::OpKind::tile_dma_in, origin, command);
      add(device::OpKind::tile_gemm, origin, command);
      if ((step + 1) % plan.k_steps() == 0) add(device::OpKind::tile_dma_out, origin, command);
    }
  }
  void end_launch(std::uint32_t request) { add_host(device::OpKind::host_launch, request); }

  std::uint32_t host_write(std::uint64_t address, const NdArray& array, std::uint32_t stream = 0) {
    const auto request = new_request(stream);
    host_[request] = {address, {array.bytes().begin(), array.bytes().end()}};
    add_host(device::OpKind::host_write, request);
    return request;
  }
  std::uint32_t host_read(std::uint64_t address, DType dtype, const Shape& shape, std::uint32_t stream = 0) {
    const auto request = new_request(stream);
    host_[request] = {address,
                      std::vector<std::byte>(static_cast<std::size_t>(shape.elements() * itemsize(dtype)))};
    add_host(device::OpKind::host_read, request);
    return request;
  }
  NdArray read_result(std::uint32_t request, DType dtype, const Shape& shape) const {
    NdArray array(dtype, shape);
    std::ranges::copy(host_.at(request).bytes, array.bytes().begin());
    return array;
  }

  /// A send in `direction` goes to the peer's `to` queue.
  void wire(PeCoord from, std::string direction, PeCoord to, std::string arrives) {
    const auto ring = static_cast<std::uint32_t>(rings_.size());
    rings_.push_back(default_ring);
    send_ring_[{from, direction}] = ring;
    receive_ring_[{to, arrives}] = ring;
  }
  Ring default_ring;

  /// Replays all records into a new store.
  MemoryStore& replay(int threads = 1, std::size_t window = 4096) {
    store_ = MemoryStore();
    for (const auto& [begin, size, name] : names_) store_.names().add(phys(begin), size, name);
    ReplayExecutor executor(store_, *this, {.threads = threads, .gemm_tile = kTile, .window = window});
    for (const auto& r : records) executor.append(r);
    executor.finish();
    return store_;
  }
  NdArray memory(std::uint64_t address, DType dtype, const Shape& shape) const {
    std::vector<address::PhysPiece> pieces;
    pieces_of_range(address, Bytes(shape.elements() * itemsize(dtype)), pieces);
    return store_.read(pieces, dtype, shape);
  }
  void name(std::uint64_t begin, Bytes size, std::string name) {
    names_.push_back({begin, size, std::move(name)});
  }
  /// Neighbouring blocks of 96 bytes change places, so that nearly every access is cut.
  bool scattered = false;

  const isa::Program& program(std::uint32_t origin) const { return *origins_[origin].program; }
  std::vector<device::OpRecord> records;

  // ── RunFacts ──
  const device::Origin& origin(std::uint32_t index) override { return origins_[index]; }
  void translate(std::uint32_t, address::VirtAddr begin, Bytes size,
                 std::vector<address::PhysPiece>& out) override {
    pieces_of_range(begin.raw(), size, out);
  }
  Message message(const device::OpRecord& record) override {
    return messages_.at({record.origin, record.command});
  }
  Ring ring(std::uint32_t ring) override { return rings_[ring]; }
  HostTransfer host_transfer(const device::OpRecord& record) override {
    auto& transfer = host_.at(origins_[record.origin].launch);
    HostTransfer result{{}, transfer.bytes};
    pieces_of_range(transfer.address, Bytes(static_cast<std::int64_t>(transfer.bytes.size())), result.pieces);
    return result;
  }
  RequestOrder request_order(std::uint32_t request) override { return requests_[request]; }

  static address::PhysAddr phys(std::uint64_t address) {
    return address::hbm_addr({0, 0}, Bytes(static_cast<std::int64_t>(address)));
  }

 private:
  struct Transfer {
    std::uint64_t address;
    std::vector<std::byte> bytes;
  };
  struct Name {
    std::uint64_t begin;
    Bytes size;
    std::string name;
  };

  static device::OpKind kind_of(isa::CommandKind kind) {
    using isa::CommandKind;
    switch (kind) {
      case CommandKind::dma_read:
        return device::OpKind::dma_read;
      case CommandKind::dma_write:
        return device::OpKind::dma_write;
      case CommandKind::load_scalar:
        return device::OpKind::load_scalar;
      case CommandKind::gemm:
        return device::OpKind::gemm;
      case CommandKind::ipcq_send:
        return device::OpKind::ipcq_send;
      case CommandKind::ipcq_recv:
        return device::OpKind::ipcq_recv;
      default:
        return device::OpKind::math;
    }
  }
  void add(device::OpKind kind, std::uint32_t origin, Command command) {
    device::OpRecord r;
    r.start = clock_;
    r.end = clock_ = clock_ + Time::from_ps(10);
    r.kind = kind;
    r.origin = origin;
    r.command = command;
    r.serial = static_cast<std::uint32_t>(records.size() + 1);
    records.push_back(r);
  }
  void add_host(device::OpKind kind, std::uint32_t request) {
    origins_.push_back({nullptr, {-1, -1, -1}, request});
    add(kind, static_cast<std::uint32_t>(origins_.size() - 1), isa::kNone);
  }
  void pieces_of_range(std::uint64_t begin, Bytes size, std::vector<address::PhysPiece>& out) const {
    constexpr std::uint64_t kBlock = 96;
    out.clear();
    auto left = static_cast<std::uint64_t>(size.count());
    if (!scattered) {
      out.push_back({phys(begin), size});
      return;
    }
    while (left > 0) {
      const auto n = std::min(left, kBlock - begin % kBlock);
      const auto place = (begin / kBlock ^ 1) * kBlock + begin % kBlock;
      out.push_back({phys(place), Bytes(static_cast<std::int64_t>(n))});
      begin += n;
      left -= n;
    }
  }

  /// Messages are numbered in program order, over all programs of a PE.
  void number_messages(std::uint32_t origin) {
    const auto& p = program(origin);
    for (Command i = 0; i < p.commands().size(); ++i) {
      const auto kind = p.command(i).kind;
      const bool send = kind == isa::CommandKind::ipcq_send;
      if (!send && kind != isa::CommandKind::ipcq_recv) continue;
      const std::pair key(origins_[origin].pe, std::string(p.direction(p.command(i))));
      const auto ring = send ? send_ring_.at(key) : receive_ring_.at(key);
      messages_[{origin, i}] = {ring, (send ? sends_ : receives_)[ring]++};
    }
  }
  bool has_arrived(std::uint32_t origin, Command command) const {
    const auto& m = messages_.at({origin, command});
    return sent_.contains({m.ring, m.number});
  }

  std::deque<isa::Program> programs_;
  std::deque<device::Origin> origins_;
  std::vector<RequestOrder> requests_;
  std::map<std::uint32_t, Transfer> host_;
  std::vector<Ring> rings_;
  std::map<std::pair<PeCoord, std::string>, std::uint32_t> send_ring_, receive_ring_;
  std::map<std::pair<std::uint32_t, Command>, Message> messages_;
  std::map<std::uint32_t, std::uint32_t> sends_, receives_;  // by ring
  std::set<std::pair<std::uint32_t, std::uint32_t>> sent_;
  std::vector<Name> names_;
  MemoryStore store_;
  Time clock_;
};

}  // namespace kernbench::data
