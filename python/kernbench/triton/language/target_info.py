"""`tl.target_info`: which machine a kernel is for. It is neither of the vendors that kernels ask for."""


def current_target():
    from ..runtime import driver
    return driver.active.get_current_target()


def is_cuda():
    return False


def cuda_capability_geq(major, minor=0):
    return False


is_hip = is_hip_cdna3 = is_hip_cdna4 = is_cuda
