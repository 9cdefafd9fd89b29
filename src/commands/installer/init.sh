#!/bin/sh
# Installs a machine from memory: reads the seed of the installation, writes the image to one disk, adds the
# cloud-init seed, reports, and reboots. `shepherd redfish build-iso` makes it the first process of its
# initramfs. Kernel command line:
#   shepherd.seed=URL                                address of the seed, ending in a slash
#   shepherd.net=MAC,ADDRESS/LENGTH[,GATEWAY[,DNS]]  fixed address; absent: DHCP
# Unless the image's SHA-256 has been checked and the seed added, both ends of the disk are blank, so that no
# partial image boots: firmware restores the first table of partitions (GPT) from the old system's at the end.
set -u
export PATH=/bin
HEAD_MIB=4
disk='' touched='' seed='' net='' image='' sha256='' compression=none wanted='' seconds=7200
# shellcheck disable=SC1091 # Judged by itself.
. /disks.sh

say() { echo "shepherd: $*" >/dev/kmsg; }

report() { # done|failed [reason]
  tries=0
  until timeout 60 wget -q -O /dev/null --header 'Content-Type: text/plain' \
    --post-data "${2:-$1}" "$seed$1" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || return 1
    sleep 5
  done
}

restart() {
  sync
  reboot -f
  exit 1
}

blank_ends() {
  touched=yes
  dd if=/dev/zero of="$disk" bs=1M count=$HEAD_MIB conv=notrunc,fsync
  dd if=/dev/zero of="$disk" bs=512 count=2048 seek=$(($(cat "/sys/block/${disk#/dev/}/size") - 2048)) conv=notrunc,fsync
} 2>/dev/null

fail() {
  say "failed: $*"
  [ -z "$touched" ] || blank_ends
  [ -z "$seed" ] || report failed "$*"
  sleep 5
  restart
}

# Loads the drivers of all devices. Some drivers find devices that need other drivers.
load_drivers() {
  for _ in 1 2 3; do
    find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -qa 2>/dev/null
    sleep 1
  done
  modprobe -qa crc32c_generic sd_mod ext4 xfs vfat nls_cp437 nls_ascii 2>/dev/null
}

card_of() { # MAC address
  for path in /sys/class/net/*; do
    [ -e "$path/device" ] && [ "$(cat "$path/address")" = "$1" ] && echo "${path##*/}"
  done
}

use_fixed_address() {
  IFS=, read -r mac address gateway dns <<END
$net
END
  card=$(card_of "$mac" | head -n 1)
  [ -n "$card" ] || return 1
  ip link set "$card" up
  ip addr replace "$address" dev "$card" || return 1
  if [ -n "$gateway" ]; then
    ip route replace "$gateway" dev "$card"
    ip route replace default via "$gateway" dev "$card" || return 1
  fi
  if [ -n "$dns" ]; then echo "nameserver $dns" >/etc/resolv.conf; fi
}

use_dhcp() {
  for path in /sys/class/net/*; do
    card=${path##*/}
    [ -e "$path/device" ] || continue
    ip link set "$card" up
    udhcpc -i "$card" -f -n -q -t 4 -T 3 -s /init >/dev/null 2>&1 && return 0
  done
  return 1
}

fetch_seed() {
  for document in install user-data meta-data; do
    timeout 60 wget -q -O "/tmp/$document" "$seed$document" 2>/dev/null || return 1
  done
}

read_install() {
  while IFS= read -r line; do
    case $line in
    image=*) image=${line#*=} ;;
    sha256=*) sha256=${line#*=} ;;
    compression=*) compression=${line#*=} ;;
    disk=*) wanted=${line#*=} ;;
    seconds=*) seconds=${line#*=} ;;
    esac
  done </tmp/install
  [ -n "$image" ] || fail 'the seed names no image'
  [ ${#sha256} -eq 64 ] || fail 'the seed has no SHA-256 of the image'
}

find_disk() {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    [ -z "$(matching_disks "$wanted")" ] || break
    sleep 5
  done
  # Another controller may need longer to find the disk that makes the choice doubtful.
  [ -n "$wanted" ] || sleep 15
  # shellcheck disable=SC2046 # Words are counted.
  set -- $(matching_disks "$wanted")
  [ $# -eq 1 ] || fail "$# disks match ${wanted:-\"the only fixed disk\"}; this machine has: $(known_disks)"
  disk=/dev/$1
}

unpack() {
  case $compression in
  none) cat ;;
  gzip) gunzip -c ;;
  xz) unxz -c ;;
  zstd) zstd -dcq --long=31 ;;
  *) return 1 ;;
  esac
}

