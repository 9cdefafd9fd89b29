import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { debianKernel } from './debian-kernel.ts';

/** Linux for virtual machines: Debian's kernel, busybox and dropbear. */
export interface Guest {
  readonly kernel: string;
  /** Boots the disk. */
  readonly initramfs: string;
}

/** Modules of Debian's kernel that the machines need, each after those that it uses. */
const MODULES = [
  ...['virtio_ring', 'virtio', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev', 'virtio_pci'],
  ...['virtio_blk', 'failover', 'net_failover', 'virtio_net', 'virtio-rng'],
  ...['crc16', 'mbcache', 'jbd2', 'crc32c_generic', 'ext4'],
  ...['button', 'evdev'],
];
const SSH_PROGRAMS = ['/usr/sbin/dropbear', '/usr/bin/dropbearkey', '/usr/lib/openssh/sftp-server'];

/** Runs a shell script with arguments `$1` and so on. @returns its output. */
export const sh = (script: string, ...args: readonly string[]): string =>
  execFileSync('sh', ['-euc', script, 'sh', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** Builds into a directory. */
export function buildGuest(dir: string): Guest {
  const tree = join(dir, 'initramfs');
  const wanted = ['./boot/vmlinuz-*', ...MODULES.map((each) => `*/${each}.ko`)];
  addPrograms(tree, []);
  mkdirSync(join(tree, 'modules'));
  sh(UNPACK, dir, debianKernel(), ...wanted);
  for (const [n, name] of MODULES.entries()) {
    const [file] = globSync(`lib/modules/*/kernel/**/${name}.ko`, { cwd: dir });
    copyFileSync(join(dir, file!), join(tree, `modules/${String(n).padStart(2, '0')}.ko`));
  }
  copyFileSync(join(import.meta.dirname, 'guest/init'), join(tree, 'init'));
  const initramfs = join(dir, 'initrd');
  sh('cd "$1"; find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 >"$2"', tree, initramfs);
  return { kernel: globSync(join(dir, 'boot/vmlinuz-*'))[0]!, initramfs };
}
const UNPACK = 'cd "$1"; deb=$2; shift 2; dpkg-deb --fsys-tarfile "$deb" | tar x --wildcards "$@"';

const DIRECTORIES = 'bin dev proc sys run tmp mnt etc/acpi/PWRF root/.ssh usr/lib'.split(' ');

/** Busybox for every usual command, and these programs with all libraries. */
function addPrograms(tree: string, programs: readonly string[], librariesOf = programs): void {
  for (const name of DIRECTORIES) mkdirSync(join(tree, name), { recursive: true });
  for (const name of ['bin', 'sbin']) symlinkSync('../bin', join(tree, 'usr', name));
  symlinkSync('bin', join(tree, 'sbin'));
  copyFileSync('/bin/busybox', join(tree, 'bin/busybox'));
  for (const name of sh('busybox --list').trim().split('\n')) {
    if (name !== 'busybox') symlinkSync('busybox', join(tree, 'bin', name));
  }
  for (const program of programs) copyFileSync(program, join(tree, 'bin', basename(program)));
  for (const program of ['/bin/busybox', ...librariesOf]) {
    for (const [library] of sh('ldd "$1"', program).matchAll(/\/\S+(?= \()/g)) {
      const to = join(tree, library);
      mkdirSync(dirname(to), { recursive: true });
      if (!existsSync(to)) copyFileSync(library, to);
    }
  }
}

/** What is on a disk. */
export interface DiskContent {
  readonly guest: Guest;
  /** Agent program for which there are libraries and room. */
  readonly agent: string;
  /** Whether that program is at its place already; otherwise it is uploaded. */
  readonly hasAgent: boolean;
  /**
   * Line of `authorized_keys`. Null: an image, whose first boot takes its keys from the seed and
   * makes its host key.
   */
  readonly authorizedKey: string | null;
}

const INITTAB = `::sysinit:/etc/rc
::respawn:dropbear -F -E -s -r /etc/host_key
::respawn:acpid -d -c /etc/acpi
::shutdown:umount -a -r
`;

/** The power button. */
const ON_BUTTON = '#!/bin/sh\necho "machine: power button" >/dev/console\npoweroff\n';

/** Writes a disk that boots by BIOS and by UEFI. @returns the host key of a system, as in an inventory. */
export function buildDisk(file: string, content: DiskContent): string {
  const { guest, agent, hasAgent, authorizedKey } = content;
  const dir = `${file}.build`;
  const tree = join(dir, 'root');
  addPrograms(tree, SSH_PROGRAMS, [...SSH_PROGRAMS, agent]);
  symlinkSync('../bin/sftp-server', join(tree, 'usr/lib/sftp-server'));
  const write = (name: string, text: string, mode = 0o644) =>
    writeFileSync(join(tree, name), text, { mode });
  write('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\n');
  write('etc/group', 'root:x:0:\n');
  write('etc/shells', '/bin/sh\n');
  write('etc/hostname', 'machine\n');
  write('etc/os-release', 'ID=test\n');
  write('etc/boots', '0\n');
  write('etc/inittab', INITTAB);
  write('etc/acpi/PWRF/00000080', ON_BUTTON, 0o755);
  write('root/.ssh/authorized_keys', authorizedKey ?? '', 0o600);
  copyFileSync(join(import.meta.dirname, 'guest/rc'), join(tree, 'etc/rc'));
  const keyFile = authorizedKey === null ? '../key' : 'etc/host_key';
  const key = sh('dropbearkey -t ed25519 -f "$1"', join(tree, keyFile));
  if (hasAgent) copyFileSync(agent, join(tree, 'root/agent'));
  mkdirSync(join(tree, 'boot'));
  copyFileSync(guest.kernel, join(tree, 'boot/vmlinuz'));
  copyFileSync(guest.initramfs, join(tree, 'boot/initrd'));
  const roomMb = Math.ceil(48 + (1.2 * statSync(agent).size) / 2 ** 20);
  writeFileSync(join(dir, 'grub.cfg'), GRUB);
  writeFileSync(join(dir, 'partitions'), partitionsOf(roomMb));
  sh(WRITE_DISK, file, dir, String(roomMb));
  rmSync(dir, { recursive: true, force: true });
  return /ssh-ed25519 \S+/.exec(key)![0];
}

/** Kernel's command line. A busy computer delays the timer, which a check would take for broken. */
const CONSOLE = 'console=ttyS0 loglevel=4 panic=5 no_timer_check';
const GRUB = `set root=(hd0,msdos2)
linux /boot/vmlinuz ${CONSOLE}
initrd /boot/initrd
boot
`;

/** The end of a master boot record: one partition for UEFI, one for Linux. */
function partitionsOf(roomMb: number): Buffer {
  const sectorsPerMb = 2048;
  const record = Buffer.alloc(512 - 440);
  const partition = (n: number, type: number, startMb: number, sizeMb: number) => {
    const at = 6 + 16 * n;
    record[at + 4] = type;
    record.writeUInt32LE(startMb * sectorsPerMb, at + 8);
    record.writeUInt32LE(sizeMb * sectorsPerMb, at + 12);
  };
  partition(0, 0xef, 1, 16);
  partition(1, 0x83, 17, roomMb);
  record.writeUInt16LE(0xaa55, record.length - 2);
  return record;
}

/** GRUB before the first partition; then a partition for UEFI; then the system. */
const WRITE_DISK = `
disk=$1 dir=$2 mb=$3
modules='part_msdos ext2 linux'
grub-mkimage -O i386-pc -p / -c $dir/grub.cfg -o $dir/core.img biosdisk $modules
grub-mkimage -O x86_64-efi -p / -c $dir/grub.cfg -o $dir/grub.efi $modules
truncate -s $((mb + 18))M $disk
head -c 440 /usr/lib/grub/i386-pc/boot.img | cat - $dir/partitions | dd of=$disk conv=notrunc status=none
dd if=$dir/core.img of=$disk bs=512 seek=1 conv=notrunc status=none
mformat -i $disk@@1M -T 32768 ::
mmd -i $disk@@1M ::/EFI ::/EFI/BOOT
mcopy -i $disk@@1M $dir/grub.efi ::/EFI/BOOT/BOOTX64.EFI
mke2fs -q -t ext4 -e remount-ro -d $dir/root -E offset=$((17 * 1048576)),root_owner=0:0 $disk \${mb}M
`;
