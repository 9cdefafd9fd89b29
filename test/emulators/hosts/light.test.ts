import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { takeoverInitCodec } from '../../../src/wire/codec.ts';
import { readTakeoverResponse } from '../../../src/wire/takeover.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { createListener, machineId, type Listener } from './listener.ts';
import { createStand, live, nothing, processesUnder } from './stand.ts';
import type { HostsStand } from './stand.ts';
import { PATIENCE } from '../../support/patience.ts';

const agentPath = '/root/agent';
const program = uploadOf(Buffer.from('any content will do\n'));

let stand: HostsStand;
let listener: Listener;
beforeEach(async () => {
  stand = await createStand();
  await stand.replace({ light: true });
  listener = await createListener(stand.dir);
});
afterEach(async () => {
  await stand.close();
  await listener.close();
});

/** Does what the daemon does; returns the raw key of the agent, hexadecimal. */
async function startAgent(id: string): Promise<string> {
  const session = await stand.connect(id);
  await session.upload(agentPath, program, live);
  const { stdout } = await session.execute(
    [agentPath],
    takeoverInitCodec.encode(listener.init),
    live,
  );
  session.close();
  const verdict = readTakeoverResponse(listener.init, stdout);
  if (verdict.kind !== 'started') throw new Error(verdict.message);
  return Buffer.from(verdict.publicKey).toString('hex');
}
const beats = async (atLeast: number) => {
  await expect.poll(() => listener.heard.length, PATIENCE).toBeGreaterThanOrEqual(atLeast);
};
describe('a light agent', () => {
  test('reports with the key of the agent start, from its machine’s current boot', async () => {
    await stand.raise('a');
    const key = await startAgent('a');
    await beats(2);
    const { bootId, agents, agentPids, seen } = stand.snapshot('a');
    const [first, second] = listener.heard;
    expect(first).toMatchObject({ key, request: { machineId, bootId } });
    expect(first!.request.hardwareReport, 'not with the first').toBeFalsy();
    expect(second!.request.hardwareReport?.report?.serialNumber).toBe('a');
    expect({ agents, agentPids }).toEqual({ agents: 1, agentPids: [] });
    expect(seen).toEqual({ boots: 1, installs: 0, programs: 1, stops: 0 });
    expect(processesUnder(stand.dir), 'no process').toEqual([]);
  });
  test('lives as long as its machine lets agents live, each time', async () => {
    await stand.raise('a');
    stand.hosts().shortenAgents('a', 300);
    for (let turn = 0; turn < 2; turn += 1) {
      await startAgent('a');
      await expect.poll(() => stand.snapshot('a').agents, PATIENCE).toBe(0);
    }
    stand.hosts().shortenAgents('a', undefined);
    await startAgent('a');
    await beats(listener.heard.length + 2);
    expect(stand.snapshot('a').agents).toBe(1);
  });
  test('keeps its connection while cut off, says nothing, and continues afterwards', async () => {
    await stand.raise('a');
    await stand.raise('b');
    const cut = await startAgent('a');
    await startAgent('b');
    await beats(2);
    stand.hosts().cutAgents(['a'], true);
    const from = listener.heard.length;
    // The other agent reports three times more; this one would also have reported in that time.
    await expect
      .poll(() => listener.heard.slice(from).filter(({ key }) => key !== cut).length, PATIENCE)
      .toBeGreaterThanOrEqual(3);
    const late = listener.heard.slice(from + 1).filter(({ key }) => key === cut);
    expect(late, 'but for a call that was under way').toEqual([]);
    expect(listener.connections()).toBe(2);
    expect((await stand.connect('a')).hostKey).toBe(stand.snapshot('a').hostKey);
    stand.hosts().cutAgents(['a'], false);
    await expect
      .poll(() => listener.heard.slice(from + 1).some(({ key }) => key === cut), PATIENCE)
      .toBe(true);
  });
});

test('refuses to cut off a machine that runs processes', async () => {
  await stand.replace();
  await stand.raise('a');
  expect(() => stand.hosts().cutAgents(['a'], true)).toThrow(/is a process/);
});

test('keeps a light machine inside its disk', async () => {
  const session = await stand.raise('a');
  for (const argv of [
    ['cat', '/../../../../../etc/hostname-of-nobody'],
    ['sha256sum', '../../../secret'],
    ['../../../../../../bin/true'],
  ]) {
    await expect(session.execute(argv, nothing, live)).rejects.toThrow();
  }
  const { stdout } = await session.execute(['cat', '/../../etc/hostname'], nothing, live);
  expect(stdout.toString()).toBe('host-a\n');
});