write_image() {
  rm -f /tmp/hashed /tmp/counted /tmp/broken
  # Nothing is lost while there is no image.
  if [ -z "$(timeout 60 wget -q -O - "$image" 2>/dev/null | head -c 1 | tr '\0' .)" ]; then
    echo 'the image cannot be fetched' >/tmp/broken
    return 1
  fi
  mkfifo /tmp/hashed /tmp/counted
  blank_ends
  sha256sum </tmp/hashed >/tmp/sha256 &
  wc -c </tmp/counted >/tmp/size &
  { timeout "$seconds" wget -q -O - "$image" || echo 'the download ended early' >>/tmp/broken; } |
    { unpack || echo 'the image could not be unpacked' >>/tmp/broken; } |
    tee /tmp/hashed /tmp/counted | {
    dd of=/tmp/head bs=1M count=$HEAD_MIB iflag=fullblock
    dd of="$disk" bs=1M seek=$HEAD_MIB iflag=fullblock conv=notrunc,fsync || echo 'the disk refused the image' >>/tmp/broken
    cat >/dev/null
  } 2>/dev/null
  wait
  [ ! -e /tmp/broken ]
}

check_image() {
  read -r found _ </tmp/sha256
  [ "$found" = "$sha256" ] || fail "the image has SHA-256 $found, not $sha256"
  dd if=/tmp/head of="$disk" bs=1M conv=notrunc,fsync 2>/dev/null || fail 'the disk refused the start of the image'
  sync
  echo 3 >/proc/sys/vm/drop_caches
  found=$(dd if="$disk" bs=1M iflag=fullblock,count_bytes count="$(cat /tmp/size)" 2>/dev/null | sha256sum)
  [ "${found%% *}" = "$sha256" ] || fail "$disk does not return the bytes that were written to it"
}

# For cloud-init, which would use DHCP otherwise.
network_config() {
  printf 'version: 2\nethernets:\n  uplink:\n    match: { macaddress: "%s" }\n' "$mac"
  printf '    addresses: ["%s"]\n' "$address"
  [ -z "$gateway" ] ||
    printf '    routes: [{ to: "%s", via: "%s", on-link: true }]\n' "$default_route" "$gateway"
  [ -z "$dns" ] || printf '    nameservers: { addresses: ["%s"] }\n' "$dns"
}

# In the first partition with an operating system. An image without one has its own way to its seed.
add_seed() {
  blockdev --rereadpt "$disk" 2>/dev/null
  sleep 2
  for path in "/sys/block/${disk#/dev/}" "/sys/block/${disk#/dev/}/${disk#/dev/}"*; do
    part=/dev/${path##*/}
    for kind in ext4 xfs; do
      mount -t "$kind" "$part" /mnt 2>/dev/null || continue
      if [ -e /mnt/etc/os-release ] || [ -h /mnt/etc/os-release ]; then
        target=/mnt/var/lib/cloud/seed/nocloud
        mkdir -p "$target"
        chmod 700 "$target"
        cp /tmp/user-data /tmp/meta-data "$target" || fail "the seed does not fit into $part"
        if [ -n "$net" ]; then network_config >"$target/network-config"; fi
        umount /mnt
        return
      fi
      umount /mnt
    done
  done
  say 'no file system with /etc/os-release: the image must fetch its seed itself'
}

# udhcpc calls this program, too.
case ${1-} in
bound | renew)
  # shellcheck disable=SC2154 # udhcpc sets them.
  ip addr replace "$ip/${mask:-24}" dev "$interface"
  for gateway in ${router-}; do
    ip route replace "$gateway" dev "$interface"
    ip route replace default via "$gateway" dev "$interface" && break
  done
  : >/etc/resolv.conf
  for server in ${dns-}; do echo "nameserver $server" >>/etc/resolv.conf; done
  exit 0
  ;;
deconfig | leasefail | nak) exit 0 ;;
esac

busybox mkdir -p /proc /sys /dev /tmp /mnt /etc
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
umask 077
# shellcheck disable=SC2013 # Words are wanted.
for word in $(cat /proc/cmdline); do
  case $word in
  shepherd.seed=*) seed=${word#*=} ;;
  shepherd.net=*) net=${word#*=} ;;
  esac
done
case $seed in http://* | https://*) ;; *)
  seed=''
  fail 'the kernel command line has no address of a seed: boot the ISO that a daemon serves'
  ;;
esac
load_drivers
default_route=0.0.0.0/0
case $net in *,*:*/*) default_route=::/0 ;; esac
tries=0
until if [ -n "$net" ]; then use_fixed_address; else use_dhcp; fi && fetch_seed; do
  tries=$((tries + 1))
  say "no seed yet: $(ip -o addr show scope global | tr -s ' \n' ' ')"
  [ "$tries" -lt 120 ] || {
    seed=''
    fail 'no network, or no daemon that knows this seed'
  }
  sleep 5
done
read_install
find_disk
say "writing the image to $disk"
for tries in 1 2 3; do
  write_image && break
  reason=$(head -n 1 /tmp/broken)
  [ "$tries" -lt 3 ] || fail "$reason"
  sleep 10
done
check_image
add_seed
say "$disk has the image"
sync
report 'done'
restart
