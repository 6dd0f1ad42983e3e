#pragma once

namespace tp {

// From now on Ctrl-C (SIGINT) interrupts what waits and is noted, and does not end the program.
void note_interrupts();
// Was there one since the last call?
bool take_interrupt();

}  // namespace tp
