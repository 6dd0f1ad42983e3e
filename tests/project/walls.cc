#include "tests/project/walls.h"

#include <algorithm>
#include <functional>

namespace tp {
namespace {

bool starts_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return name.starts_with(p); });
}

bool is_torch(const std::string& name) {
  return starts_with_any(name, {"torch/", "ATen/", "c10/", "caffe2/"});
}
bool is_mpi(const std::string& name) {
  return name == "mpi.h" || name == "mpi-ext.h";
}
bool is_pjrt(const std::string& name) {
  return name.find("pjrt") != std::string::npos;
}

std::string stem(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

// A room or library: which files belong to it, and what none of them may come to know.
struct Wall {
  std::string name;
  std::function<bool(const std::string& path)> inside;
  std::function<bool(const std::string& include)> forbidden;
};

// True for the .cc files of a library and the headers of the same names.
std::function<bool(const std::string&)> files_of(const std::set<std::string>& sources) {
  std::set<std::string> stems;
  for (const std::string& source : sources) stems.insert(stem(source));
  return [stems](const std::string& path) { return stems.contains(stem(path)); };
}

std::vector<Wall> walls_of(const SourceTree& tree) {
  const auto in_text = files_of(sources_of_target(tree, "runtime/text.cmake", "tp_text"));
  const auto in_model = files_of(sources_of_target(tree, "runtime/model.cmake", "tp_model"));
  const auto backend = [](const std::string& i) { return is_torch(i) || is_mpi(i); };
  return {
      {"sharding", [](const std::string& p) { return p.starts_with("sharding/"); },
       [=](const std::string& i) {
         return backend(i) || is_pjrt(i) || starts_with_any(i, {"runtime/", "launcher/", "boost/"});
       }},
      {"runtime", [](const std::string& p) { return p.starts_with("runtime/"); },
       [](const std::string& i) { return i.starts_with("launcher/"); }},
      {"tp_text", in_text, [=](const std::string& i) { return backend(i) || is_pjrt(i); }},
      {"tp_model", in_model, [=](const std::string& i) { return backend(i) || is_pjrt(i); }},
      {"launcher", [](const std::string& p) { return p.starts_with("launcher/"); },
       [=](const std::string& i) {
         // Of the runtime it links tp_text alone; a header without a source of its own is declarations that tp_text uses.
         const bool other_library = i.starts_with("runtime/") && !in_text(i) && tree.contains(stem(i) + ".cc");
         return backend(i) || is_pjrt(i) || other_library;
       }},
  };
}

// Files that alone may include or call something, wherever it comes from.
struct Reserve {
  std::string what;
  std::function<bool(const std::string& path, const std::string& content)> uses;
  std::function<bool(const std::string& path, const std::string& content)> may;
};

bool includes_directly(const std::string& content, const std::function<bool(const std::string&)>& which) {
  const std::vector<std::string> names = includes_of(content);
  return std::any_of(names.begin(), names.end(), which);
}

bool is_main(const std::string& content) {
  return content.find("\nint main(") != std::string::npos;
}
bool is_option_file(const std::string& path) {
  return path.substr(path.rfind('/') + 1).find("option") != std::string::npos;
}

std::vector<Reserve> reserves() {
  return {
      {"<mpi.h> is for runtime/collectives_mpi* and mains",
       [](const std::string&, const std::string& c) { return includes_directly(c, is_mpi); },
       [](const std::string& p, const std::string& c) { return p.starts_with("runtime/collectives_mpi") || is_main(c); }},
      {"Boost.Program_options is for option files",
       [](const std::string&, const std::string& c) {
         return includes_directly(c, [](const std::string& i) { return i.starts_with("boost/program_options"); });
       },
       [](const std::string& p, const std::string&) { return is_option_file(p); }},
      {"getenv is for option files",
       [](const std::string& p, const std::string& c) {
         return !p.starts_with("tests/") && c.find("getenv(") != std::string::npos;
       },
       [](const std::string& p, const std::string&) { return is_option_file(p); }},
  };
}

}  // namespace

std::vector<std::string> broken_walls(const SourceTree& tree) {
  std::vector<std::string> broken;
  const std::vector<Wall> walls = walls_of(tree);
  for (const auto& [path, content] : tree) {
    if (!is_cpp(path)) continue;
    for (const Wall& wall : walls) {
      if (!wall.inside(path)) continue;
      for (const std::string& include : included_by(tree, path)) {
        if (wall.forbidden(include))
          broken.push_back(path + ": includes <" + include + ">, which " + wall.name + " must not know");
      }
    }
    for (const Reserve& reserve : reserves()) {
      if (reserve.uses(path, content) && !reserve.may(path, content)) broken.push_back(path + ": " + reserve.what);
    }
  }
  return broken;
}

}  // namespace tp
