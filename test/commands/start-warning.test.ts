import { expect, test } from 'vitest';
import { showMachine } from '../../src/commands/machine/show.ts';
import { idOf, machineStand, slotName } from './machine-stand.ts';

test('C6: a machine is shown with what the agent before its own could tell nobody else', async () => {
  const s = machineStand();
  s.add(1, { agentStarted: null, heartbeat: null });
  const session = await s.daemon();
  const start = async (warnings: readonly string[]) => {
    const work = await session.claim('ShepherdAgentStart', idOf(1));
    const publicKey = new Uint8Array(32).fill(7);
    await work.finish({ kind: 'agentStarted', publicKey, warnings, bootId: null, hostKey: null });
  };
  await start(['the agent before this one wrote: heartbeats fail:\nnot trusted']);
  const warned =
    /its start warned: the agent before this one wrote:\s+heartbeats fail:\s+not trusted/;
  expect((await showMachine(slotName(1), false, s.means)).text).toMatch(warned);
  const { text } = await showMachine(slotName(1), true, s.means);
  expect(JSON.parse(text)).toMatchObject({ startWarning: expect.stringMatching(/not trusted$/) });
});
