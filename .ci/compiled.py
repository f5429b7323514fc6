"""Assert that every kernel of both packages was compiled into a folder: that a test runs it."""

import ast
import pathlib
import sys

compiled = {file.name.split("-")[0] for file in pathlib.Path(sys.argv[1]).rglob("*.nbi")}
kernels = {
    f"{file.stem}.{node.name}"
    for folder in ("rankgym", "agents")
    for file in pathlib.Path(folder).rglob("*.py")
    for node in ast.parse(file.read_text()).body
    if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "kernel" for d in node.decorator_list)
}
print("kernels:", len(kernels))
assert kernels, "no kernel was found"
assert kernels <= compiled, f"no test runs {sorted(kernels - compiled)}"
