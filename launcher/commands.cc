#include "launcher/commands.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "launcher/bench_sweep.h"
#include "launcher/chat_terminal.h"
#include "launcher/devices_report.h"
#include "launcher/doctor.h"
#include "launcher/env_report.h"
#include "launcher/help.h"
#include "launcher/kernel_commands.h"
#include "launcher/kernel_options.h"
#include "launcher/launch_job.h"
#include "launcher/launch_settings.h"
#include "launcher/make_job.h"
#include "launcher/options_environment.h"
#include "launcher/plan_commands.h"
#include "launcher/program_path.h"
#include "launcher/tokenize.h"
#include "runtime/job.h"
#include "sharding/error.h"

namespace tp {
namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

// Notes go to standard error before anything else does.
void tell(const Options& options, const std::string& note) {
  if (!note.empty() && !options.flag("quiet")) std::fprintf(stderr, "tprun: %s\n", note.c_str());
}

int print_devices(const Options& options) {
  const std::string root = options.text("host-root");
  const HostChips host = find_chips(root);
  return print(options.flag("json") ? devices_json(host) : devices_text(host, root));
}

int print_env(const Options& options) {
  const Environment preset = whole_environment();
  const LaunchSettings settings = launch_settings(options, preset);
  const LaunchEnv env = make_launch_env(launch_env_request(options, settings, preset));
  tell(options, settings.device.note);
  for (const std::string& note : env.notes) tell(options, note);
  const auto rank = options.count("rank");
  return print(options.flag("json") ? env_json(env, rank) : env_assignments(env, rank));
}

int run_program(const Options& options) {
  if (options.program.empty()) throw Error("--", "no program follows", "tprun … -- PROGRAM [args]");
  const LaunchSettings settings = launch_settings(options, whole_environment());
  const std::string& name = options.program[0];
  if (!find_program(name)) {
    std::error_code ignored;
    const bool is_file = name.find('/') != std::string::npos && std::filesystem::is_regular_file(name, ignored);
    if (is_file) throw Error(name, "cannot be executed", "chmod +x, or name what runs it: -- python " + name);
    throw Error(name, "no such program", "give its path, or put its directory into PATH");
  }
  tell(options, settings.device.note);
  return run_on_ranks(options, settings, options.program, std::nullopt);
}

int run_model(const Options& options) {
  if (options.command == "bench" && options.given("sweep-tp")) return sweep_bench(options);
  const LaunchSettings settings = launch_settings(options, whole_environment());
  const CheckedJob checked = make_job(options, settings);
  tell(options, settings.device.note);
  for (const std::string& note : checked.notes) tell(options, note);
  if (options.flag("show-config")) {
    for (const auto& [name, value] : checked.settings.shown)
      std::fprintf(stderr, "tprun: %s = %s\n", name.c_str(), value.c_str());
  }
  if (checked.job.command == "generate" && checked.job.prompts.empty()) return 0;  // --resume found it complete
  if (!checked.job.kernels.empty() && !kernels_fit(checked.job, settings.world_size())) return kExitRefused;
  const std::string job = to_json(checked.job);
  const std::vector<std::string> worker = {own_program("tprun-rank").string()};
  if (options.command == "chat" && !options.flag("dry-run"))
    return chat_in_terminal(options, job, [&] { return run_on_ranks(options, settings, worker, std::nullopt); });
  return run_on_ranks(options, settings, worker, job + "\n");
}

}  // namespace

int run_command(const Options& options) {
  if (options.flag("help")) return print(help_text());
  if (options.flag("version")) return print("tprun " TPRUN_VERSION "\n");
  if (options.has_program) return run_program(options);
  if (options.command.empty()) throw Error("", "no command", "`tprun --help` lists the commands; a program follows `--`");
  if (options.command == "completion") return print(completion_script(options.action));
  if (options.command == "devices") return print_devices(options);
  if (options.command == "env") return print_env(options);
  if (options.command == "kernels") return run_kernels(options);
  if (options.command == "plan") return run_plan(options);
  if (options.command == "doctor") return print_findings(examine_host(options));
  if (options.command == "tokenize") return tokenize(options);
  return run_model(options);
}

}  // namespace tp
