#!/usr/bin/env python3
"""Write runtime/text/unicode_tables.cc: which characters the parts of `tokenizers` take for a digit, punctuation, …

    pip install tokenizers==0.23.3
    python make_unicode_tables.py > ../../runtime/text/unicode_tables.cc

The parts of that library stem from crates with Unicode tables of different age, so each set is asked from the part that
uses it. Python must have Unicode 14 (3.11), the version of PCRE2 10.40 to 10.42: what is newer is listed per category.
"""
import unicodedata

from tokenizers import Regex, normalizers as N, pre_tokenizers as P

ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(points):
    out = []
    for c in sorted(points):
        # Surrogates are in no text, so a range may run over them.
        if out and (out[-1][1] == c - 1 or (out[-1][1] == 0xD7FF and c == 0xE000)):
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def delimiters(part):
    return {c for c in ALL if len(part.pre_tokenize_str("a" + chr(c) + "a")) > 1}


def removed(normalizer):
    return {c for c in ALL if normalizer.normalize_str(chr(c)) == ""}


def bert(**kw):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return N.BertNormalizer(**{**off, **kw})


def category(name):
    split = P.Split(Regex("\\p{%s}" % name), "removed", True)
    return {c for c in ALL if split.pre_tokenize_str(chr(c))}


def table(name, points):
    lines, line = [], " "
    for first, last in ranges(points):
        item = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(item) > 128:
            lines.append(line)
            line = " "
        line += item
    print(f"const CharacterRange {name}_[] = {{\n" + "\n".join(lines + [line]) + "\n};\n")


def view(kind, name):
    print(f"const {kind} {name} = {{{name}_, std::size({name}_)}};")


assert unicodedata.unidata_version == "14.0.0"
print("// Written by tests/text/make_unicode_tables.py. clang-format off")
print('#include "runtime/text/unicode_tables.h"\n\n#include <iterator>\n\nnamespace tp {\nnamespace {\n')
SETS = {
    "kNumeric": delimiters(P.Digits(False)),
    "kPunctuation": delimiters(P.Punctuation()),
    "kWord": set(ALL) - delimiters(P.Whitespace()),
    "kCombiningMark": removed(N.StripAccents()),
    "kNonspacingMark": removed(bert(strip_accents=True)),
    "kControl": removed(bert(clean_text=True)) - {0xFFFD},
}
# Newer than the normalization tables of the crate: left as they are, though Unicode decomposes, composes or reorders them.
SETS["kNotNormalized"] = (category("M") - SETS["kCombiningMark"]) | {
    0x32FF, *range(0xA7F2, 0xA7F5), 0xAB69, *range(0x10781, 0x107BB), 0x11938, *range(0x1E030, 0x1E06E), 0x1F16C,
    *range(0x1FBF0, 0x1FBFA)}
for name, points in SETS.items():
    table(name, points)
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So".split()
new = {name: {c for c in category(name) if unicodedata.category(chr(c)) != name} for name in CATEGORIES}
new = {name: points for name, points in new.items() if points}
for name, points in new.items():
    table(f"kNew{name}", points)
print("const NewCharacters kNewCharacters_[] = {")
for name in new:
    print(f'    {{"{name}", {{kNew{name}_, std::size(kNew{name}_)}}}},')
print("};\n\n}  // namespace\n")
for name in SETS:
    view("CharacterSet", name)
print("const std::span<const NewCharacters> kNewCharacters = kNewCharacters_;\n\n}  // namespace tp")
