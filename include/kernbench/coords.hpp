// Structural coordinates: where a thing is in the machine. Interfaces take these, never a flattened index.
#pragma once

#include <compare>
#include <string>

namespace kernbench {

/// A cube: an HBM stack with the logic under it. `cube` counts row by row over the SIP's mesh.
struct CubeCoord {
  int sip = 0;
  int cube = 0;
  friend constexpr auto operator<=>(CubeCoord, CubeCoord) = default;
};

/// A processing element of a cube.
struct PeCoord {
  int sip = 0;
  int cube = 0;
  int pe = 0;
  constexpr CubeCoord in_cube() const { return {sip, cube}; }
  friend constexpr auto operator<=>(PeCoord, PeCoord) = default;
};

/// A place in a `w × h` mesh; x runs east, y south, ids row by row.
struct MeshCoord {
  int x = 0;
  int y = 0;
  static constexpr MeshCoord of(int id, int w) { return {id % w, id / w}; }
  constexpr int id(int w) const { return y * w + x; }
  friend constexpr auto operator<=>(MeshCoord, MeshCoord) = default;
};

/// `sip0.cube5`, `sip0.cube5.pe3`: the paths people read.
std::string to_string(CubeCoord c);
std::string to_string(PeCoord p);

}  // namespace kernbench
