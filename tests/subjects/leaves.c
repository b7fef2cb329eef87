/* Ends at once, and leaves a child that does not: that writes into the file OUT first. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    if (fork() != 0)
        return 3;
    usleep(100000);
    int out = open(getenv("OUT"), O_WRONLY | O_CREAT, 0600);
    return write(out, "done\n", 5) != 5;
}
