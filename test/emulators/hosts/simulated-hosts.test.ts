import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Denied, RemoteFailure, TimedOut, Unreachable } from '../../../src/domain/errors.ts';
import { createSeededRandom } from '../../doubles/simulated-clock.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import {
  createStand,
  isAlive,
  live,
  nothing,
  openFilesUnder,
  processesUnder,
  processState,
  SOON,
} from './stand.ts';
import type { HostsStand } from './stand.ts';

/** Prints its stdin, and leaves a child in a session of its own behind. */
const takeover = uploadOf(
  Buffer.from(`#!/usr/bin/env node
import { spawn } from 'node:child_process';
if (process.argv[2] === 'agent') {
  setInterval(() => undefined, 1000);
} else {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const child = spawn(process.execPath, [process.argv[1], 'agent'], {
    detached: true,
    stdio: 'ignore',
  });
  child.unref();
  const { version, env } = process;
  const said = Buffer.concat(chunks).toString();
  console.log(JSON.stringify({ said, pid: child.pid, version, cwd: process.cwd(), env }));
}
`),
);
const agentPath = '/root/agent.mjs';

let stand: HostsStand;
beforeEach(async () => {
  stand = await createStand();
});
afterEach(() => stand.close());

async function startAgent(id: string) {
  const session = await stand.connect(id);
  await session.upload(agentPath, takeover, live);
  const { stdout } = await session.execute([agentPath], Buffer.from('hello'), live);
  return JSON.parse(stdout.toString()) as {
    said: string;
    pid: number;
    version: string;
    cwd: string;
    env: Record<string, string>;
  };
}
const bootIdSeen = async (id: string) => {
  const session = await stand.connect(id);
  const path = '/proc/sys/kernel/random/boot_id';
  return (await session.execute(['cat', path], nothing, live)).stdout.toString().trim();
};

describe('an agent on a simulated machine', () => {
  test('starts from its upload, with our Node, and stays after the end of SSH', async () => {
    await stand.raise('a');
    const answer = await startAgent('a');
    const { root, agentPids, bootId } = stand.snapshot('a');
    expect(answer.said).toBe('hello');
    expect(answer.version).toBe(process.version);
    expect(answer.cwd).toBe(`${root}/root`);
    expect(answer.env['SHEPHERD_AGENT_BOOT_ID_FILE']).toBe(
      `${root}/proc/sys/kernel/random/boot_id`,
    );
    expect(await readFile(answer.env['SHEPHERD_AGENT_BOOT_ID_FILE']!, 'utf8')).toBe(`${bootId}\n`);
    expect(agentPids).toEqual([answer.pid]);
  });
});

describe('a fault', () => {
  test('hang: accepts connections without an answer, and stops processes; false ends it', async () => {
    const session = await stand.raise('a');
    const { pid } = await startAgent('a');
    await stand.hosts().hang('a', true);
    await expect.poll(() => processState(pid)).toBe('T');
    await expect(stand.connect('a', SOON)).rejects.toBeInstanceOf(TimedOut);
    const waiting = session.execute(['cat'], Buffer.from('late'), live);
    await stand.hosts().hang('a', false);
    expect((await waiting).stdout.toString()).toBe('late');
    await expect.poll(() => processState(pid)).not.toBe('T');
    expect(await bootIdSeen('a')).toBe(stand.snapshot('a').bootId);
  });
  test('refused SSH: the port is closed, or no key is accepted; the agent lives', async () => {
    await stand.raise('a');
    const { pid } = await startAgent('a');
    await stand.hosts().refuseSsh('a', true);
    await expect(stand.connect('a')).rejects.toBeInstanceOf(Unreachable);
    await stand.hosts().refuseSsh('a', true, 'key');
    await expect(stand.connect('a')).rejects.toBeInstanceOf(Denied);
    expect(stand.snapshot('a').agentPids).toEqual([pid]);
    await stand.hosts().refuseSsh('a', false);
    await bootIdSeen('a');
  });
});

