#include "isa/program_book.hpp"

#include "isa/interner.hpp"

namespace kernbench::isa {

std::uint64_t ProgramBook::size_of(const Program::Body& body) {
  std::uint64_t size = body.commands.size();
  for (const std::size_t part : {body.values.size(), body.places.size(), body.scalars.size(),
                                 body.masks.size(), body.lines.size(), body.kernel.size()})
    size = mix(size, part);
  return size;
}

void ProgramBook::share(Program& program) {
  Shelf& shelf = shelves_[size_of(*program.body_)];
  for (const auto& known : shelf.bodies)
    if (known.lock() == program.body_) return;
  for (const auto& known : shelf.bodies)
    if (const auto body = known.lock(); body && *body == *program.body_) {
      program.body_ = body;
      return;
    }
  shelf.bodies[shelf.next] = program.body_;
  shelf.next = (shelf.next + 1) % shelf.bodies.size();
}

}  // namespace kernbench::isa
