/* A function of four bytes with the next one right behind it: no jump has room in it. */
__asm__(".text\n\t.globl too_near\n\t.type too_near, @function\ntoo_near:\n\t.cfi_startproc\n\t"
        "mov %edi, %eax\n\tnop\n\tret\n\t.cfi_endproc\n\t.size too_near, .-too_near\n\t"
        ".globl behind\n\t.type behind, @function\nbehind:\n\t.cfi_startproc\n\t"
        "lea 1(%rdi), %eax\n\tnop\n\tnop\n\tret\n\t.cfi_endproc\n\t.size behind, .-behind\n");
int too_near(int number);
int behind(int number);

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += behind(too_near(i));
    return sum == 0;
}
