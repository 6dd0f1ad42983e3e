#!/usr/bin/env python3
"""What `pip install --dry-run --report FILE` says about installing torch.

    torch_wheel.py --needs-cuda FILE   exit 0 if CUDA packages would come along, else 1
    torch_wheel.py --summary FILE      names and versions, for people
"""
import json
import sys


def main() -> int:
    mode, path = sys.argv[1:]
    with open(path, encoding="utf-8") as f:
        items = json.load(f)["install"]
    packages = {i["metadata"]["name"].lower(): i["metadata"]["version"] for i in items}
    if mode == "--needs-cuda":
        cuda_wheel = "+cu" in packages.get("torch", "")
        cuda_packages = any(name.startswith(("nvidia-", "nvidia_", "cuda-", "triton")) for name in packages)
        return 0 if cuda_wheel or cuda_packages else 1
    torch = packages.pop("torch", None)
    names = ([f"torch {torch}"] if torch else []) + sorted(packages)
    print(", ".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
