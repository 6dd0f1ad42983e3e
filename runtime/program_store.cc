#include "runtime/program_store.h"

#include <filesystem>
#include <fstream>

#include "sharding/error.h"

namespace tp {

ProgramStore::ProgramStore(std::shared_ptr<const PjrtClient> client, ProgramCache cache, std::string dump_dir)
    : client_(std::move(client)), cache_(std::move(cache)), dump_dir_(std::move(dump_dir)) {
  platform_ = client_->platform_name() + "\n" + client_->platform_version() + "\n" + client_->plugin().version() + "\n" +
              std::to_string(client_->devices().size()) + "\n";
}

const PjrtProgram& ProgramStore::executable(const HloProgram& program) {
  const auto found = executables_.find(program.text);
  if (found != executables_.end()) return found->second;
  if (!dump_dir_.empty()) dump(program);
  return executables_.emplace(program.text, load_or_compile(program)).first->second;
}

PjrtProgram ProgramStore::load_or_compile(const HloProgram& program) {
  const std::string key = platform_ + program.text;
  if (const auto bytes = cache_.find(key)) {
    try {
      PjrtProgram loaded = client_->load(*bytes);
      ++cache_hits_;
      return loaded;
    } catch (const Error& error) {
      cache_.warn_unusable(key, error.message());
    }
  }
  PjrtProgram compiled = client_->compile(program.text);
  ++compiled_;
  if (cache_.enabled()) cache_.store(key, compiled.executable().serialize());
  return compiled;
}

void ProgramStore::dump(const HloProgram& program) const {
  std::error_code error;
  std::filesystem::create_directories(dump_dir_, error);
  const auto path =
      std::filesystem::path(dump_dir_) / (program.name + ".rank" + std::to_string(client_->process_index()) + ".mlir");
  std::ofstream file(path);
  file << program.text;
  file.close();
  if (!file) throw Error("--dump-hlo", "cannot write " + path.string(), "give a directory that every rank can write to");
}

}  // namespace tp
