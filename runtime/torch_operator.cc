#include "runtime/torch_operator.h"

#include <ATen/ATen.h>
#include <dlfcn.h>

#include <filesystem>
#include <optional>

#include "sharding/error.h"
#include "sharding/near_names.h"

namespace tp {
namespace {

std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown" : text;
}

// A directory that this process has torch from.
std::filesystem::path torch_directory() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&c10::Dispatcher::realSingleton), &info);
  return std::filesystem::path(info.dli_fname == nullptr ? "" : info.dli_fname).parent_path();
}

// The libraries that it is linked to; torch's own come from where this process has torch. A symbol that nobody has would end
// the process when it is first called, since symbols are looked up late, so all are looked for now.
void require_symbols(const OperatorBuild& build) {
  const std::string where = build.library.string();
  std::vector<void*> handles{RTLD_DEFAULT};
  for (const std::string& name : build.elf.needed) {
    void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) handle = dlopen((torch_directory() / name).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) handle = dlopen((build.library.parent_path() / name).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) throw Error(where, "needs " + name + ": " + last_dl_error(), "install it, or leave the kernel out");
    handles.push_back(handle);
  }
  for (const std::string& symbol : build.elf.undefined) {
    if (symbol.starts_with("Py")) continue;  // of its entry for Python (operator_build.h)
    bool found = false;
    for (void* handle : handles) found = found || dlsym(handle, symbol.c_str()) != nullptr;
    if (!found) {
      throw Error(where,
                  "needs `" + symbol + "`, which nothing here has: it was built for another torch than " TPRUN_TORCH_VERSION,
                  "a version of the kernel with a build for this torch");
    }
  }
}

std::optional<c10::OperatorHandle> find_operator(const OperatorBuild& build, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (auto found = c10::Dispatcher::singleton().findSchema({build.id + "::" + name, ""})) return found;
  }
  return std::nullopt;
}

// The operators in the library's namespace.
std::vector<std::string> operators_of(const std::string& id) {
  std::vector<std::string> names;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.starts_with(id + "::")) names.push_back(name.name.substr(id.size() + 2));
  }
  return names;
}

// Whether the arguments are a norm's, from the `first` one on.
bool takes_norm(const c10::FunctionSchema& schema, size_t first) {
  const auto& arguments = schema.arguments();
  if (arguments.size() < first + 3) return false;
  for (size_t i = first + 3; i < arguments.size(); ++i) {
    if (!arguments[i].default_value()) return false;
  }
  const auto is_tensor = [&](size_t i) { return c10::TensorType::get()->isSubtypeOf(*arguments[i].type()); };
  const auto writes = [&](size_t i) { return arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite(); };
  return is_tensor(first) && is_tensor(first + 1) && arguments[first + 2].type()->kind() == c10::TypeKind::FloatType &&
         !writes(first) && !writes(first + 1) && (first == 0 || (is_tensor(0) && writes(0)));
}

}  // namespace

NormOperator::NormOperator(std::string where, c10::OperatorHandle handle)
    : where_(std::move(where)), name_(handle.operator_name().name), operator_(handle) {
  const c10::FunctionSchema& schema = operator_.schema();
  const bool returns_tensor = schema.returns().size() == 1 && schema.returns()[0].type()->kind() == c10::TypeKind::TensorType;
  writes_out_ = takes_norm(schema, 1);
  if (writes_out_ ? !schema.returns().empty() && !returns_tensor : !takes_norm(schema, 0) || !returns_tensor) {
    std::ostringstream text;
    text << schema;
    throw Error(where_, "`" + text.str() + "` does not fit norm",
                "an operator (Tensor x, Tensor weight, float eps) -> Tensor or (Tensor! out, Tensor x, Tensor weight, float "
                "eps) -> ()");
  }
  if (!operator_.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU))
    throw Error(where_, "`" + name_ + "` has no implementation for the CPU", "leave it out with --device cpu");
}

NormOperator NormOperator::load(const OperatorBuild& build, const std::vector<std::string>& names) {
  const std::string where = build.library.string();
  require_symbols(build);
  try {
    // Late look-up: the entry for Python stays without its symbols.
    if (dlopen(build.library.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
      throw Error(where, "cannot be loaded: " + last_dl_error(), "get the kernel again, or leave it out");
    const auto found = find_operator(build, names);
    if (!found) {
      const std::string has = quoted_list(operators_of(build.id));
      throw Error(where,
                  "registers no operator " + quoted_list(names) + " in " + build.id + (has.empty() ? "" : "; it has " + has),
                  "name it in a plan: kernels: {norm: {kernel: DIR, operator: NAME}}");
    }
    return {where, *found};
  } catch (const c10::Error& error) {
    throw Error(where, error.what_without_backtrace(), "get the kernel again, or leave it out");
  }
}

at::Tensor NormOperator::operator()(const at::Tensor& x, const at::Tensor& weight, double eps) const {
  at::Tensor result = writes_out_ ? at::empty_like(x) : at::Tensor();
  try {
    c10::Stack stack;
    if (writes_out_) stack.emplace_back(result);
    stack.emplace_back(x);
    stack.emplace_back(weight);
    stack.emplace_back(eps);
    for (size_t i = stack.size(); i < operator_.schema().arguments().size(); ++i)
      stack.push_back(*operator_.schema().arguments()[i].default_value());
    operator_.callBoxed(stack);
    if (!writes_out_) result = stack.at(0).toTensor();
  } catch (const c10::Error& error) {
    throw Error(where_, "`" + name_ + "`: " + error.what_without_backtrace());
  }
  if (result.sizes() != x.sizes() || result.scalar_type() != x.scalar_type() || !result.is_contiguous())
    throw Error(where_, "`" + name_ + "` gives a result of another shape or dtype than its operand");
  return result;
}

}  // namespace tp
