/* Prints a line. */
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 0;
}
