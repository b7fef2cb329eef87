# Jumps to itself until it is killed: by SIGALRM after SECONDS, or never with 0.
        .globl _start
_start: mov     $SECONDS, %edi
        mov     $37, %eax               # alarm
        syscall
1:      jmp     1b
        .section .note.GNU-stack, "", @progbits
