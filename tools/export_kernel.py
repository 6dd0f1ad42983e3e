"""Exports a JAX or Pallas kernel into a package that `tprun --kernels` takes (docs/kernels.md). Needs jax; tprun does not.

    tools/export_kernel.py SOURCE.py DIR

SOURCE.py says what the kernel is:
    name, version, license, replaces   texts; `replaces` is an operation that `tprun kernels list` knows
    min_libtpu                         text, optional
    cpu(match), tpu(match)             the function of the operation's operands for a platform
    variants                           list of (platform, match): what to export, exactly; no shape is ever derived from another

    tools/export_kernel.py HUB DIR --function NAMESPACE::NAME --replaces OPERATION --match KEY=VALUE,… [--match …]
                           [--parameter THEIRS=OURS …]

HUB is a torch-tpu build of a kernel from the Hugging Face Hub (build/torch-tpu): Python that registers JAX functions for
torch_tpu. The function gets the operation's operands, then the parameters of its own that a match names, as keywords
(--parameter epsilon=eps where it has another name for one).

DIR gets kernel.yaml and stablehlo/PLATFORM-….mlir.
"""
import argparse
import base64
import functools
import hashlib
import importlib.util
import inspect
import json
import pathlib
import re
import sys
import types

import jax
import jax.numpy as jnp
from jax import export
from jax._src.tpu_custom_call import _FWD_COMPAT_VERSION  # of the Mosaic that an export writes; jax has no public name for it
from jax.interpreters import mlir

ir = mlir.ir
# Mosaic keeps source places; a path of the exporting machine means nothing elsewhere.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*")
jax.config.update("jax_include_full_tracebacks_in_locations", False)
ALLOWED_TARGETS = {"tpu": {"tpu_custom_call"}, "cpu": set()}


# Operands that the kernel of an operation writes in place: which result is each of them afterwards.
ALIASES = {"append_attention": {3: 1, 4: 2}}


def operands(op, match):
    """The operands of an operation (docs/kernels.md), by name."""

    def array(dtype, *names):
        return jax.ShapeDtypeStruct(tuple(match[name] for name in names), jnp.dtype(dtype))

    dtype = match["dtype"]
    if op == "norm":
        return {"x": array(dtype, "tokens", "size"), "weight": array(dtype, "size")}
    cache = array(dtype, "rows", "kv_heads", "cache_len", "head_dim")
    rows = array("int32", "rows")
    if op == "decode_attention":
        return {"q": array(dtype, "rows", "heads", "head_dim"), "k_cache": cache, "v_cache": cache, "length": rows}
    if op == "append_attention":
        fresh = array(dtype, "rows", "kv_heads", "head_dim")
        queries = array(dtype, "rows", "heads", "head_dim")
        return {"q": queries, "k": fresh, "v": fresh, "k_cache": cache, "v_cache": cache, "start": rows, "length": rows}
    sys.exit(f"no operation `{op}` can be replaced")


def string(value):
    return ir.StringAttr(value).value


def walk(operation, visit):
    visit(operation)
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                walk(inner.operation, visit)


def fragment(function, arguments, platform, symbol):
    """The function as private StableHLO functions SYMBOL and SYMBOL__…, and its type."""
    checks = [export.DisabledSafetyCheck.custom_call(target) for target in ALLOWED_TARGETS[platform]]
    exported = export.export(jax.jit(function), platforms=[platform], disabled_checks=checks)(*arguments)
    if list(exported.module_kept_var_idx) != list(range(len(arguments))):
        sys.exit(f"{symbol}: the function does not use all of its operands; it must")
    with mlir.make_ir_context():
        module = ir.Module.parse(exported.mlir_module())
        functions = [operation.operation for operation in module.body.operations]
        own = [string(f.attributes["sym_name"]) for f in functions]
        names = {name: symbol if name == "main" else f"{symbol}__{name.lstrip('_')}" for name in own}

        def rename(operation):
            if operation.name == "stablehlo.custom_call":
                target = string(operation.attributes["call_target_name"])
                if target not in ALLOWED_TARGETS[platform]:
                    sys.exit(f"{symbol}: custom call `{target}` is not allowed on {platform}")
            if "callee" in operation.attributes:
                callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
                operation.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee])

        for f in functions:
            walk(f, rename)
            f.attributes["sym_name"] = ir.StringAttr.get(names[string(f.attributes["sym_name"])])
            f.attributes["sym_visibility"] = ir.StringAttr.get("private")
            for attribute in ("arg_attrs", "res_attrs"):
                if attribute in f.attributes:
                    del f.attributes[attribute]
        signature = next(str(f.attributes["function_type"]) for f in functions if string(f.attributes["sym_name"]) == symbol)
        text = "\n".join(f.get_asm(enable_debug_info=False, use_local_scope=True) for f in functions)
    return text + "\n", signature


