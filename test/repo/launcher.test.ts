import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from './sources.ts';

/** Makes the launcher see an older Node, which cannot replace its process. */
const PRETEND_OLD = `data:text/javascript,${encodeURIComponent(`
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });
  process.execve = undefined;
`)}`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-launcher-'));
  mkdirSync(join(directory, 'bin'));
  cpSync(join(root, 'bin/shepherd.mjs'), join(directory, 'bin/shepherd.mjs'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function program(folder: 'src' | 'dist/src', file: string, code: string) {
  mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, folder, file), code);
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
}
const pinNode = () => {
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(join(root, 'node_modules/node'), join(directory, 'node_modules/node'));
};

/** Starts the launcher like a user; `old` on an outdated Node. */
function launch(args: string[], { old = false } = {}): ChildProcess {
  const options = old ? ['--import', PRETEND_OLD] : [];
  const launcher = join(directory, 'bin/shepherd.mjs');
  return spawn(process.execPath, [...options, launcher, ...args], { stdio: 'pipe' });
}
async function finish(child: ChildProcess) {
  const outputs = Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const [stdout, stderr] = await outputs;
  return { code, signal, stdout, stderr };
}

/** Prints its pid, then ends with 7 at SIGTERM; types are stripped, so this is TypeScript. */
const WAITS = `
  const status: number = 7;
  process.on('SIGTERM', () => process.exit(status));
  setInterval(() => undefined, 1000);
  process.stdout.write(process.pid + '\\n');
`;
const saidPid = async (child: ChildProcess) =>
  Number(String((await once(child.stdout!, 'data'))[0]));

test('runs the sources in a checkout, and the built files in a package', async () => {
  program('dist/src', 'main.js', "console.log('built', process.argv[2])");
  expect(await finish(launch(['x']))).toMatchObject({ code: 0, stdout: 'built x\n' });
  program('src', 'main.ts', "const from: string = 'sources'; console.log(from);");
  expect(await finish(launch([]))).toMatchObject({ code: 0, stdout: 'sources\n' });
});

test('hands over from an older Node to the pinned one, with arguments and exit status', async () => {
  pinNode();
  program('src', 'main.ts', 'console.log(process.argv.slice(2).join()); process.exitCode = 3;');
  const ended = await finish(launch(['sim', '--json'], { old: true }));
  expect(ended).toMatchObject({ code: 3, stdout: 'sim,--json\n', stderr: '' });
});

test('passes signals to the program behind an older Node, once', async () => {
  pinNode();
  program('src', 'main.ts', WAITS);
  const child = launch([], { old: true });
  expect(await saidPid(child)).not.toBe(child.pid);
  child.kill('SIGTERM');
  expect(await finish(child)).toMatchObject({ code: 7, signal: null });
});

test('reports a program’s death by a signal as such', async () => {
  pinNode();
  program('src', 'main.ts', "process.kill(process.pid, 'SIGKILL'); setInterval(() => 0, 1000);");
  expect(await finish(launch([], { old: true }))).toMatchObject({ signal: 'SIGKILL' });
});

test('leaves no program behind when the launcher is killed', async () => {
  pinNode();
  program('src', 'main.ts', WAITS);
  const child = launch([], { old: true });
  await saidPid(child);
  child.kill('SIGKILL');
  // Its outputs close only when the program, the last process that holds them, is gone.
  expect(await finish(child)).toMatchObject({ signal: 'SIGKILL' });
});

test('prints one clear sentence without a suitable Node', async () => {
  program('src', 'main.ts', '');
  expect(await finish(launch([], { old: true }))).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr: 'shepherd: needs Node 24 or newer, and this is 20.1.0\n',
  });
});
