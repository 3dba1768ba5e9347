"""Where a phase is computed."""

import os

import torch

from fedsift.errors import FedsiftError


def choose(wanted: str) -> torch.device:
    """`auto`, `cpu` or `cuda` -> device; sets what makes its arithmetic repeatable.

    Raises:
        FedsiftError: `cuda` is asked for and there is none, so that a job on the wrong node does not crawl on.
    """
    has_cuda = torch.cuda.is_available()
    if wanted == "cuda" and not has_cuda:
        raise FedsiftError(
            f"device: cuda is asked for, but this host ({os.uname().nodename}) shows no GPU; "
            "check the job's GPU request or set device: cpu."
        )
    if wanted == "cpu" or not has_cuda:
        # One thread a process and as many processes as cores: two threads in one process are slower than that.
        torch.set_num_threads(1)
        return torch.device("cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    return torch.device("cuda")
