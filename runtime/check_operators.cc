#include "runtime/check_operators.h"

#include <cstdio>
#include <iterator>

#include "runtime/aot_model.h"
#include "runtime/eager_kernels.h"
#include "runtime/norm_form.h"
#include "runtime/relayed_ops.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Computes nothing: looks at the norms of a model.
class NormForms : public RelayedOps {
 public:
  NormForms(const ParameterTable& table, EagerKernels& kernels) : table_(table), kernels_(kernels) {}

  Value norm(const Value&, ParamId weight, ParamId bias, NormKind kind, double, int64_t group) override {
    // Without groups the weight has as many features as are normalized together.
    const int64_t size = group == 0 && weight != kNoParam ? table_.at(weight).elements() : group;
    kernels_.takes_norm(norm_form(table_, weight, bias, kind, size));
    return nullptr;
  }

 private:
  Value relay(const char*, std::initializer_list<Value>, const Operation&) override { return nullptr; }

  const ParameterTable& table_;
  EagerKernels& kernels_;
};

void check(const AotRequest& request) {
  EagerKernels kernels(request.kernels);
  if (request.task != AotRequest::Task::kTrace) return;
  AotRequest plain = request;
  plain.kernels.clear();  // those are for programs
  const AotModel model(plain, static_cast<int>(request.tp_size));
  NormForms forms(model.table(), kernels);
  model.decoder().forward(forms, LogitsWanted::kLast);
}

}  // namespace

int check_operators(std::istream& request) {
  try {
    check(aot_request_from_json(std::string(std::istreambuf_iterator<char>(request), {})));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
    return kExitRefused;
  }
}

}  // namespace tp
