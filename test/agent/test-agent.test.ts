import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTakeoverProtocol } from '../../src/adapters/agents/takeover-protocol.ts';
import { readAll } from '../../src/agent/takeover.ts';
import { machineId } from '../../src/domain/ids.ts';
import { feed } from '../support/feed.ts';
import { BEHAVIOURS } from '../support/test-agent/answer.ts';
import type { Behaviour } from '../support/test-agent/answer.ts';
import { buildTestAgent } from '../support/test-agent/program.ts';

const ID = machineId(randomUUID());
const protocol = createTakeoverProtocol({
  endpoint: 'shepherd.lan:8080',
  caCertificate: Buffer.from('authority'),
});

describe('test agent', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'shepherd-test-agent-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const start = async (behaviour: Behaviour, args: string[] = [], input = protocol.request(ID)) => {
    const path = join(directory, `agent-${randomUUID()}`);
    writeFileSync(path, await buildTestAgent(behaviour), { mode: 0o755 });
    const child = spawn(path, args, { env: {} });
    feed(child, input);
    return child;
  };
  const run = async (...args: Parameters<typeof start>) => {
    const child = await start(...args);
    const [stdout, stderr, [code]] = await Promise.all([
      readAll(child.stdout as AsyncIterable<Uint8Array>),
      readAll(child.stderr as AsyncIterable<Uint8Array>),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return { stdout, stderr: stderr.toString(), code };
  };

  test('takes over as the real one does', async () => {
    const { stdout, stderr, code } = await run('success');
    expect([code, stderr]).toEqual([0, '']);
    expect(protocol.answer(ID, stdout).publicKey).toHaveLength(32);
  });

  test('can be noisy, with a warning in its answer', async () => {
    const { stdout, stderr, code } = await run('stderr-noise');
    expect(code).toBe(0);
    expect(stderr.length).toBeGreaterThan(10_000);
    expect(protocol.answer(ID, stdout).warnings).toHaveLength(1);
  });

  test.each<[Behaviour, string, RegExp]>([
    ['error-result', 'remote-failure', /told to refuse/],
    ['no-result', 'malformed', /without a result/],
    ['wrong-echo', 'malformed', /echoed another/],
    ['short-key', 'malformed', /31 bytes/],
    ['garbage', 'malformed', /cannot read/],
  ])('%s', async (behaviour, errorCode, message) => {
    const { stdout, code } = await run(behaviour);
    expect(code).toBe(0);
    const judge = () => protocol.answer(ID, stdout);
    expect(judge).toThrow(message);
    expect(judge).toThrow(expect.objectContaining({ code: errorCode }));
  });

  test.each<[string, Behaviour, Uint8Array]>([
    ['told to', 'exit-1', protocol.request(ID)],
    ['given nothing', 'success', new Uint8Array()],
  ])('fails when %s, with words on standard error only', async (_name, behaviour, input) => {
    const { stdout, stderr, code } = await run(behaviour, [], input);
    expect([code, stdout.length]).toEqual([1, 0]);
    expect(stderr).toMatch(/^test agent: /);
  });

  test('hangs until it is killed', async () => {
    const child = await start('hang');
    const ended = once(child, 'close') as Promise<[null, string]>;
    await once(child.stdin, 'close');
    expect(child.exitCode).toBeNull();
    child.kill('SIGKILL');
    expect((await ended)[1]).toBe('SIGKILL');
  });

  test('can be told otherwise on its command line', async () => {
    expect(await run('success', ['--exit-1'])).toMatchObject({ code: 1 });
    const { code, stderr } = await run('success', ['--sing']);
    expect([code, stderr]).toEqual([1, 'test agent: no such behaviour: sing\n']);
    expect(BEHAVIOURS).toContain('hang');
  });
});
