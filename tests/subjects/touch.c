/* Touches so many megabytes of memory, and so has them. */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 0) << 20;
	volatile char *memory = malloc(bytes + 1);

	for (size_t at = 0; memory && at < bytes; at += 4096)
		memory[at] = 1;
	return memory == NULL;
}
