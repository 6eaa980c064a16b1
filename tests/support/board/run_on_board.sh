#!/bin/sh
# Links C sources, objects and archives with newlib and runs the program on a board that QEMU emulates. Prints what it prints;
# files that it opens are this machine's. Exit status: the program's; 124 after $SECONDS_ON_BOARD seconds (60), 99 after a fault.
#   run_on_board.sh cortex-m4|cortex-m7|cortex-m55 FOLDER [OPTION OR FILE]...
# FOLDER gets program.elf. $PLUGIN is a plug-in of QEMU.
set -eu
cpu=$1 folder=$2
shift 2
board=$(dirname "$0")
case $cpu in
cortex-m4) machine=mps2-an386 unit=fpv4-sp-d16 ;;
cortex-m7) machine=mps2-an500 unit=fpv5-sp-d16 ;;
cortex-m55) machine=mps3-an547 unit=auto ;;
*)
    echo "$0: no board for $cpu" >&2
    exit 2
    ;;
esac
arm-none-eabi-gcc -mcpu="$cpu" -mthumb -mfloat-abi=hard -mfpu=$unit -O2 -nostartfiles -Wl,-z,noexecstack --specs=rdimon.specs -L "$board" \
    -T "$board/$cpu.ld" "$board/start.c" "$@" -lm -o "$folder/program.elf"
exec timeout "${SECONDS_ON_BOARD:-60}" qemu-system-arm -machine $machine -nographic -monitor none -serial none ${PLUGIN:+-plugin "$PLUGIN"} \
    -semihosting-config enable=on,target=native -kernel "$folder/program.elf" </dev/null
