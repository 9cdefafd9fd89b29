import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildInstaller } from '../../../src/commands/installer/build-installer.ts';

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'shepherd-build-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const options = (root: string) => ({
  ...{ directory: join(root, 'out'), root, deb: null, modules: [], append: '' },
});

test('names the Debian packages of all missing programs at once', async () => {
  const root = directory();
  const build = () => buildInstaller({ ...options(root), deb: 'x.deb', env: { PATH: root } });
  await expect(build()).rejects.toThrow(
    /missing here: busybox, zstd, grub-mkrescue, xorriso, mformat, dpkg-deb/,
  );
  await expect(build()).rejects.toThrow(
    /apt-get install busybox-static zstd grub-common xorriso mtools/,
  );
});
