/* One line to stdout by stdio, which asks what stdout is before it writes. */
#include <stdio.h>

int main(void)
{
	return puts("hello, world") < 0;
}