describe('a machine', () => {
  test('keeps no file open for a caller who leaves during an upload', async () => {
    await stand.raise('a');
    const { root } = stand.snapshot('a');
    for (let turns = 0; turns < 40; turns += 1) {
      const session = await stand.connect('a');
      const controller = new AbortController();
      const file = uploadOf(Buffer.alloc(500_000, turns));
      const upload = session.upload(`/root/${turns}`, file, controller.signal);
      const ended = upload.catch(() => undefined);
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      controller.abort();
      await ended;
    }
    await expect.poll(() => openFilesUnder(root)).toEqual([]);
  });
  test('keeps host key, port and disk over a reboot; a reinstallation empties the disk', async () => {
    const first = await stand.raise('a');
    await first.upload('/root/file', uploadOf(Buffer.from('kept')), live);
    const port = stand.port('a');
    await stand.hosts().down('a');
    await stand.hosts().up('a');
    const second = await stand.connect('a');
    expect(second.hostKey).toBe(first.hostKey);
    const { stdout } = await second.execute(['cat', '/root/file'], nothing, live);
    expect(stdout.toString()).toBe('kept');
    await stand.hosts().down('a');
    await stand.reinstall('a');
    await stand.hosts().up('a');
    const third = await stand.connect('a');
    expect(third.hostKey).not.toBe(first.hostKey);
    expect(stand.snapshot('a').port).toBe(port);
    const gone = third.execute(['cat', '/root/file'], nothing, live);
    await expect(gone).rejects.toBeInstanceOf(RemoteFailure);
  });
  test('leaves nothing when removed, and ignores a second removal', async () => {
    await stand.raise('a');
    const { pid } = await startAgent('a');
    const { root } = stand.snapshot('a');
    await stand.hosts().gone('a');
    await stand.hosts().gone('a');
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(root)).toBe(false);
    expect(stand.hosts().list()).toEqual([]);
    await expect(stand.connect('a')).rejects.toBeInstanceOf(Unreachable);
    await expect(stand.hosts().up('a')).rejects.toThrow(/no machine/);
  });
  test('returns for a new simulator in the same directory', async () => {
    const before = await stand.raise('a');
    await startAgent('a');
    const { port, bootId } = stand.snapshot('a');
    await stand.replace({ random: createSeededRandom(1) });
    expect(stand.snapshot('a')).toMatchObject({ port, up: false, hostname: 'host-a' });
    await stand.hosts().up('a');
    const after = await stand.connect('a');
    expect(after.hostKey).toBe(before.hostKey);
    expect(await bootIdSeen('a')).not.toBe(bootId);
    expect((await after.upload(agentPath, takeover, live)).skipped).toBe(true);
  });
  test('keeps its port when assigned again, or gets another if the port was taken', async () => {
    await stand.raise('a');
    const port = stand.port('a');
    await stand.replace();
    await stand.raise('a');
    expect(stand.port('a')).toBe(port);
    await stand.replace();
    const thief = createServer();
    await new Promise<void>((resolve) => thief.listen(port, '127.0.0.1', resolve));
    await stand.raise('a');
    expect(stand.port('a')).not.toBe(port);
    await new Promise((resolve) => thief.close(resolve));
  });
  test('refuses an id that leads out of the directory', async () => {
    for (const id of ['..', '.', '', 'a/b', '../x']) {
      const attempt = stand.hosts().assign({ id, hostname: 'x', authorizedKeys: [] });
      await expect(attempt).rejects.toThrow(/bad device id/);
    }
  });
});

test('ends the agents of a killed simulator at the boot in the next one', async () => {
  const program = fileURLToPath(new URL('doomed.ts', import.meta.url));
  const doomed = spawn(process.execPath, [program, stand.dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(doomed.stdout, 'data')) as [Buffer];
  const before = JSON.parse(line.toString()) as { port: number; bootId: string; pid: number };
  doomed.kill('SIGKILL');
  await once(doomed, 'exit');
  expect(isAlive(before.pid)).toBe(true);
  await stand.replace();
  const found = { port: before.port, bootId: before.bootId, up: false, agentPids: [before.pid] };
  expect(stand.snapshot('a')).toMatchObject(found);
  await stand.raise('a');
  expect(stand.port('a')).toBe(before.port);
  expect(isAlive(before.pid)).toBe(false);
  expect(stand.snapshot('a').agentPids).toEqual([]);
  expect(stand.snapshot('a').bootId).not.toBe(before.bootId);
});

test('leaves no process and no port after close, and removes a temporary directory', async () => {
  await stand.replace({ throwaway: true });
  for (const id of ['a', 'b', 'c']) {
    await stand.raise(id);
    await startAgent(id);
  }
  await stand.hosts().hang('c', true);
  expect(processesUnder(stand.dir)).toHaveLength(3);
  await Promise.all([stand.hosts().close(), stand.hosts().close()]);
  expect(processesUnder(stand.dir)).toEqual([]);
  expect(existsSync(stand.dir)).toBe(false);
  for (const id of ['a', 'b', 'c']) {
    await expect(stand.connect(id)).rejects.toBeInstanceOf(Unreachable);
  }
  const late = stand.hosts().assign({ id: 'd', hostname: 'd', authorizedKeys: [] });
  await expect(late).rejects.toThrow(/closed/);
});
