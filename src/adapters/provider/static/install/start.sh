# shellcheck shell=sh
# Boots the installer in place of the running system, a moment after its answer: nothing stops in order, so
# that nothing can hang, but file systems are written out. Environment: `place` of the files, `words` for the kernel.
# shellcheck disable=SC2086,SC2154 # Words of kexec are wanted.
PATH=$PATH:/usr/sbin:/sbin
kexec=kexec
if ! command -v kexec >/dev/null; then
  tar -xzf "$place/kexec.tgz" -C "$place" || exit 44
  kexec="$place/kexec/ld-linux-x86-64.so.2 --library-path $place/kexec $place/kexec/kexec"
fi
$kexec -l "$place/linux" --initrd="$place/initrd" --command-line="$words" || exit 44
(
  trap '' HUP
  sleep 2
  sync
  echo u >/proc/sysrq-trigger
  $kexec -e
  # It was refused, and the file systems can only be read: the old system boots again.
  echo b >/proc/sysrq-trigger
) >/dev/null 2>&1 </dev/null &
echo started
exit 0
