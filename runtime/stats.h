#pragma once

#include <string>

#include "runtime/collectives.h"
#include "runtime/engine.h"
#include "runtime/generate.h"
#include "runtime/rank_model.h"

namespace tp {

// Writes the --stats file (cli.md) on rank 0 with every rank's numbers. Collective. Throws Error when it cannot be written.
void write_stats(const std::string& path, const std::string& device, const RankModel& model, const Engine& engine,
                 const GenerateTimes& times, Communicator& communicator);

}  // namespace tp
