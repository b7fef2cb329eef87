# Ten instructions of i386, the fifth of which writes; one CPUID, behind what is a prefix in 64-bit mode.
        .globl _start
_start: mov     $4, %eax                # write
        mov     $1, %ebx
        mov     $text, %ecx
        mov     $1, %edx
        int     $0x80
        .byte   0x48                    # dec %eax; REX.W in 64-bit mode
        cpuid
        mov     $1, %eax                # exit
        xor     %ebx, %ebx
        int     $0x80
text:   .ascii  "a"
        .section .note.GNU-stack, "", @progbits
