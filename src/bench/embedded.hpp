// Baselines, compiled in.
#pragma once

#include "bench/baseline.hpp"
