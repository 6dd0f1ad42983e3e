#include "launcher/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "launcher/help.h"
#include "launcher/option_table.h"
#include "sharding/error.h"

namespace tp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse_options(arguments);
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

TEST(Options, StandBeforeAndAfterTheCommand) {
  const Options options = parse_options({"--nproc_per_node", "2", "generate", "--model=m", "--top_p=0.5", "--do-sample"});
  EXPECT_EQ(options.command, "generate");
  EXPECT_EQ(options.text("nproc-per-node"), "2");
  EXPECT_EQ(options.text("model"), "m");
  EXPECT_EQ(options.number("top-p"), 0.5);
  EXPECT_TRUE(options.flag("do-sample"));
}

TEST(Options, GiveTheRestToTheProgram) {
  const Options options = parse_options({"-np", "3", "--", "python", "--model", "--", "x"});
  EXPECT_TRUE(options.has_program);
  EXPECT_THAT(options.program, ElementsAre("python", "--model", "--", "x"));
  EXPECT_EQ(options.text("nproc-per-node"), "3");
  EXPECT_FALSE(options.given("model"));
}

TEST(Options, TakeAValueOfAShortNameAfterAnEqualsSignToo) {
  EXPECT_EQ(parse_options({"-n=2", "--", "true"}).text("nproc-per-node"), "2");
  EXPECT_EQ(parse_options({"-np", "2", "--", "true"}).text("nproc-per-node"), "2");
  EXPECT_EQ(refusal({"-n"}), "-n: needs a value: N|auto\n  fix: write -n=VALUE");
  EXPECT_EQ(refusal({"-x=2"}), "-x=2: unknown option\n  fix: a program's own options follow `--`: tprun … -- PROGRAM -x=2");
}

// `--log-dir "$LOGS"` where nobody has set LOGS.
TEST(Options, RefuseAnEmptyValue) {
  EXPECT_EQ(refusal({"--log-dir", ""}), "--log-dir: is empty\n  fix: give --log-dir a value, or leave it out");
  EXPECT_EQ(refusal({"--api-key="}), "--api-key: is empty\n  fix: give --api-key a value, or leave it out");
  EXPECT_EQ(refusal({"--override", ""}), "--override: is empty\n  fix: give --override a value, or leave it out");
  EXPECT_EQ(refusal({"--device="}), "--device: `` is not one of cpu|tpu\n  fix: for example --device=cpu");
  EXPECT_EQ(parse_options({"generate", "--system", "", "--prompt="}).text("system"), "");
}

TEST(Options, TakeTheLastOfTwoAndAllOfTheRepeatable) {
  const Options options = parse_options({"score", "--seed", "1", "--seed", "2", "--stop", "a", "--stop=b"});
  EXPECT_EQ(options.count("seed"), 2);
  EXPECT_THAT(options.texts("stop"), ElementsAre("a", "b"));
}

TEST(Options, HaveTheDefaultsOfTheTable) {
  const Options options = parse_options({"plan", "check"});
  EXPECT_EQ(options.action, "check");
  EXPECT_EQ(options.number("grace"), 10.0);
  EXPECT_EQ(options.text("dtype"), "auto");
  EXPECT_EQ(options.count("cache-len"), std::nullopt);
  EXPECT_FALSE(options.given("dtype"));
}

TEST(Options, UnderstandTrueAndFalseOfFlags) {
  EXPECT_FALSE(parse_options({"generate", "--do-sample=false"}).flag("do-sample"));
  EXPECT_FALSE(parse_options({"generate", "--do-sample", "false", "--seed", "1"}).flag("do-sample"));
  EXPECT_EQ(refusal({"generate", "--do-sample=maybe"}),
            "--do-sample: `maybe` is not true or false\n  fix: write --do-sample=true");
}

TEST(Options, OfferNearNames) {
  EXPECT_EQ(refusal({"--nproc-per-nod", "2"}), "--nproc-per-nod: unknown option\n  fix: did you mean `--nproc-per-node`?");
  EXPECT_EQ(refusal({"generate", "--max-new", "2"}), "--max-new: unknown option\n  fix: `tprun --help` lists the options");
  EXPECT_EQ(
      refusal({"genrate"}),
      "genrate: unknown command; the commands are generate, chat, serve, score, bench, devices, env, plan, kernels, tokenize, "
      "doctor, completion\n  fix: did you mean `generate`?");
  EXPECT_EQ(refusal({"plan", "chek"}),
            "plan chek: unknown; it is one of: check | show | suggest | aot\n  fix: did you mean `check`?");
  EXPECT_EQ(refusal({"generate", "--dtype", "bfloat"}),
            "--dtype: `bfloat` is not one of auto|float32|bfloat16|float16\n  fix: did you mean `bfloat16`?");
}

