/* Ignores or blocks SIGTRAP in main, and is still to survive one afterwards. */
#include <signal.h>
#include <stdlib.h>

static void late(void) {
    raise(SIGTRAP);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigprocmask(SIG_BLOCK, &set, 0);
    } else {
        signal(SIGTRAP, SIG_IGN);
    }
    atexit(late);
    return 4;
}
