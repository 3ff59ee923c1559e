"""Runs the same kernels under Triton itself on a GPU and compares with the same references. No test needs it.

    python3 tests/python/triton/under_triton.py
"""
import importlib.util
import pathlib

import numpy as np
import torch
import triton

from cases import all_cases, near

spec = importlib.util.spec_from_file_location("kernels", pathlib.Path(__file__).with_name("kernels.py"))
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

failed = 0
for case in all_cases():
    args = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in case.args]
    try:
        getattr(kernels, case.kernel)[case.grid](*args, **case.meta)
        wrong = [w for place, e in case.expected.items() if (w := near(args[place].cpu().numpy(), e, max(case.tolerance, 1e-6)))]
    except Exception as e:
        wrong = [f"{type(e).__name__}: {e}"]
    failed += bool(wrong)
    print(f"{case}: {'OK' if not wrong else wrong[0]}", flush=True)
print(f"triton {triton.__version__}: {len(all_cases()) - failed} passed, {failed} failed")
