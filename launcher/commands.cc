#include "launcher/commands.h"

#include <cstdio>

#include "launcher/help.h"
#include "launcher/launch_job.h"
#include "launcher/launch_settings.h"
#include "launcher/options_environment.h"
#include "launcher/program_path.h"
#include "sharding/error.h"

namespace tp {
namespace {

int run_program(const Options& options) {
  if (options.program.empty()) throw Error("--", "no program follows", "tprun … -- PROGRAM [args]");
  const LaunchSettings settings = launch_settings(options, environment("OMP_NUM_THREADS"));
  const auto path = find_program(options.program[0]);
  if (!path) throw Error(options.program[0], "no such program", "give its path, or put its directory into PATH");
  return run_on_ranks(options, settings, options.program, std::nullopt);
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

int run_command(const Options& options) {
  if (options.flag("help")) return print(help_text());
  if (options.flag("version")) return print("tprun " TPRUN_VERSION "\n");
  if (options.has_program) return run_program(options);
  if (options.command.empty()) throw Error("", "no command", "`tprun --help` lists the commands; a program follows `--`");
  if (options.command == "completion") return print(completion_script(options.action));
  throw Error(options.command, "this version does not have it yet", "run a program: tprun … -- PROGRAM");
}

}  // namespace tp
