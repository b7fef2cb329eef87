# 15 instructions, and 13 in a child, which waits until its parent sleeps and sends it a signal that
# is ignored.
        .globl _start
_start: mov     $39, %eax               # getpid
        syscall
        mov     %eax, %ebx
        mov     $57, %eax               # fork
        syscall
        test    %eax, %eax
        jz      child
        mov     $35, %eax               # nanosleep
        lea     time(%rip), %rdi
        xor     %esi, %esi
        syscall
        jmp     done
child:  mov     $35, %eax               # nanosleep
        lea     short(%rip), %rdi
        xor     %esi, %esi
        syscall
        mov     %ebx, %edi
        mov     $23, %esi               # SIGURG
        mov     $62, %eax               # kill
        syscall
done:   xor     %edi, %edi
        mov     $231, %eax              # exit_group
        syscall
time:   .quad   0, 600000000
short:  .quad   0, 200000000
        .section .note.GNU-stack, "", @progbits
