# shellcheck shell=sh
# Tells whether this machine can be installed from its own system: lines of a name and a value. Changes nothing.
# Environment: `wanted` disk, `image` and `seed` URLs, `secret` path. Begins with disks.sh.
# shellcheck disable=SC2154
PATH=$PATH:/usr/sbin:/sbin
tell() { printf '%s %s\n' "$1" "$2"; }
# Whatever the answer is, except none.
reaches() { # URL, and whether its content must be there
  if command -v curl >/dev/null; then
    curl -s ${2:+-f} -o /dev/null -r 0-0 -m 20 "$1"
  elif command -v wget >/dev/null; then
    timeout 20 wget -q --spider "$1" || [ -z "${2-}" ]
  fi && echo yes
}

tell hostname "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)"
if [ -f "$secret" ]; then tell secret "$(cat "$secret")"; fi
tell user "$(id -u)"
tell container "$({ tr '\0' '\n' </proc/1/environ | sed -n 's/^container=//p'; ls /.dockerenv; } 2>/dev/null)"
tell machine "$(uname -m)"
tell kexec "$(command -v kexec)"
tell disabled "$(cat /proc/sys/kernel/kexec_load_disabled 2>/dev/null)"
tell lockdown "$(cat /sys/kernel/security/lockdown 2>/dev/null)"
tell memory "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
disk=$(matching_disks "$wanted")
tell disk "$(echo "$disk" | tr '\n' ' ')"
tell lasting "$(lasting_name "$disk")"
tell disks "$(known_disks)"
route=$(ip -4 route show default 2>/dev/null | head -n 1)
card=$(echo "$route" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
tell card "$card"
tell gateway "$(echo "$route" | sed -n 's/.* via \([^ ]*\).*/\1/p')"
if [ -n "$card" ] && [ -e "/sys/class/net/$card/device" ]; then
  tell mac "$(cat "/sys/class/net/$card/address")"
  tell address "$(ip -4 -o addr show dev "$card" scope global | sed -n 's/.* inet \([^ ]*\) .*/\1/p' | head -n 1)"
fi
tell dns "$(cat /run/systemd/resolve/resolv.conf /etc/resolv.conf 2>/dev/null |
  sed -n 's/^nameserver \([0-9.]*\)$/\1/p' | grep -v '^127\.' | head -n 1)"
tell image "$(reaches "$image" whole)"
tell seed "$(reaches "$seed")"
exit 0
