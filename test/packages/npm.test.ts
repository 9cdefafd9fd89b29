import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import {
  checkoutIn,
  copyNode,
  PACKAGE_LIMIT_MS,
  runOutside,
  temporaryDirectory,
} from './outside.ts';

describe('the npm package, in a folder with nothing else', () => {
  const home = temporaryDirectory();
  const bin = join(home, 'bin');
  const cwd = join(home, 'empty');
  const outside = { bin, home, cwd };
  let tarball: string;
  beforeAll(async () => {
    const checkout = checkoutIn(home);
    mkdirSync(cwd);
    const packed = await runOutside(['npm', 'pack', '--silent'], { ...outside, cwd: checkout });
    const made = packed.trim().split('\n').at(-1)!;
    tarball = `./${made}`;
    renameSync(join(checkout, made), join(cwd, tarball));
    copyNode(join(bin, 'node'));
  }, PACKAGE_LIMIT_MS);

  // npm 12 runs no install scripts unless it is told to; older versions do the same with this option.
  const withoutScripts = '--ignore-scripts';
  const simulate = [
    'sim',
    '--machines',
    '1',
    '--exit-when-running',
    '--json',
    '--console-port',
    '0',
  ];
  const oneMachineRuns = expect.stringMatching(/"running":1\b/);

  test('starts the simulator by npx', { timeout: PACKAGE_LIMIT_MS }, async () => {
    const command = ['npx', '--yes', withoutScripts, tarball, ...simulate] as const;
    expect(await runOutside(command as never, outside)).toEqual(oneMachineRuns);
    expect(readdirSync(cwd), 'npx leaves nothing behind').toEqual([tarball.slice(2)]);
  });

  test('installs a command for every user', { timeout: PACKAGE_LIMIT_MS }, async () => {
    const prefix = join(home, 'prefix');
    const install = ['npm', 'install', '-g', withoutScripts, '--prefix', prefix, tarball] as const;
    await runOutside(install, outside);
    const shepherd = join(prefix, 'bin/shepherd');
    expect(await runOutside([shepherd, '--version'], outside)).toBe(`${manifest.version}\n`);
    expect(await runOutside([shepherd, ...simulate], outside)).toEqual(oneMachineRuns);
    const modules = join(prefix, 'lib/node_modules', manifest.name, 'node_modules');
    expect(readdirSync(modules), 'what only development needs stays out').not.toContain('vitest');
  });
});
