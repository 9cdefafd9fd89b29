import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createTakeoverProtocol } from '../../../src/adapters/agents/takeover-protocol.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { feed } from '../../support/feed.ts';
import { takeoverAgent } from './takeover-agent.ts';

const temp = mkdtempSync(path.join(tmpdir(), 'takeover-test-'));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

test('takeovers are measured beside the original, and nothing is left', async () => {
  const bench = path.join(import.meta.dirname, '../bench.ts');
  const args = [bench, 'takeover', '--json', '--rounds', '1', '--scale', '0.05'];
  const env = { ...process.env, TMPDIR: temp };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
  const figures = JSON.parse(stdout) as Record<string, Record<string, number>>;
  const { peers, ...measured } = figures;
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(Object.keys(measured)).toEqual([
    ...['takeover', 'toOriginal', 'daemonCpuMs', 'sshdCpuMs', 'sshdShare'],
  ]);
  for (const table of Object.values(measured)) {
    expect(Object.keys(table)).toEqual(['1', '10', '50']);
    for (const value of Object.values(table)) expect(value).toBeGreaterThan(0);
  }
  expect(peers).toEqual({ original: { 1: 1.7, 10: 2.7, 50: 1.4 } });
  expect(stderr).toMatch(/round 1: takeover at 50: [\d.]+ machines\/s/);
  expect(readdirSync(temp)).toEqual([]);
});

test.each([0, 100, 500, 20_000])(
  'the agent of the takeovers answers as one does, with an authority of %i bytes',
  async (sizeBytes) => {
    const program = path.join(temp, 'agent');
    const content = takeoverAgent(100_000);
    expect(content).toHaveLength(100_000);
    writeFileSync(program, content, { mode: 0o755 });
    const caCertificate = new Uint8Array(sizeBytes).fill(7);
    const protocol = createTakeoverProtocol({ endpoint: '127.0.0.1:9', caCertificate });
    const id = machineId('00000000-0000-4000-8000-000000000001');
    const answering = promisify(execFile)(program, { encoding: 'buffer' });
    feed(answering.child, protocol.request(id, { throwAway: false }));
    const { stdout } = await answering;
    const { publicKey } = protocol.answer(id, stdout, { throwAway: false });
    expect(publicKey).toHaveLength(32);
    rmSync(program);
  },
);
