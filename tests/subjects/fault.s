# Two instructions, and one that is none.
        .globl _start
_start: nop
        nop
        ud2
        .section .note.GNU-stack, "", @progbits