def yaml_value(value):
    return repr(value) if isinstance(value, float) else str(value)


def source_kernel(path):
    spec = importlib.util.spec_from_file_location("kernel_source", path)
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    return source


def require_digest(build, metadata):
    """The files are those that kernel-builder hashed."""
    digest = metadata.get("digest") or sys.exit(f"{build}/metadata.json has no digest of the build's files")
    files = {
        str(path.relative_to(build)): base64.b64encode(hashlib.new(digest["algorithm"], path.read_bytes()).digest()).decode()
        for path in sorted(build.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("metadata.json")
    }
    for name in sorted(files.keys() | digest["files"].keys()):
        if files.get(name) != digest["files"].get(name):
            sys.exit(f"{build / name} is not the file that metadata.json says")


def registered_functions(build, metadata):
    """Imports a torch-tpu build without torch and gives the JAX functions that it registers, by name."""
    functions = {}

    def register(name, function=None, **_):
        if function is None:
            return functools.partial(register, name)
        functions[name] = function
        return function

    def stand_in(name, **attributes):
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        module.__dict__.update(attributes)
        return module

    layers = stand_in("torch.nn", Module=type("Module", (), {}))
    stand_in("torch", nn=layers, Tensor=object)
    pallas = stand_in("torch_tpu._internal.pallas", jax_op=register, custom_jax_kernel=register)
    stand_in("torch_tpu", _internal=stand_in("torch_tpu._internal", pallas=pallas))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(metadata["id"], build / "__init__.py", submodule_search_locations=[str(build)])
    module = sys.modules[metadata["id"]] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return functions


def match_value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def hub_kernel(build, options):
    """The same as a source, of a torch-tpu build."""
    metadata = json.loads((build / "metadata.json").read_text())
    require_digest(build, metadata)
    functions = registered_functions(build, metadata)
    if options.function not in functions:
        sys.exit(f"{build} registers no `{options.function}`; it registers {', '.join(sorted(functions)) or 'nothing'}")
    if not options.replaces or not options.match:
        sys.exit("--replaces and --match say what the function is for")
    names = dict(pair.split("=") for pair in options.parameter)
    matches = [{key: match_value(value) for key, value in (pair.split("=") for pair in text.split(","))} for text in options.match]

    def tpu(match):
        function = functions[options.function]
        own = list(inspect.signature(function).parameters)[len(operands(options.replaces, match)) :]
        keywords = {name: match[names.get(name, name)] for name in own if names.get(name, name) in match}
        return lambda *arguments: function(*arguments, **keywords)

    return types.SimpleNamespace(
        name=metadata["name"].replace("-", "_"),
        version=metadata.get("version", 1),
        license=metadata.get("license") or "unknown",
        replaces=options.replaces,
        tpu=tpu,
        variants=[("tpu", match) for match in matches],
    )


def write_package(source, directory):
    (directory / "stablehlo").mkdir(parents=True, exist_ok=True)
    lines, mosaic = [], None
    for platform, match in source.variants:
        words = "_".join(re.sub(r"\W", "_", yaml_value(value)) for value in match.values())
        symbol = f"{source.name}_{words}"
        text, signature = fragment(getattr(source, platform)(match), list(operands(source.replaces, match).values()), platform, symbol)
        if "tpu_custom_call" in text:
            mosaic = _FWD_COMPAT_VERSION
        file = f"stablehlo/{platform}-{words}.mlir"
        (directory / file).write_text(text)
        pairs = ", ".join(f"{name}: {yaml_value(value)}" for name, value in match.items())
        lines += [
            f"  - platform: {platform}",
            f"    match: {{{pairs}}}",
            f"    file: {file}",
            f"    symbol: {symbol}",
            f'    signature: "{signature}"',
            f"    sha256: {hashlib.sha256(text.encode()).hexdigest()}",
        ]
        if aliases := ALIASES.get(source.replaces):
            lines.append("    aliases: {" + ", ".join(f"{operand}: {result}" for operand, result in aliases.items()) + "}")
    built_with = f"jax: {jax.__version__}" + (f", mosaic: {mosaic}" if mosaic else "")
    head = [
        "schema: 1",
        f"name: {source.name}",
        f"version: {source.version}",
        f"license: {source.license}",
        f"replaces: {source.replaces}",
        f"built_with: {{{built_with}}}",
    ]
    if getattr(source, "min_libtpu", None):
        head.append(f"min_libtpu: {source.min_libtpu}")
    (directory / "kernel.yaml").write_text("\n".join(head + ["variants:"] + lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--function")
    parser.add_argument("--replaces")
    parser.add_argument("--match", action="append", default=[])
    parser.add_argument("--parameter", action="append", default=[])
    options = parser.parse_args()
    hub = options.source.is_dir()
    write_package(hub_kernel(options.source, options) if hub else source_kernel(options.source), options.directory)


if __name__ == "__main__":
    main()
