#pragma once

#include <string>

namespace tp {

// Texts that are made from option_table() and command_table() alone.

// `tprun --help`.
std::string help_text();
// The option table of the docs, in Markdown: one row per option with type, default, help and who reads it.
std::string option_docs();
// A completion script for `bash` or `zsh`, made to be evaluated: eval "$(tprun completion bash)".
std::string completion_script(const std::string& shell);

}  // namespace tp
