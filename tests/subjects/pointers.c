/* A program without a C library, to be compiled without call frame information: getppid three
 * functions deep, then exit. */
static long call(long number, long argument) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(argument) : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline)) long inner(void) {
    return call(110, 0) + 1;
}

__attribute__((noinline)) long middle(void) {
    return inner() + 1;
}

__attribute__((noinline)) long outer(void) {
    return middle() + 1;
}

__attribute__((naked)) void _start(void) {
    __asm__("xor %ebp, %ebp\n\tcall begin");
}

__attribute__((used)) void begin(void) {
    outer();
    call(231, 0);
}
