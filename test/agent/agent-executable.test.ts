import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createDevCertificates } from '../../src/adapters/agents/tls-material.ts';
import { machineId } from '../../src/domain/ids.ts';
import { takeoverInitCodec } from '../../src/wire/codec.ts';
import { readTakeoverResponse } from '../../src/wire/takeover.ts';
import { createMemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';
import { startTestServer } from '../adapters/agents/test-server.ts';
import { PATIENCE } from '../support/patience.ts';
import { createTestMachine, ends } from './machine-fixture.ts';

const SCRIPT = join(import.meta.dirname, '../../scripts/build-agent.ts');

/** Builds it like `npm run build:agent`, in its own directory, including temporary files. */
async function buildExecutable(): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-build-'));
  try {
    const args = [SCRIPT, '--sea', '--no-xz', '--out', directory];
    const env = { ...process.env, TMPDIR: directory };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
    expect(stderr).toBe('');
    const [, path, bytes] = /^(\S+): (\d+) bytes/.exec(stdout)!;
    const content = readFileSync(path!);
    expect(content.length).toBe(Number(bytes));
    return content;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('the agent as one executable', () => {
  let program: Buffer;
  beforeAll(async () => {
    program = await buildExecutable();
  });

  test('C7: is the same when built elsewhere, byte for byte', async () => {
    expect((await buildExecutable()).equals(program)).toBe(true);
  });

  test('starts on a machine without Node, and reports', async () => {
    const store = createMemHeartbeatStore();
    const tls = await createDevCertificates({ names: [] });
    const { server } = await startTestServer({ store, heartbeatIntervalSeconds: 1 }, tls);
    onTestFinished(() => server.close(100));
    const machine = createTestMachine(program, { isExecutable: true });
    onTestFinished(machine.dispose);
    const id = machineId(randomUUID());
    const init = {
      machineId: id,
      bmaasEndpoint: server.address,
      caCertificate: Buffer.from(tls.caDer),
    };

    const { code, stdout, stderr } = await machine.takeOver(takeoverInitCodec.encode(init));
    const verdict = readTakeoverResponse(init, stdout);
    expect({ code, stderr, verdict }).toMatchObject({ code: 0, verdict: { kind: 'started' } });
    const stored = store.start(id, (verdict as { publicKey: Uint8Array }).publicKey);
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(1);
    await expect.poll(() => stored.hardwareReport, PATIENCE).not.toBeNull();

    const pid = machine.pid()!;
    const [name, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    expect([name, args.join('')]).toEqual([machine.executable, '']);
    process.kill(pid, 'SIGTERM');
    await ends(pid);
    expect(machine.pid()).toBeNull();
  });
});
