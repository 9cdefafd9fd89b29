import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { login } from '../../../src/commands/remote/access.ts';
import { painting } from '../../../src/commands/remote/output.ts';
import { slot } from '../../../src/domain/ids.ts';
import { openConsole } from '../../console/api/console-stand.ts';
import { machine, scriptedFleet } from '../../console/scripted-fleet.ts';
import { root } from '../../repo/sources.ts';
import { PATIENCE } from '../../support/patience.ts';

const home = mkdtempSync(join(tmpdir(), 'shepherd-terminal-'));
afterAll(() => rmSync(home, { recursive: true }));

/** What decides about colours beside the terminal; where tests run for nobody, it is taken for a poor one. */
const DECIDING = ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'CI'];

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

/**
 * Runs a command line on a terminal of its own, by `script` of util-linux, as a person does. Its shell
 * gives its place to the command: one that stayed would die of Ctrl-C, and tell of itself.
 */
function onTerminal(...args: readonly string[]) {
  const words = [process.execPath, join(root, 'bin/shepherd.mjs'), ...args];
  const command = words.map((word) => `'${word}'`).join(' ');
  const env = { ...process.env };
  for (const name of DECIDING) delete env[name];
  const child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], {
    env: { ...env, SHELL: '/bin/sh', TERM: 'xterm', XDG_CONFIG_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.add(child);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  return {
    shown: () => shown,
    sees: (text: string) => vi.waitFor(() => expect(shown).toContain(text), PATIENCE),
    type: (text: string) => void child.stdin.write(text),
    ended: once(child, 'close').then(([code]) => code as number),
  };
}
const CTRL_C = '\u0003';

test('V44: --watch draws its table again on a terminal, and Ctrl-C ends it with 0', async () => {
  const fleet = scriptedFleet();
  fleet.put(machine('a', { state: 'Running', substate: 'healthy' }));
  const { url } = await openConsole({ fleet });
  const { sees, shown, type, ended } = onTerminal('machines', '--watch', '--url', url);
  await sees('Running · healthy');
  const before = shown().length;
  fleet.set(slot('equinix', 'a'), { state: 'Recovering', substate: 'rebooting' });
  await sees('Recovering · rebooting');
  const redrawn = shown().slice(before);
  expect(redrawn, 'the lines before are erased').toContain('\u001b[2K');
  expect(redrawn, 'in yellow').toContain('\u001b[33mRecovering · rebooting\u001b[39m');
  expect(shown()).not.toContain('"change"');
  type(CTRL_C);
  expect(await ended).toBe(0);
});

describe('login', () => {
  test('asks for a token on a terminal, and shows nothing of it', async () => {
    const { url } = await openConsole({ token: 'only-sees' });
    const { sees, shown, type, ended } = onTerminal('login', url, '--name', 'here');
    await sees('Token: ');
    type('only-sees\r');
    expect(await ended, shown()).toBe(0);
    expect(shown()).toContain(`is logged in to ${url} as viewer`);
    expect(shown()).not.toContain('only-sees');
    expect(readFileSync(join(home, 'shepherd/contexts.yaml'), 'utf8')).toContain('only-sees');
  });

  test('waits for a token that a pipe brings late, and reads no further than its line', async () => {
    const { url } = await openConsole({ token: 'only-sees' });
    vi.stubEnv('XDG_CONFIG_HOME', home);
    const pipe = new PassThrough();
    const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(pipe as never);
    try {
      const told = login(url, { name: 'piped', allowInsecureHttp: false });
      await vi.waitFor(() => expect(pipe.listenerCount('data')).toBe(1), PATIENCE);
      pipe.write('only-sees\n');
      expect((await told).text).toContain(`is logged in to ${url} as viewer`);
    } finally {
      stdin.mockRestore();
      vi.unstubAllEnvs();
    }
  });

  test.each([
    ['Ctrl-C', CTRL_C, 130, 'ended by SIGINT'],
    ['Ctrl-D', '\u0004', 2, 'standard input has no token'],
  ])(
    'that is broken off by %s at the question ends, and makes no context',
    async (_, key, code, words) => {
      const { url } = await openConsole({ token: 'only-sees' });
      const { sees, shown, type, ended } = onTerminal('login', url, '--name', 'there');
      await sees('Token: ');
      type(key);
      expect(await ended, shown()).toBe(code);
      expect(shown()).toContain(words);
    },
  );
});

describe('colours', () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ['auto', true, {}, true],
    ['auto', false, {}, false],
    ['auto', true, { NO_COLOR: '1' }, false],
    ['auto', false, { FORCE_COLOR: '1' }, true],
    ['auto', true, { FORCE_COLOR: '0' }, false],
    ['always', false, {}, true],
    ['always', false, { NO_COLOR: '1' }, true],
    ['never', true, {}, false],
    ['never', true, { FORCE_COLOR: '1' }, false],
  ] as const)('--color %s, on a terminal: %s, with %j: %s', (color, isTTY, env, expected) => {
    for (const name of DECIDING) vi.stubEnv(name, undefined);
    for (const [name, value] of Object.entries({ TERM: 'xterm', ...env })) vi.stubEnv(name, value);
    const { getColorDepth } = WriteStream.prototype;
    const stream = Object.assign(new PassThrough(), { isTTY, getColorDepth });
    const painted = painting(color, stream as unknown as NodeJS.WriteStream)('it is FROZEN');
    expect(painted).toBe(expected ? 'it is \u001b[31mFROZEN\u001b[39m' : 'it is FROZEN');
  });
});
