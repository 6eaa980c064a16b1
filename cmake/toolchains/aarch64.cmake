# Builds for AArch64 Linux with Debian's cross compiler (g++-aarch64-linux-gnu), which finds header-only libraries in
# /usr/include; programs run here by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -cpu cortex-a76 -L /usr/aarch64-linux-gnu)
