/* Dies by the signal whose number is its argument. */
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc > 1)
        raise(atoi(argv[1]));
    return 0;
}
