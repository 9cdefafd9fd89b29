import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stopAgentCommand } from '../../../../src/actors/tasks/end-agent.ts';

/** The command as machines run it, on processes of this computer that end with our own path. */

let dir: string;
let agentPath: string;
const started: ChildProcess[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'stop-agent-'));
  agentPath = join(dir, 'agent');
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

const READY = "process.stdout.write('ready');setInterval(() => undefined, 1000)";
/** A process that lives until it is ended, with these last words. */
async function start(code: string, ...words: string[]): Promise<ChildProcess> {
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const child = spawn(process.execPath, ['-e', code, '--', ...words], { stdio: [...stdio] });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}
const lives = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;
const shells = ['sh', 'bash', 'dash', 'busybox'].filter((name) => {
  const { error } = spawnSync(name, ['--help']);
  // Where `CI` is set, a missing shell fails the run, so that these tests cannot disappear
  // silently.
  if (error && process.env['CI']) throw error;
  return !error;
});

/** A folder with busybox programs only, as on Alpine Linux. */
function busyboxPath(): string {
  const folder = mkdtempSync(join(dir, 'bin-'));
  execFileSync('busybox', ['--install', '-s', folder]);
  return folder;
}

async function stop(shell: string) {
  const [, ...rest] = stopAgentCommand(agentPath);
  const PATH = shell === 'busybox' ? busyboxPath() : process.env['PATH'];
  const program = shell === 'busybox' ? join(PATH!, 'sh') : shell;
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [exitCode] = (await once(child, 'close')) as [number];
  return { exitCode, output };
}

describe.each(shells)('the stop script under %s', (shell) => {
  test('F3: ends the agent and no process that only mentions it', async () => {
    const agent = await start(READY, agentPath);
    const others = [
      await start(READY, agentPath, 'more'),
      await start(READY, `${agentPath}.log`),
      await start(READY, `x${agentPath}`),
    ];
    expect(await stop(shell)).toEqual({ exitCode: 0, output: '' });
    await expect.poll(() => lives(agent)).toBe(false);
    expect(agent.signalCode).toBe('SIGTERM');
    expect(others.map(lives)).toEqual([true, true, true]);
  });

  test('succeeds when no agent runs', async () => {
    expect(await stop(shell)).toEqual({ exitCode: 0, output: '' });
  });
});

test('kills an agent that ignores the request to end', async () => {
  const agent = await start(`process.on('SIGTERM', () => undefined);${READY}`, agentPath);
  expect(await stop('sh')).toEqual({ exitCode: 0, output: '' });
  await expect.poll(() => lives(agent)).toBe(false);
  expect(agent.signalCode).toBe('SIGKILL');
});

test('recognises the agent by the file behind its path', async () => {
  const real = join(dir, 'agent-2');
  writeFileSync(real, '');
  symlinkSync(real, agentPath);
  const agent = await start(READY, real);
  expect(await stop('sh')).toEqual({ exitCode: 0, output: '' });
  await expect.poll(() => lives(agent)).toBe(false);
});

test('recognises the command by name and arguments', () => {
  const [shell, option, , ...rest] = stopAgentCommand('/root/agent');
  expect([shell, option, ...rest]).toEqual(['sh', '-c', 'stop-agent', '/root/agent', 'now']);
});
