#!/usr/bin/env python3
"""Write tests/text/tokenizers/NAME/{tokenizer.json,golden.json}: small tokenizers and what `tokenizers` makes of some text.

    pip install tokenizers==0.23.3
    python make_tokenizers.py
"""
import json
import os
import pathlib
import random

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import AddedToken, Regex, Tokenizer, decoders as D, models, normalizers as N, pre_tokenizers as P, processors, trainers

TEXT = ["the quick brown fox jumps over the lazy dog", "a tensor is split over the chips", "Hello, world! it's 12345 o'clock",
        "def f(x):\n    return x + 1\n", "für die Straße, école déjà vu", "привет мир, это слово", "你好世界 中文", "the the then there",
        "नमस्ते दुनिया", "한국어 모델", "😀 👍🏽 ok", "1 22 333 4444"] * 4
STRINGS = ["", " ", "  ", "\n\n x", "Hello, world!", "the then  there", " the", "it's IT'S 12345", "für die STRASSE", "e\u0301cole école", "ﬁ ² ½ Ⅷ",
           "привет мир", "你好世界", "नमस्ते", "한국어 모델", "😀👍🏽 x", "a\u00a0b\u3000c", "a\r\nb\tc", "<s>x</s>", "  <s>  y", "▁a ▁▁b", "\ufffd", "İstanbul ſ K", "a,b;c d",
           "x" * 70, "zebra-Qq_9", "\U00031350\U0001FAE8", "a\u200db"]
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEMPLATE = lambda t, single: processors.TemplateProcessing(
    single=single, pair=single + " $B:1", special_tokens=[(s, t.token_to_id(s)) for s in ("<s>", "</s>") if s in single])


def trained(model, trainer, pre, norm=None):
    t = Tokenizer(model)
    t.pre_tokenizer = pre
    if norm:
        t.normalizer = norm
    t.train_from_iterator(TEXT, trainer)
    return t


def byte_level(pre, norm=None, **model):
    return trained(models.BPE(**model), trainers.BpeTrainer(vocab_size=340, initial_alphabet=P.ByteLevel.alphabet(), special_tokens=["<s>", "</s>"],
                                                            show_progress=False), pre, norm)


def sentencepiece(pre, norm=None):
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t = trained(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True),
                trainers.BpeTrainer(vocab_size=340, special_tokens=special, limit_alphabet=40, show_progress=False), P.Metaspace())
    js = json.loads(t.to_str())
    js["added_tokens"] = js["added_tokens"][:3]
    js["pre_tokenizer"] = None
    t = Tokenizer.from_str(json.dumps(js))
    if pre:
        t.pre_tokenizer = pre
    if norm:
        t.normalizer = norm
    t.decoder = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
    t.post_processor = TEMPLATE(t, "<s> $A")
    return t


def build():
    t = byte_level(P.Sequence([P.Split(Regex(LLAMA3), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), ignore_merges=True)
    t.decoder = D.ByteLevel()
    t.post_processor = processors.Sequence([processors.ByteLevel(), TEMPLATE(t, "<s> $A </s>")])
    yield "byte_level", t
    t = byte_level(P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=True)]), N.Sequence([N.NFKC(), N.Lowercase()]))
    t.add_tokens([AddedToken("the", single_word=True), AddedToken("école", lstrip=True), AddedToken("Q", normalized=False, rstrip=True)])
    t.decoder = D.ByteLevel()
    yield "added_tokens", t
    yield "sentencepiece", sentencepiece(None, N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]))
    yield "metaspace_first", sentencepiece(P.Metaspace("▁", "first", split=False))
    for behavior in ("removed", "merged_with_previous", "merged_with_next", "contiguous"):
        t = sentencepiece(P.Split(Regex(r"[\s,;]"), behavior), N.Strip())
        yield "split_" + behavior, t
    t = trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=120, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False),
                P.Metaspace(), N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]))
    t.decoder = D.Metaspace()
    t.post_processor = TEMPLATE(t, "$A </s>")
    yield "unigram", t
    t = trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=160, special_tokens=["[UNK]", "<s>", "</s>"], show_progress=False),
                P.BertPreTokenizer(), N.BertNormalizer())
    t.decoder = D.WordPiece()
    t.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
    yield "word_piece", t


def golden(t):
    rows = []
    for text in STRINGS:
        ids = t.encode(text).ids
        rows.append(dict(text=text, ids=t.encode(text, add_special_tokens=False).ids, ids_special=ids, decode=t.decode(ids, skip_special_tokens=False),
                         decode_skip=t.decode(ids)))
    r = random.Random(1)
    known = sorted(t.get_vocab().values())
    lists = [[r.choice(known) for _ in range(r.randint(1, 10))] for _ in range(30)]
    return dict(strings=rows, decode_ids=[dict(ids=i, decode=t.decode(i, skip_special_tokens=False), decode_skip=t.decode(i)) for i in lists])


for name, tokenizer in build():
    folder = pathlib.Path(__file__).parent / "tokenizers" / name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    golden_text = json.dumps(golden(Tokenizer.from_file(str(folder / "tokenizer.json"))), ensure_ascii=False)
    (folder / "golden.json").write_text(golden_text + "\n")
