/* One line to stdout by write(2): the C library adds no buffering of its own. */
#include <unistd.h>

int main(void)
{
	static const char line[] = "hello, world\n";
	ssize_t size = sizeof line - 1;

	return write(1, line, size) != size;
}
