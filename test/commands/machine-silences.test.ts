import { expect, test } from 'vitest';
import { showHistory } from '../../src/commands/machine/history.ts';
import { KEY, KEY_HEX, MINUTE } from '../contracts/bmdb-rows.ts';
import { takenIn } from '../support/ingest.ts';
import { machineStand, slotName } from './machine-stand.ts';

test('A10: the history says when it fell silent and was heard again, with the states', async () => {
  const s = machineStand();
  const id = s.add(1, {
    agentStarted: { atMs: s.clock.now(), publicKey: KEY_HEX, bootId: null },
    heartbeat: { atMs: s.clock.now(), bootId: null },
  });
  takenIn(s.bmdb.tables);
  s.clock.increment(11 * MINUTE);
  await s.bmdb.sweep();
  const beat = { machineId: id, publicKey: KEY, bootId: null };
  for (let beats = 0; beats < 3; beats++) await s.bmdb.heartbeats.recordHeartbeats([beat]);
  await s.bmdb.sweep();
  const history = async (json: boolean, limit: number) =>
    (await showHistory({ name: slotName(1), limit, json }, s.means)).text;
  const words = (await history(false, 9)).replaceAll(/\s+/g, ' ');
  expect(words).toContain('fellSilent, Running · healthy → Running · silent: no heartbeat');
  expect(words).toContain('heardAgain, Running · silent → Running · healthy: 3 heartbeats');
  expect(JSON.parse(await history(true, 1))).toMatchObject({
    lines: [{ kind: 'heardAgain', from: 'Running · silent', to: 'Running · healthy' }],
  });
});
