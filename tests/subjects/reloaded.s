# A library of one function, of WORK instructions.
        .globl  work
        .type   work, @function
work:   .rept   WORK - 1
        nop
        .endr
        ret
        .size   work, .-work
        .section .note.GNU-stack, "", @progbits
