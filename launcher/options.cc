#include "launcher/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "launcher/option_table.h"
#include "sharding/error.h"
#include "sharding/near_names.h"

namespace tp {
namespace po = boost::program_options;
namespace {

const std::map<std::string, std::string>& short_names() {
  static const std::map<std::string, std::string> names = {
      {"-n", "nproc-per-node"}, {"-np", "nproc-per-node"}, {"-h", "help"}, {"-V", "version"}};
  return names;
}

// Options of torchrun and mpirun that have another name here, or none because nothing is left to set.
const std::map<std::string, std::string>& foreign_options() {
  static const std::map<std::string, std::string> fixes = {
      {"standalone", "leave it out: one host is the default"},
      {"rdzv-backend", "leave it out, or use --master-addr and --master-port"},
      {"rdzv-endpoint", "use --master-addr and --master-port"},
      {"rdzv-id", "leave it out: every job has an id of its own"},
      {"rdzv-conf", "leave it out, or use --timeout"},
      {"monitor-interval", "leave it out: the end of a rank is seen at once"},
      {"start-method", "leave it out: every rank is a program of its own"},
      {"event-log-handler", "use --log-dir DIR"},
      {"role", "leave it out: all ranks have one role"},
      {"module", "use `-- python -m MODULE`"},
      {"no-python", "use `-- PROGRAM`"},
      {"run-path", "use `-- python FILE`"},
      {"redirects", "use --log-dir DIR"},
      {"local-ranks-filter", "use --quiet, which leaves rank 0's standard output, and --log-dir DIR for the others"},
      {"duplicate-stdout-filters", "use --log-dir DIR, and grep"},
      {"duplicate-stderr-filters", "use --log-dir DIR, and grep"},
      {"local-addr", "use --interface NAME|SUBNET"},
      {"logs-specs", "use --log-dir DIR"},
      {"numa-binding", "leave it out: ranks get cores of their own, within NUMA nodes"},
      {"signals-to-handle", "leave it out: SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 reach every rank"},
      {"shutdown-timeout", "use --grace SECONDS"},
      {"virtual-local-rank", "leave it out: LOCAL_RANK is the number of the chip"},
      {"oversubscribe", "leave it out: more ranks than cores are always allowed"},
      {"bind-to", "leave it out, or use --threads"},
      {"np", "use --nproc-per-node N, or -np N"},
      {"world-size", "use --nproc-per-node N"},
      {"mca", "set OMPI_MCA_NAME=VALUE in the environment"},
      {"tensor-parallel-size", "use --nproc-per-node N"},
  };
  return fixes;
}

std::string normalized(std::string name) {
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

const OptionRow* find_row(const std::string& name) {
  for (const OptionRow& row : option_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  if (const auto foreign = foreign_options().find(name); foreign != foreign_options().end()) {
    throw Error("--" + name, "unknown option", foreign->second);
  }
  std::string fix = did_you_mean("--" + name, option_names());
  throw Error("--" + name, "unknown option", fix.empty() ? "`tprun --help` lists the options" : fix);
}

}  // namespace

// Turns arguments into words and `--name=value` tokens in the one spelling that Boost is given, so that abbreviations are
// never guessed and a value may look like anything.
class OptionParser {
 public:
  explicit OptionParser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Options parse() {
    while (next_ < arguments_.size() && !options_.has_program) take();
    take_words();
    validate();
    return std::move(options_);
  }

 private:
  void take() {
    const std::string argument = arguments_[next_++];
    if (argument == "--") {
      options_.has_program = true;
      options_.program.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(next_), arguments_.end());
      return;
    }
    const size_t equals = argument.find('=');
    const std::string spelled = argument.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = argument.substr(equals + 1);
    if (const auto name = short_names().find(spelled); name != short_names().end()) {
      take_option(*find_row(name->second), value, spelled);
    } else if (argument.starts_with("--")) {
      const std::string name_given = normalized(spelled.substr(2));
      const OptionRow* row = find_row(name_given);
      if (row == nullptr) refuse_unknown(name_given);
      take_option(*row, value, spelled);
    } else if (argument.size() > 1 && argument[0] == '-') {
      throw Error(argument, "unknown option", "a program's own options follow `--`: tprun … -- PROGRAM " + argument);
    } else {
      words_.push_back(argument);
    }
  }

  void take_option(const OptionRow& row, std::optional<std::string> value, const std::string& spelled) {
    const bool more = next_ < arguments_.size();
    if (row.type == OptionType::kFlag) {
      if (!value && more && (arguments_[next_] == "true" || arguments_[next_] == "false")) value = arguments_[next_++];
      if (!value) value = "true";
    } else if (!value) {
      // `--prompt --seed 1` is a forgotten value far more often than a value that begins with dashes.
      if (!more || arguments_[next_].starts_with("--")) {
        throw Error(spelled, "needs a value: " + std::string(row.value_name), "write " + spelled + "=VALUE");
      }
      value = arguments_[next_++];
    }
    if (row.type != OptionType::kTexts) seen_.erase(std::string(row.name));
    seen_[std::string(row.name)].push_back(*value);
  }

  void take_words() {
    if (words_.empty()) return;
    const std::string& word = words_[0];
    const CommandRow* command = find_command(word);
    if (command == nullptr) refuse_word(word);
    if (options_.has_program) {
      throw Error(word, "a command and a program after `--` cannot both run", "leave out one of them");
    }
    options_.command = word;
    size_t used = 1;
    if (!command->actions.empty()) used += take_action(*command);
    // The packages are what the command is about.
    for (; options_.command == "kernels" && used < words_.size(); ++used) seen_["kernels"].push_back(words_[used]);
    if (words_.size() > used) {
      throw Error(words_[used], "unexpected word after `" + word + "`", "a value follows its option: --prompt \"…\"");
    }
  }

  size_t take_action(const CommandRow& command) {
    std::vector<std::string> actions(command.actions.begin(), command.actions.end());
    std::string list;
    for (const std::string& action : actions) list += (list.empty() ? "" : " | ") + action;
    if (words_.size() < 2)
      throw Error(words_[0], "needs one of: " + list, "for example `tprun " + words_[0] + " " + actions[0] + "`");
    options_.action = words_[1];
    if (std::find(actions.begin(), actions.end(), options_.action) == actions.end()) {
      throw Error(words_[0] + " " + words_[1], "unknown; it is one of: " + list, did_you_mean(words_[1], actions));
    }
    return 1;
  }

  [[noreturn]] void refuse_word(const std::string& word) const {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(word, ignored)) {
      const bool python = word.ends_with(".py");
      throw Error(word, "is a file, not a command of tprun", "tprun … -- " + std::string(python ? "python " : "") + word);
    }
    std::vector<std::string> names;
    std::string list;
    for (const CommandRow& row : command_table()) {
      names.emplace_back(row.name);
      list += (list.empty() ? "" : ", ") + std::string(row.name);
    }
    std::string fix = did_you_mean(word, names);
    throw Error(word, "unknown command; the commands are " + list,
                fix.empty() ? "a program follows `--`: tprun … -- " + word : fix);
  }

