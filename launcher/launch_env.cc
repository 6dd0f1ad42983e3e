#include "launcher/launch_env.h"

namespace tp {

Environment rank_environment(const RankHello& place, const std::string& master_addr, int master_port) {
  return {{"RANK", std::to_string(place.rank)},
          {"LOCAL_RANK", std::to_string(place.local_rank)},
          {"WORLD_SIZE", std::to_string(place.world_size)},
          {"LOCAL_WORLD_SIZE", std::to_string(place.local_size)},
          {"GROUP_RANK", "0"},
          {"MASTER_ADDR", master_addr},
          {"MASTER_PORT", std::to_string(master_port)}};
}

}  // namespace tp
