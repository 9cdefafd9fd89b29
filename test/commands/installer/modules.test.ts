import { expect, test } from 'vitest';
import { moduleFiles } from '../../../src/commands/installer/modules.ts';

const LISTS = {
  dependencies: [
    'kernel/drivers/net/virtio_net.ko: kernel/drivers/virtio/virtio.ko kernel/net/core/failover.ko',
    'kernel/drivers/virtio/virtio.ko:',
    'kernel/net/core/failover.ko:',
    'kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz kernel/drivers/virtio/virtio.ko',
    'kernel/lib/crc16.ko.xz:',
    'kernel/crypto/crc32c-intel.ko:',
    'alias pci:v00001AF4d00001000sv*sd*bc*sc*i* virtio_net',
  ].join('\n'),
  builtIn: 'kernel/drivers/ata/ata_piix.ko\n',
};

test('a module brings all that it needs, once, whatever is packed or built in', () => {
  expect(moduleFiles(['virtio_net', 'ext4', 'ata_piix', 'crc32c_intel'], LISTS)).toEqual({
    files: [
      'kernel/crypto/crc32c-intel.ko',
      'kernel/drivers/net/virtio_net.ko',
      'kernel/drivers/virtio/virtio.ko',
      'kernel/fs/ext4/ext4.ko.xz',
      'kernel/lib/crc16.ko.xz',
      'kernel/net/core/failover.ko',
    ],
    missing: [],
  });
});

test('names the modules that the kernel does not have', () => {
  expect(moduleFiles(['mlx5_core', 'ext4', 'tg3'], LISTS).missing).toEqual(['mlx5_core', 'tg3']);
});
