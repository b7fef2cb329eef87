//! `entry!`: from the kernel's first instruction to `main`.

/// Makes a function the program's first.
///
/// `entry!(main)` takes a `fn main(stack: Stack) -> u8`: it gets the initial stack and gives the
/// exit status. `entry!(exit 0)` is for a program whose whole work is its status: three
/// instructions, no `main`, no stack.
///
/// `entry!(main, room: end + 4)` is for a program that makes its stack larger downwards before
/// anything uses it: by the number of 32 bits, a multiple of 16, that is 4 bytes behind the static
/// `end`. What lies there, between the initial stack and the first function's frame, is free.
///
/// It defines `_start`, which the kernel enters and which the layout puts first in the file, and
/// the crate's panic handler: a panic exits with 134, the status a shell reports for `abort`.
/// A minimal program has no room to say why; the kit or a debugger shows where.
///
/// A program has one entry. Without it there is no `_start`, which the layouts refuse to link.
/// It cannot stand in a crate that has the standard library, which has a panic handler of its
/// own: the error E0152 about `panic_impl` means that `#![no_std]` is missing, or that a
/// dependency brings std in.
#[macro_export]
macro_rules! entry {
    (exit $status:literal) => {
        /// Where the kernel enters.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".text.start")]
        unsafe extern "C" fn _start() -> ! {
            ::core::arch::naked_asm!(
                $crate::__exit!(),
                status = const {
                    let status: u8 = $status;
                    status
                },
                exit_group = const $crate::arch::number::EXIT_GROUP,
            )
        }
        $crate::entry!(@panic);
    };
    (@panic) => {
        #[panic_handler]
        fn panic(_: &::core::panic::PanicInfo) -> ! {
            $crate::call::exit_group(134)
        }
    };
    ($main:path) => {
        $crate::entry!(@start $main, $crate::__start!(),);
    };
    ($main:path, room: $base:ident + $offset:expr) => {
        $crate::entry!(
            @start $main,
            $crate::__start_below!(),
            base = sym $base,
            offset = const $offset,
        );
    };
    (@start $main:path, $text:expr, $($operand:tt)*) => {
        /// Where the kernel enters.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".text.start")]
        unsafe extern "C" fn _start() -> ! {
            ::core::arch::naked_asm!(
                $text,
                start = sym start,
                exit_group = const $crate::arch::number::EXIT_GROUP,
                $($operand)*
            )
        }

        /// What `_start` calls.
        unsafe extern "C" fn start(top: *const usize) -> u8 {
            let main: fn($crate::Stack) -> u8 = $main;
            // SAFETY: `_start` passes the stack pointer that the kernel entered it with.
            main(unsafe { $crate::Stack::new(top) })
        }
        $crate::entry!(@panic);
    };
}
