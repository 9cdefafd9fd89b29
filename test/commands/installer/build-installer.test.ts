import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildInstaller } from '../../../src/commands/installer/build-installer.ts';
import { UsageError } from '../../../src/domain/errors.ts';

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
  const deb = join(root, 'x.deb');
  writeFileSync(deb, '');
  const build = () => buildInstaller({ ...options(root), deb, env: { PATH: root } });
  await expect(build()).rejects.toThrow(
    /missing here: busybox, zstd, grub-mkrescue, xorriso, mformat, dpkg-deb/,
  );
  await expect(build()).rejects.toThrow(
    /apt-get install busybox-static zstd grub-common xorriso mtools/,
  );
});

test('a place for the files that is none, and a package that is none, are named', async () => {
  const root = directory();
  writeFileSync(join(root, 'file'), '');
  const build = (given: { directory?: string; deb?: string }) =>
    buildInstaller({ ...options(root), ...given });
  await expect(build({ directory: join(root, 'file') })).rejects.toThrow(
    new UsageError(`the files cannot be written to ${join(root, 'file')}`),
  );
  await expect(build({ deb: join(root, 'no.deb') })).rejects.toThrow(
    /^there is no file .*no\.deb$/,
  );
});
