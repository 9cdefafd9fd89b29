import { execFileSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { cpio, PROGRAM } from '../../src/commands/installer/cpio.ts';

/** The first process of the installed system: shows its seed on the serial port. */
const FIRST = `#!/bin/sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
for round in 1 2; do find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -qa; done
modprobe crc32c_generic; modprobe ext4
until [ -e /dev/vda ]; do sleep 1; done
for part in /dev/vda*; do mount -t ext4 "$part" /mnt 2>/dev/null && break; done
echo "the new system is up"
ls -l /mnt/var/lib/cloud/seed/nocloud; cat /mnt/var/lib/cloud/seed/nocloud/*
poweroff -f
`;

/** A disk that boots both ways into \`FIRST\`, with an ext4 partition like a system's. */
export async function buildImage(
  directory: string,
  installer: string,
  append: string,
): Promise<Buffer> {
  const [tree, system, root] = ['boot-tree', 'system', 'root.ext4'].map((name) =>
    join(directory, name),
  );
  await mkdir(join(tree!, 'boot', 'grub'), { recursive: true });
  await cp(join(installer, 'linux'), join(tree!, 'boot', 'linux'));
  // Of two archives, the later file counts.
  const first = gzipSync(cpio([{ path: 'init', mode: PROGRAM, content: Buffer.from(FIRST) }]));
  await writeFile(
    join(tree!, 'boot', 'initrd'),
    Buffer.concat([readFileSync(join(installer, 'initrd')), first]),
  );
  const grub = `set timeout=0\nlinux /boot/linux console=ttyS0 ${append}\ninitrd /boot/initrd\nboot\n`;
  await writeFile(join(tree!, 'boot', 'grub', 'grub.cfg'), grub);
  await mkdir(join(system!, 'etc'), { recursive: true });
  await writeFile(join(system!, 'etc', 'os-release'), 'ID=test\n');
  writeFileSync(root!, '');
  truncateSync(root!, 8 * 1024 * 1024);
  execFileSync('/sbin/mkfs.ext4', ['-q', '-d', system!, root!]);
  const path = join(directory, 'image.raw');
  const small = [
    '--locales=',
    '--themes=',
    '--fonts=',
    '--install-modules=linux normal iso9660 part_gpt',
  ];
  execFileSync(
    'grub-mkrescue',
    [...small, '-o', path, tree!, '--', '-append_partition', '3', '0x83', root!],
    { stdio: 'pipe' },
  );
  return readFileSync(path);
}
