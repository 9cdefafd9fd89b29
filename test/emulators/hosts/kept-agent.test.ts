import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stopAgentCommand } from '../../../src/actors/tasks/end-agent.ts';
import { buildAgent } from '../../../src/agent-bundle.ts';
import { takeoverInitCodec } from '../../../src/wire/codec.ts';
import { readTakeoverResponse } from '../../../src/wire/takeover.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { PATIENCE } from '../../support/patience.ts';
import { createListener, type Listener } from './listener.ts';
import { createStand, live, nothing, type HostsStand } from './stand.ts';

const agentPath = '/root/agent';
let real: Buffer;
beforeAll(async () => {
  ({ content: real } = await buildAgent());
});

describe.each([
  { kind: 'light', light: true },
  { kind: 'process', light: false },
])('C8: the agent of an earlier simulator ($kind)', ({ light }) => {
  let stand: HostsStand;
  let listener: Listener;
  beforeEach(async () => {
    stand = await createStand();
    await stand.replace({ light });
    listener = await createListener(stand.dir);
  });
  afterEach(async () => {
    await stand.close();
    await listener.close();
  });

  /** Does what the daemon does; returns the raw key of the agent, hexadecimal. */
  async function startAgent(): Promise<string> {
    const session = await stand.connect('a');
    await session.upload(agentPath, uploadOf(light ? Buffer.from('any') : real), live);
    const init = takeoverInitCodec.encode(listener.init);
    const { stdout } = await session.execute([agentPath], init, live);
    session.close();
    const verdict = readTakeoverResponse(listener.init, stdout);
    if (verdict.kind !== 'started') throw new Error(verdict.message);
    const key = Buffer.from(verdict.publicKey).toString('hex');
    await expect.poll(() => listener.heard.at(-1)?.key, PATIENCE).toBe(key);
    return key;
  }
  /** The next simulator finds the directory and switches the machine on. */
  async function startAnew() {
    await stand.replace({ light });
    listener.heard.length = 0;
    await stand.raise('a');
  }

  test('C8: reports again, with its key, from a new boot of the machine', async () => {
    await stand.raise('a');
    const key = await startAgent();
    const { bootId: before } = stand.snapshot('a');
    for (let turn = 0; turn < 2; turn += 1) {
      await startAnew();
      await expect.poll(() => listener.heard.length, PATIENCE).toBeGreaterThan(1);
    }
    const { bootId, agents } = stand.snapshot('a');
    expect(bootId).not.toBe(before);
    expect(listener.heard.at(-1)).toMatchObject({ key, request: { bootId } });
    expect(agents).toBe(1);
  });

  test('C8: keeps its key readable only by its own user, and off the machine', async () => {
    await stand.raise('a');
    await startAgent();
    expect(statSync(join(stand.dir, 'a', 'agent-init')).mode & 0o777).toBe(0o600);
    const session = await stand.connect('a');
    await expect(session.execute(['cat', '/agent-init'], nothing, live)).rejects.toThrow();
    session.close();
  });

  test('C8: is replaced by the next agent start: a machine has one agent', async () => {
    await stand.raise('a');
    const key = await startAgent();
    await startAnew();
    await expect.poll(() => listener.heard.length, PATIENCE).toBeGreaterThan(0);
    expect(await startAgent()).not.toBe(key);
    await expect.poll(() => stand.snapshot('a').agents, PATIENCE).toBe(1);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['was killed', () => stand.hosts().loseAgent('a')],
    ['died with the power', () => stand.hosts().down('a')],
    ['went with its system', () => stand.reinstall('a')],
    [
      'was stopped over SSH',
      async () => (await stand.connect('a')).execute(stopAgentCommand(agentPath), nothing, live),
    ],
  ])('C8: one that %s is not started again, nor by a later boot', async (_, end) => {
    await stand.raise('a');
    await startAgent();
    await end();
    await startAnew();
    expect(stand.snapshot('a').agents).toBe(0);
    await stand.hosts().down('a');
    await stand.raise('a');
    expect(stand.snapshot('a').agents).toBe(0);
  });

  test('C8: ends with a reboot like any agent: only the end of a simulator spares it', async () => {
    await stand.raise('a');
    await startAgent();
    await startAnew();
    await expect.poll(() => stand.snapshot('a').agents, PATIENCE).toBe(1);
    await stand.hosts().down('a');
    await stand.hosts().up('a');
    expect(stand.snapshot('a').agents).toBe(0);
  });
});
