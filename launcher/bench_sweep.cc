#include "launcher/bench_sweep.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "launcher/count_list.h"
#include "launcher/launch_job.h"
#include "launcher/launch_settings.h"
#include "launcher/make_job.h"
#include "launcher/options_environment.h"
#include "launcher/program_path.h"
#include "launcher/write_file.h"
#include "runtime/bench_run.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

constexpr int64_t kMostRanks = 4096;
constexpr int64_t kLargestResults = int64_t{1} << 20;

// Where rank 0 of each job leaves its runs for the report.
class ResultsFile {
 public:
  ResultsFile() {
    path_ = (std::filesystem::temp_directory_path() / "tprun-bench-XXXXXX").string();
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) throw Error(path_, "cannot be made", "set TMPDIR to a directory that can be written");
    close(descriptor);
  }
  ~ResultsFile() { unlink(path_.c_str()); }
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct SweepJob {
  LaunchSettings settings;
  CheckedJob checked;
};

}  // namespace

int sweep_bench(const Options& options) {
  if (options.given("nproc-per-node")) throw Error("--sweep-tp", "and --nproc-per-node are both given", "keep one of them");
  if (options.given("trace")) throw Error("--trace", "is for one job, and --sweep-tp starts several", "leave one of them out");
  const ResultsFile results;
  std::vector<SweepJob> jobs;
  for (const int64_t ranks : count_list(options, "sweep-tp")) {
    if (ranks > kMostRanks) throw Error("--sweep-tp", std::to_string(ranks) + " ranks are too many", "");
    SweepJob job{with_ranks(options, whole_environment(), static_cast<int>(ranks)), {}};
    job.checked = make_job(options, job.settings);
    job.checked.job.bench_results = results.path();
    jobs.push_back(std::move(job));
  }
  std::vector<BenchRun> runs;
  for (const SweepJob& job : jobs) {
    const int code = run_on_ranks(options, job.settings, {own_program("tprun-rank").string()}, to_json(job.checked.job) + "\n");
    if (code != 0 || options.flag("dry-run")) return code;
    for (const BenchRun& run : bench_runs(read_text_file(results.path(), kLargestResults))) runs.push_back(run);
  }
  const Job& last = jobs.back().checked.job;
  std::fputs((last.bench_json ? bench_json(runs) : bench_table(runs)).c_str(), stdout);
  if (!last.bench_plot.empty()) write_file("--plot", last.bench_plot, bench_svg(runs));
  return 0;
}

}  // namespace tp