  // Boost checks the types; what it throws is turned into the project's error here.
  void validate() {
    po::options_description description;
    for (const OptionRow& row : option_table()) add(description, row);
    for (const auto& [name, values] : seen_) {
      for (const std::string& value : values) validate_one(description, name, value);
    }
    options_.given_ = std::move(seen_);
  }

  static void add(po::options_description& description, const OptionRow& row) {
    const std::string name(row.name), help(row.help);
    switch (row.type) {
      case OptionType::kFlag:
        description.add_options()(name.c_str(), po::value<bool>(), help.c_str());
        break;
      case OptionType::kText:
      case OptionType::kTexts:
        description.add_options()(name.c_str(), po::value<std::string>(), help.c_str());
        break;
      case OptionType::kCount:
        description.add_options()(name.c_str(), po::value<int64_t>(), help.c_str());
        break;
      case OptionType::kNumber:
        description.add_options()(name.c_str(), po::value<double>(), help.c_str());
        break;
    }
  }

  static void validate_one(const po::options_description& description, const std::string& name, const std::string& value) {
    const OptionRow& row = option_row(name);
    const std::string where = "--" + name;
    try {
      if (row.type != OptionType::kText && row.type != OptionType::kTexts) {
        if (value.empty() || std::isspace(static_cast<unsigned char>(value[0]))) throw po::error("empty");
        po::variables_map values;
        po::store(po::command_line_parser(std::vector<std::string>{where + "=" + value})
                      .options(description)
                      .style(po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent)
                      .run(),
                  values);
        if (row.type == OptionType::kCount && values[name].as<int64_t>() < 0) throw po::error("negative");
        if (row.type == OptionType::kNumber && !(std::isfinite(values[name].as<double>()))) throw po::error("not finite");
      }
    } catch (const po::error&) {
      const std::string kind = row.type == OptionType::kFlag    ? "true or false"
                               : row.type == OptionType::kCount ? "a whole number, 0 or more"
                                                                : "a number";
      throw Error(where, "`" + value + "` is not " + kind,
                  "write " + where + "=" + (row.type == OptionType::kFlag ? "true" : std::string(row.value_name)));
    }
    if (!row.choices.empty() && std::find(row.choices.begin(), row.choices.end(), value) == row.choices.end()) {
      std::vector<std::string> choices(row.choices.begin(), row.choices.end());
      const std::string near = did_you_mean(value, choices);
      throw Error(where, "`" + value + "` is not one of " + std::string(row.value_name),
                  near.empty() ? "for example " + where + "=" + choices[0] : near);
    }
    // `--log-dir "$DIR"` with a variable that nobody set: taking it for an option that was left out would lose the logs.
    const bool text_of_its_own = name == "prompt" || name == "system";
    if (value.empty() && !text_of_its_own) throw Error(where, "is empty", "give " + where + " a value, or leave it out");
  }

  const std::vector<std::string>& arguments_;
  size_t next_ = 0;
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>, std::less<>> seen_;
  Options options_;
};

Options parse_options(const std::vector<std::string>& arguments) {
  return OptionParser(arguments).parse();
}

bool Options::given(std::string_view name) const {
  option_row(name);
  return given_.contains(name);
}

bool Options::flag(std::string_view name) const {
  if (option_row(name).type != OptionType::kFlag) throw std::logic_error("not a flag: " + std::string(name));
  const auto value = given_.find(name);
  return value != given_.end() && (value->second.back() == "true" || value->second.back() == "1" ||
                                   value->second.back() == "yes" || value->second.back() == "on");
}

std::string Options::text(std::string_view name) const {
  const auto value = given_.find(name);
  return value != given_.end() ? value->second.back() : std::string(option_row(name).default_value);
}

std::optional<int64_t> Options::count(std::string_view name) const {
  if (option_row(name).type != OptionType::kCount) throw std::logic_error("not a count: " + std::string(name));
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  return std::stoll(value);
}

std::optional<double> Options::number(std::string_view name) const {
  if (option_row(name).type != OptionType::kNumber) throw std::logic_error("not a number: " + std::string(name));
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  return std::stod(value);
}

const std::vector<std::string>& Options::texts(std::string_view name) const {
  static const std::vector<std::string> none;
  if (option_row(name).type != OptionType::kTexts) throw std::logic_error("not repeatable: " + std::string(name));
  const auto values = given_.find(name);
  return values != given_.end() ? values->second : none;
}

}  // namespace tp
