# Text and its rules: tokenizer, chat template, sampling, the job of a worker. No torch, no MPI.
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)

tp_library(tp_text
  SOURCES aot_request.cc aot_topology.cc bench_run.cc chat_prompt.cc chat_template.cc elf_library.cc job.cc kernel_fragment.cc kernel_package.cc largest_logit.cc logit_rules.cc logprobs.cc operator_build.cc operator_rules.cc prompt_overrides.cc sampler.cc sha256.cc stop_text.cc
    tokenizer.cc
    jinja/expression_parser.cc jinja/filters.cc jinja/list_filters.cc jinja/number_filters.cc jinja/string_methods.cc jinja/text_filters.cc jinja/text_format.cc jinja/globals.cc jinja/interpreter.cc jinja/json_text.cc jinja/letter_case.cc
    jinja/lexer.cc jinja/loop_value.cc jinja/macro_arguments.cc jinja/methods.cc jinja/operators.cc jinja/parser.cc jinja/template.cc jinja/tests.cc jinja/value.cc
    text/added_tokens.cc text/bpe.cc text/bpe_merges.cc text/byte_level.cc text/byte_tokens.cc text/decode_filters.cc
    text/decoder.cc text/json_node.cc text/metaspace.cc text/model.cc text/normalizer.cc text/pattern.cc
    text/post_processor.cc text/pre_tokenizer.cc text/precompiled.cc text/regex.cc text/regex_sets.cc text/regex_syntax.cc text/split.cc
    text/tokenizer_file.cc text/unicode.cc text/unicode_tables.cc text/unigram.cc text/utf8.cc text/vocabulary.cc text/word_models.cc
  LINK tp_sharding nlohmann_json::nlohmann_json OpenSSL::Crypto PkgConfig::PCRE2 PkgConfig::UTF8PROC)
