/* Loads two libraries one after the other, and calls `work` in each. Exits with 0 when the second one
   lies where the first one was. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static uintptr_t call(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        exit(2);
    void *found = dlsym(library, "work");
    int (*work)(void) = (int (*)(void))found;
    work();
    dlclose(library);
    return (uintptr_t)found;
}

int main(int argc, char **argv) {
    return argc != 3 || call(argv[1]) != call(argv[2]);
}
