# Builds for RISC-V on Linux with Debian's cross compiler (g++-riscv64-linux-gnu); see aarch64.cmake.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64-static -cpu rv64,v=true,vlen=128 -L /usr/riscv64-linux-gnu)
