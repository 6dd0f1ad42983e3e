#include "launcher/plan_aot.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "launcher/checked_model.h"
#include "launcher/count_list.h"
#include "launcher/device_choice.h"
#include "launcher/libtpu.h"
#include "launcher/model_path.h"
#include "launcher/plan_tp_size.h"
#include "launcher/program_path.h"
#include "runtime/aot_request.h"
#include "sharding/error.h"

namespace tp {
namespace {

AotRequest request_of(const Options& options) {
  if (!options.given("topology")) throw Error("--topology", "plan aot needs it", "for example --topology v5e:2x2");
  if (options.count("batch") == 0) throw Error("--batch", "0 is not a number of prompts", "1 or more");
  if (options.count("cache-len") == 0) throw Error("--cache-len", "0 is not a number of positions", "1 or more");
  AotRequest request;
  request.tp_size = plan_tp_size(options);
  request.model = resolve_model(options.text("model"), true).string();
  request.plans_dir = plans_directory().string();
  request.plan = plan_request(options);
  request.dtype = options.text("dtype");
  request.topology = options.text("topology");
  request.cache_len = options.count("cache-len").value_or(0);
  request.batch = options.count("batch").value_or(1);
  request.prefill = count_list(options, "prefill");
  request.json = options.flag("json") || options.text("format") == "json";
  request.dump_hlo = options.text("dump-hlo");
  if (options.given("pjrt-plugin")) {
    request.libtpu = std::filesystem::absolute(options.text("pjrt-plugin")).string();
    require_pjrt_plugin(request.libtpu);
  } else {
    request.libtpu = find_libtpu();
  }
  return request;
}

// Runs the program with this text as its standard input; the status as waitpid gives it.
int run_with_input(const std::string& program, const std::string& input) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(program, std::string("pipe: ") + std::strerror(errno));
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error(program, std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(ends[0], 0);
    close(ends[0]);
    close(ends[1]);
    execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[0]);
  ::signal(SIGPIPE, SIG_IGN);  // a child that ended early tells by its status
  size_t written = 0;
  while (written < input.size()) {
    const ssize_t n = write(ends[1], input.data() + written, input.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    written += static_cast<size_t>(n);
  }
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

int plan_aot(const Options& options) {
  const AotRequest request = request_of(options);
  const int status = run_with_input(own_program("tprun-aot").string(), to_json(request));
  if (WIFSIGNALED(status)) {
    throw Error("plan aot", "the compiler ended by signal " + std::to_string(WTERMSIG(status)),
                "the lines above may tell why; " + request.libtpu + " must be libtpu");
  }
  return WEXITSTATUS(status);
}

}  // namespace tp
