#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/ops_stablehlo.h"
#include "runtime/pjrt_client.h"
#include "runtime/program_cache.h"

namespace tp {

// Turns traced programs into executables, each once: from the disk cache where it has them, else by compiling.
class ProgramStore {
 public:
  // `dump_dir` (--dump-hlo): every program's text is written there as NAME.rankR.mlir; empty = not.
  ProgramStore(std::shared_ptr<const PjrtClient> client, ProgramCache cache, std::string dump_dir);

  // Throws Error when the plugin cannot compile the program or the text cannot be written.
  const PjrtProgram& executable(const HloProgram& program);

  int64_t compiled() const { return compiled_; }
  int64_t cache_hits() const { return cache_hits_; }

 private:
  PjrtProgram load_or_compile(const HloProgram& program);
  void dump(const HloProgram& program) const;

  std::shared_ptr<const PjrtClient> client_;
  ProgramCache cache_;
  std::string dump_dir_;
  std::string platform_;                            // all but the text that a compiled program depends on
  std::map<std::string, PjrtProgram> executables_;  // by text
  int64_t compiled_ = 0, cache_hits_ = 0;
};

}  // namespace tp
