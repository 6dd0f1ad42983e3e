"""Exports a JAX or Pallas kernel into a package that `tprun --kernels` takes (docs/kernels.md). Needs jax; tprun does not.

    tools/export_kernel.py SOURCE.py DIR

SOURCE.py says what the kernel is:
    name, version, license, replaces   texts; `replaces` is an operation that `tprun kernels list` knows
    min_libtpu                         text, optional
    arguments(match)                   the operation's operands as a list of jax.ShapeDtypeStruct
    cpu(match), tpu(match)             the function of these operands for a platform
    variants                           list of (platform, match): what to export, exactly; no shape is ever derived from another

DIR gets kernel.yaml and stablehlo/PLATFORM-….mlir.
"""
import hashlib
import importlib.util
import pathlib
import re
import sys

import jax
from jax import export
from jax._src.tpu_custom_call import _FWD_COMPAT_VERSION  # of the Mosaic that an export writes; jax has no public name for it
from jax.interpreters import mlir

ir = mlir.ir
# Mosaic keeps source places; a path of the exporting machine means nothing elsewhere.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*")
jax.config.update("jax_include_full_tracebacks_in_locations", False)
ALLOWED_TARGETS = {"tpu": {"tpu_custom_call"}, "cpu": set()}


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


def main():
    source_path, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    spec = importlib.util.spec_from_file_location("kernel_source", source_path)
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    (directory / "stablehlo").mkdir(parents=True, exist_ok=True)
    lines, mosaic = [], None
    for platform, match in source.variants:
        words = "_".join(re.sub(r"\W", "_", yaml_value(value)) for value in match.values())
        symbol = f"{source.name}_{words}"
        text, signature = fragment(getattr(source, platform)(match), source.arguments(match), platform, symbol)
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


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
