import { describe, expect, it } from 'vitest';
import type { GuardAssessment } from '../../../../src/adapters/bmdb/port.ts';
import { FLEET } from '../../../../src/domain/recovery/guard-judgement.ts';
import { startedAt } from '../../../contracts/bmdb-rows.ts';
import { claimStand } from './claim-stand.ts';

const s = claimStand();
const assess = () => s.bmdb.guard.assess({ ingestUp: true });
/** The next assessment is due. */
const age = () => s.sql(`UPDATE guard_pulse SET assessed_at = assessed_at - interval '1 hour'`);

it('does not give a freeze the end of an earlier one that an older daemon thawed', async () => {
  const freeze = `UPDATE fleet_guard SET frozen_at = now(), frozen_by = 'ann', frozen_kind = 'manual'`;
  await s.sql(`${freeze}, frozen_until = now() + interval '1 hour'`);
  // The previous version writes no other columns.
  await s.sql(`UPDATE fleet_guard SET frozen_at = NULL, frozen_by = NULL, frozen_kind = NULL`);
  await s.sql(freeze);
  expect((await assess()).rows).toMatchObject([{ frozen: { kind: 'manual', untilMs: null } }]);
});

describe('an assessment of the fleet in PostgreSQL', () => {
  it('notifies nobody without news', async () => {
    // A rewritten row has another version.
    const versions = () => s.sql(`SELECT scope, xmin::text FROM fleet_guard`);
    await assess();
    const before = await versions();
    await age();
    const counted = await assess();
    expect(counted.counts).toHaveLength(1);
    expect(await versions()).toEqual(before);
  });

  it('needs no earlier assessment', async () => {
    await s.sql(`DELETE FROM guard_pulse; UPDATE fleet_guard SET ingest_up_since = NULL`);
    const first = await assess();
    expect(first.rows[0]!.ingestUpSinceMs).not.toBeNull();
    expect(await assess()).toEqual(first);
  });

  it('skips what it cannot read', async () => {
    await s.sql(`UPDATE guard_pulse SET counts = '{"newer": 1}', assessed_at = now()`);
    expect((await assess()).counts).toEqual([]);
    await age();
    expect((await assess()).counts).toHaveLength(1);
  });

  it('is made by one daemon, and others do not wait', async () => {
    await s.add(startedAt(Date.now()));
    await assess();
    await s.add(startedAt(Date.now()));
    await age();
    const startedIn = ({ counts }: GuardAssessment) =>
      counts.find(({ scope }) => scope === FLEET)?.started;
    const found = await s.holding('SELECT 1 FROM guard_pulse FOR UPDATE', assess);
    expect(startedIn(found), 'as the last one found it').toBe(1);
    expect(startedIn(await assess())).toBe(2);
  });

  it('counts before it locks the guard, so that claims go on', async () => {
    const id = await s.addLost();
    await s.behind('LOCK TABLE work_backoff IN ACCESS EXCLUSIVE MODE', assess, async () => {
      const guard = await s.sql(`SELECT scope FROM fleet_guard FOR UPDATE SKIP LOCKED`);
      expect(guard).toEqual([{ scope: FLEET }]);
    });
    await (await s.session.claim('ShepherdRecovery', id)).cancel();
  });
});