TEST(Options, RefuseBadValues) {
  EXPECT_EQ(refusal({"--threads", "two"}), "--threads: `two` is not a whole number, 0 or more\n  fix: write --threads=N");
  EXPECT_EQ(refusal({"--threads=-1"}), "--threads: `-1` is not a whole number, 0 or more\n  fix: write --threads=N");
  EXPECT_EQ(refusal({"--threads=99999999999999999999"}),
            "--threads: `99999999999999999999` is not a whole number, 0 or more\n  fix: write --threads=N");
  EXPECT_EQ(refusal({"--grace", "nan"}), "--grace: `nan` is not a number\n  fix: write --grace=SECONDS");
  EXPECT_EQ(refusal({"--prompt", "--seed", "1"}), "--prompt: needs a value: TEXT\n  fix: write --prompt=VALUE");
  EXPECT_EQ(refusal({"--model"}), "--model: needs a value: DIR|org/name\n  fix: write --model=VALUE");
  EXPECT_EQ(refusal({"generate", "hello"}),
            "hello: unexpected word after `generate`\n  fix: a value follows its option: --prompt \"…\"");
  EXPECT_EQ(refusal({"generate", "--", "true"}),
            "generate: a command and a program after `--` cannot both run\n  fix: leave out one of them");
}

TEST(Options, TellHowToRunAFile) {
  const std::string path = ::testing::TempDir() + "generate.py";
  std::ofstream(path) << "print(1)\n";
  EXPECT_EQ(refusal({path}), path + ": is a file, not a command of tprun\n  fix: tprun … -- python " + path);
}

TEST(Options, KnowTorchrunsNames) {
  EXPECT_EQ(refusal({"--standalone"}), "--standalone: unknown option\n  fix: leave it out: one host is the default");
}

// Help, docs and completion come from the same table: each must name every option that works.
TEST(OptionTable, IsWhatHelpDocsAndCompletionShow) {
  for (const OptionRow& row : option_table()) {
    const std::string name = "--" + std::string(row.name);
    EXPECT_THAT(option_docs(), HasSubstr("| `" + name));
    EXPECT_THAT(help_text(), HasSubstr("\n  " + name));
    EXPECT_THAT(completion_script("bash"), HasSubstr(name + " "));
    EXPECT_THAT(completion_script("zsh"), HasSubstr(name + " "));
  }
}

TEST(OptionTable, HasNoNameTwiceAndDefaultsOfTheRightType) {
  std::set<std::string_view> names;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.find('_'), std::string_view::npos);
    EXPECT_EQ(row.value_name.empty(), row.type == OptionType::kFlag) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    if (row.default_value.empty()) continue;
    EXPECT_NE(row.type, OptionType::kFlag);
    EXPECT_EQ(refusal({"generate", "--" + std::string(row.name) + "=" + std::string(row.default_value)}), "accepted");
  }
}

// The options of torchrun 2.13.
TEST(Options, AnswersEveryOptionOfTorchrun) {
  std::ifstream file(TPRUN_SOURCE_DIR "/README.md");
  const std::string readme((std::istreambuf_iterator<char>(file)), {});
  const std::string table = readme.substr(readme.find("## From torchrun"));
  for (const std::string name : {"nnodes",
                                 "nproc-per-node",
                                 "rdzv-backend",
                                 "rdzv-endpoint",
                                 "rdzv-id",
                                 "rdzv-conf",
                                 "standalone",
                                 "max-restarts",
                                 "monitor-interval",
                                 "start-method",
                                 "event-log-handler",
                                 "role",
                                 "module",
                                 "no-python",
                                 "run-path",
                                 "log-dir",
                                 "redirects",
                                 "tee",
                                 "local-ranks-filter",
                                 "duplicate-stdout-filters",
                                 "duplicate-stderr-filters",
                                 "node-rank",
                                 "master-addr",
                                 "master-port",
                                 "local-addr",
                                 "logs-specs",
                                 "numa-binding",
                                 "signals-to-handle",
                                 "shutdown-timeout",
                                 "virtual-local-rank"}) {
    EXPECT_NE(table.find("--" + name), std::string::npos) << name;
    try {
      parse_options({"--" + name, "1", "--", "true"});
    } catch (const Error& error) {
      EXPECT_EQ(error.text().find("lists the options"), std::string::npos) << error.text();
      EXPECT_EQ(error.text().find("did you mean"), std::string::npos) << error.text();
    }
  }
}

}  // namespace
}  // namespace tp
