"""Functions whose instructions we wrote, and which windows each of them has."""

CODE = r"""
    .text
    .macro begin name
    .globl \name
    .type \name, @function
\name: .cfi_startproc
    .endm
    .macro finish name
    .cfi_endproc
    .size \name, . - \name
    .fill 8, 1, 0x90
    .endm
    .macro pushed
    .cfi_adjust_cfa_offset 8
    .endm
    .macro popped
    .cfi_adjust_cfa_offset -8
    .endm

    begin plain         # an entry, and a return in front of padding
    push %rbx
    pushed
    mov %rdi, %rbx
    lea 7(%rbx), %rax
    add $1000, %rax
    pop %rbx
    popped
    ret
    finish plain

    begin short         # four bytes: entry and exit share a window
    lea 1(%rdi), %eax
    ret
    finish short

    begin marked        # behind an endbr64
    endbr64
    mov $1000, %eax
    add $1000, %eax
    ret
    finish marked

    begin tight         # a return without padding: with instructions in front
    mov number(%rip), %eax
    add $8, %eax
    inc %eax
    ret
    .cfi_endproc
    .size tight, . - tight

    begin tail          # a jump to another function, and one where it is taken only
    test %rdi, %rdi
    mov $1000, %eax
    .byte 0x0f, 0x84    # je short, as it is where that is far
    .long short - . - 4
    add $1000, %eax
    jmp plain
    finish tail

    begin near          # a branch of two bytes, behind the entry's window
    mov $1000, %eax
    je short
    add $1000, %eax
    ret
    finish near

    begin labels        # a choice among places of its own, by a table that another one has
    test %edi, %edi
    jne 1f
    mov $1000, %eax
1:  mov (%rsi,%rdi,8), %rax
    jmp *%rax
here: mov $1000, %eax
    ret
    finish labels

    begin through       # the same through memory
    push %rbx
    pushed
    mov %rdi, %rbx
    call *8(%rdi)
    mov %rbx, %rax
    pop %rbx
    popped
    ret
    finish through

    begin stacked       # what the stack pointer says is another one then
    sub $8, %rsp
    pushed
    call *24(%rsp)
    add $8, %rsp
    popped
    ret
    finish stacked

    begin pointer       # tail calls that nobody can follow
    mov (%rdi), %rax
    test %rax, %rax
    jne 1f
    ret
1:  jmp *8(%rax)
    finish pointer

    begin faults        # where the load has faulted would not be known: the branch grows
    xor %eax, %eax
    je 1f
    mov (%rdi), %eax
1:  ret
    finish faults

    begin faults_not    # the same, but for a place that does not fault
    xor %eax, %eax
    je 1f
    mov number(%rip), %eax
    ret
1:  mov $1000, %eax
    ret
    finish faults_not

    begin loop          # each turn would be a call
    dec %rdi
    jne loop
    mov $1000, %eax
    ret
    finish loop

    begin branched      # something leads to its second instruction
    push %rbx
    pushed
1:  mov %rdi, %rbx
    dec %rdi
    jne 1b
    mov %rbx, %rax
    pop %rbx
    popped
    ret
    finish branched

    begin many          # too long to be entered and left in one window: the rest of it is free
    .rept 6
    .byte 0x0f, 0x84
    .long short - . - 4
    .endr
    test $1000, %eax
    test $2000, %eax
    .byte 0x0f, 0x84
    .long short - . - 4
    xor %eax, %eax
    ret
    .cfi_endproc
    .size many, . - many

    begin calls         # begins with a call: its return address is pushed
    sub $8, %rsp
    pushed
    call short
    mov $1000, %ecx
    add $8, %rsp
    popped
    ret
    finish calls

    begin switch        # a table: its places, and no exit but the return
    cmp $1, %edi
    ja 3f
    mov %edi, %edi
    lea table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
one: mov $1, %eax
    ret
two: mov $2, %eax
    ret
3:  mov $3, %eax
    ret
    finish switch

    begin ending        # as without optimisation: a place to return at, and no padding
    push %rbp
    pushed
    .cfi_offset 6, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register 6
    sub $16, %rsp
    mov %edi, -4(%rbp)
    test %edi, %edi
    je 1f
    mov -4(%rbp), %eax
    add $8, %eax
    mov %eax, -8(%rbp)
    mov %eax, %edi
    call short
1:  leave
    .cfi_def_cfa 7, 8
    ret
    .cfi_endproc
    .size ending, . - ending

    begin unknown       # targets that nobody can tell: only windows of one instruction
    push %rbx
    pushed
    mov (%rdi), %rax
    add %rsi, %rax
    jmp *%rax
    mov $1000, %ebx
    pop %rbx
    popped
    ret
    finish unknown

    begin by_word       # an address that stands in memory is marked, whosever it is
    push %rbx
    pushed
    mov (%rdi), %rax
    jmp *%rax
    mov $1000, %ebx
    pop %rbx
    popped
    ret
    finish by_word

    begin unbounded     # a table, and nothing says how many entries it has
    lea table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
    push %rbx
    pushed
    mov %rdi, %rbx
    pop %rbx
    popped
    ret
    .cfi_endproc
    .size unbounded, . - unbounded

    begin behind        # a window, but for the prefix that a branch goes around
    mov $1000, %eax
    test %edi, %edi
    je 1f + 1
1:  lock
    incl (%rsi)
    ret
    .cfi_endproc
    .size behind, . - behind

    begin joined        # another one jumps into its middle
    mov $1000, %eax
middle: add $1000, %eax
    ret
    finish joined

    begin joins
    mov $1000, %ecx
    jmp middle
    finish joins

    begin lone          # a return of one byte, which branches lead to: it is seen before
    mov $1000, %eax
    test %edi, %edi
    je 1f
    add $1000, %eax
    add $1000, %ecx
    cmp $9, %edi
    .byte 0x0f, 0x84
    .long 1f - . - 4
    add $1000, %eax
    inc %ecx
1:  ret
    .cfi_endproc
    .size lone, . - lone

    begin lone_table    # where a table may lead to it, nobody knows who comes
    cmp $1, %edi
    ja 3f
    mov %edi, %edi
    lea table_two(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
one_two: mov $1, %eax
    .byte 0x0f, 0x1f, 0
3:  ret
two_two: mov $2, %eax
    ret
    .cfi_endproc
    .size lone_table, . - lone_table

    begin popped_end    # a branch leads to where registers are taken back; a host with that frame
    push %rbx
    pushed
    mov %rdi, %rbx
    test %rdi, %rdi
    je 1f
    mov $1000, %eax
    mov $1000, %ecx
    call *8(%rdi)
1:  pop %rbx
    popped
    ret
    .cfi_endproc
    .size popped_end, . - popped_end

    begin hooked        # built with the hooks
    lea hooked(%rip), %rdi
    call __cyg_profile_func_enter@PLT
    ret
    finish hooked

    begin torn          # something in it is no instruction
    mov $1000, %eax
    jmp 1f
    .byte 0x06
1:  ret
    finish torn

    begin system        # a system call stays where it is
    mov $3, %al
    syscall
    ret
    finish system

    begin two_bytes     # no room: another function follows
    mov %edi, %eax
    ret
    .cfi_endproc
    .size two_bytes, . - two_bytes

    begin cold          # a piece of it is elsewhere, and returns there
    sub $8, %rsp
    pushed
    test %rdi, %rdi
    je cold.cold
    add $8, %rsp
    popped
    ret
    finish cold

    .type nowhere, @function
nowhere:                # no call frame information
    mov $1000, %eax
    ret
    .size nowhere, . - nowhere

    .section .text.unlikely, "ax"
    .type cold.cold, @function
cold.cold: .cfi_startproc
    .cfi_def_cfa_offset 16
    mov $3, %eax
    add $8, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size cold.cold, . - cold.cold

    .section .rodata
    .p2align 2
table: .long one - table, two - table
table_two: .long one_two - table_two, two_two - table_two
    .section .data.rel.ro
    .p2align 3
places: .quad here
    .section .rodata
number: .long 7
    .section .note.GNU-stack, "", @progbits
"""

