#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tp {

// Every process of a job carries this variable, whoever its parent is by now.
inline constexpr const char* kJobIdVariable = "TPRUN_JOB_ID";

// Processes of this host that were started with TPRUN_JOB_ID=job_id, except the caller.
std::vector<pid_t> processes_of_job(const std::string& job_id);

// Kills them until none is left, for at most `timeout_s`. Returns whether none is left.
bool kill_processes_of_job(const std::string& job_id, double timeout_s);

}  // namespace tp
