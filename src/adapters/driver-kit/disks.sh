# shellcheck shell=sh
# Disks of a machine, for the installer and for a look before it.

# Names of a disk in one form: kernel name, serial number, WWN.
plain() { tr '[:upper:]' '[:lower:]' | sed 's/^ *//; s/ *$//; s/^wwn-//; s/^0x//; s/^naa\.//; s/^eui\.//'; }
names_of() {
  (
    cd "/sys/block/$1" || exit
    echo "$1"
    cat serial device/serial wwid device/wwid 2>/dev/null
    dd if=device/vpd_pg80 bs=1 skip=4 2>/dev/null
    echo
  ) | plain
}

is_disk() {
  case $1 in loop* | ram* | sr* | fd* | dm-* | md* | zram* | nbd* | nvme*c*n*) return 1 ;; esac
  cd "/sys/block/$1" && [ "$(cat size)" -gt 0 ] && [ "$(cat ro)" -eq 0 ] && [ -e device ]
}

# Nobody may have to guess: sticks and the virtual drives of a BMC count only if they are named.
is_fixed() {
  [ "$(cat "/sys/block/$1/removable")" -eq 0 ] || return 1
  case $(readlink -f "/sys/block/$1") in */usb[0-9]*) return 1 ;; esac
}

# The disk with this serial number, WWN or kernel name; without one, all fixed disks.
matching_disks() {
  name=$(printf '%s\n' "$1" | plain)
  [ -n "$name" ] || [ -z "$1" ] || return
  for path in /sys/block/*; do
    each=${path##*/}
    (is_disk "$each") || continue
    if [ -n "$name" ]; then names_of "$each" | grep -qxF -e "$name"; else is_fixed "$each"; fi &&
      echo "$each"
  done
}

# A name that is this disk's alone, also for a kernel that finds disks in another order.
lasting_name() {
  names_of "$1" | sed 1d | grep . | while IFS= read -r each; do
    if [ "$(matching_disks "$each")" = "$1" ]; then printf '%s\n' "$each" && break; fi
  done
}

known_disks() {
  for path in /sys/block/*; do
    (is_disk "${path##*/}") && names_of "${path##*/}" | grep . | tr '\n' ' ' && echo ';'
  done | tr -d '\n'
}