# name: (entry, [exits])  kind:reason, or the reason alone
EXPECTED = {
    "plain": ("can", ["return"]),
    "short": ("can", ["return"]),
    "marked": ("can", ["return"]),
    "tight": ("can", ["return"]),
    "tail": ("can", ["conditional", "tail"]),
    "near": ("can", ["conditional:shared", "return"]),
    "labels": ("can", ["return"]),
    "through": ("can", ["return"]),
    "stacked": ("immovable", []),
    "pointer": ("can", ["return:shared", "tail"]),
    "faults": ("faults", []),
    "faults_not": ("can", ["return", "return"]),
    "loop": ("looped", []),
    "branched": ("branched", []),
    "many": ("can", ["conditional:shared", *["conditional"] * 6, "return", "host"]),
    "calls": ("can", ["return"]),
    "switch": ("can", ["return", "return", "return"]),
    "ending": ("can", ["return", "host"]),
    "unknown": ("computed", []),
    "by_word": ("can", ["return"]),
    "unbounded": ("can", ["return:computed"]),
    "behind": ("can", ["return:branched"]),
    "joined": ("can", ["return"]),
    "lone": ("can", ["return", "host", "conditional-return", "conditional-return"]),
    "lone_table": ("can", ["return:branched", "return"]),
    "popped_end": ("can", ["return", "host"]),
    "joins": ("can", ["tail:elsewhere"]),
    "hooked": ("hooked", []),
    "torn": ("undecoded", []),
    "system": ("immovable", []),
    "two_bytes": ("no-room", []),
    "cold": ("can", ["return", "return"]),
    "nowhere": ("no-frame", []),
}
