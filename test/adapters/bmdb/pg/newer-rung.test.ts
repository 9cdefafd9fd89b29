import { beforeAll, describe, expect, it } from 'vitest';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { KEY, ladderOn, machineRow, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { agentStarted, createStage, refusedWith, SIGNAL } from '../../../contracts/bmdb-stage.ts';
import { targetOf } from '../../../contracts/requests-of.ts';
import { pgStand } from './contract-on-pg.ts';

/** A newer daemon climbs a machine's ladder, on a rung that this program does not know. */
const stand = pgStand();
const s = createStage(stand.make);
const sql = (text: string, ...values: unknown[]) => stand.server.sql.query(text, values);
beforeAll(() => sql(`ALTER TYPE recovery_rung ADD VALUE 'soaking'`));

const PLACES = { rung: 'where it stands', asked_rung: 'what was asked for' } as const;
type RungPlace = keyof typeof PLACES;
const places = Object.keys(PLACES) as RungPlace[];

/** Silent for long, and on its way up the ladder. */
const lost = (): MachineRow =>
  machineRow(s.h.nowMs(), {
    ...startedAt(s.h.nowMs() - 40 * MINUTE),
    recovery: ladderOn('rebooting', { attempts: 2 }),
  });

async function add(place: RungPlace, row = lost()): Promise<MachineRow> {
  await s.h.insert(row);
  await sql(
    `UPDATE machine_recovery SET ${place} = 'soaking', asked_at = now() - interval '1 min'
     WHERE machine_id = $1`,
    row.machineId,
  );
  return row;
}
const read = ({ machineId }: MachineRow) => s.read(machineId);
const ladderOf = async ({ machineId }: MachineRow) =>
  (await sql(`SELECT * FROM machine_recovery WHERE machine_id = $1`, machineId)).rows[0] as unknown;
describe.each(places)('a rung that this program does not know: %s', (place) => {
  it('spoils nothing else of the row', async () => {
    const row = await add(place);
    const { unknownRung, ...rest } = await read(row);
    expect(unknownRung).toBe('soaking');
    expect(rest).toEqual({ ...row, recovery: null });
  });

  it('is left to newer programs: no attempt starts', async () => {
    const row = await add(place);
    const before = await ladderOf(row);
    for (const process of ['ShepherdRecovery', 'ShepherdReinstall'] as const) {
      expect(await refusedWith(s.session.claim(process, row.machineId))).toBe('nothing-to-do');
    }
    expect(await ladderOf(row)).toEqual(before);
    expect((await read(row)).permit).toBe(false);
  });

  it('does not restrict the agent', async () => {
    const row = await add(place, { ...lost(), agentStarted: null });
    const work = await s.session.claim('ShepherdAgentStart', row.machineId);
    const before = await ladderOf(row);
    await work.finish(agentStarted());
    expect((await read(row)).agentStarted).not.toBeNull();
    expect(await ladderOf(row)).toEqual(before);
  });

  it('stays although the machine is well, for a newer program to forget', async () => {
    const [row, known] = [await add(place), lost()];
    await s.h.insert(known);
    const beat = async () => {
      const machines = [row, known].map(({ machineId }) => machineId);
      await s.h.bmdb.heartbeats.recordHeartbeats(
        machines.map((machineId) => ({ machineId, publicKey: KEY, bootId: null })),
      );
    };
    await beat();
    await sql(`UPDATE machine_agent_heartbeat SET unbroken_since = now() - interval '31 min'`);
    await beat();
    expect((await read(known)).recovery).toBeNull();
    expect(await ladderOf(known)).toBeUndefined();
    expect(await ladderOf(row)).toMatchObject({ [place]: 'soaking' });
  });

  it('leaves open an order, a release and the end of a wait', async () => {
    const row = await add(place);
    const before = await ladderOf(row);
    const target = targetOf(row);
    const keys = [
      await s.submit({ verb: 'reboot', target, force: false, drain: null }),
      await s.submit({ verb: 'release', target, forgetHostKey: false }),
      await s.submit({ verb: 'clear-backoff', target }),
    ];
    for (const key of keys) expect(await s.session.applyRequest(key)).toBeNull();
    const { requests } = await s.h.bmdb.scan(SIGNAL);
    expect(requests.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    expect(await refusedWith(s.session.claim('ShepherdRecovery', row.machineId))).toBe(
      'nothing-to-do',
    );
    expect(await ladderOf(row)).toEqual(before);
  });

  it('does not stop requests that leave the ladder alone', async () => {
    const target = targetOf(await add(place));
    for (const what of [
      { verb: 'hold', target, kind: 'preserve', untilMs: null },
      { verb: 'quarantine', target, untilMs: null },
    ] as const) {
      expect(await s.applyRequest(what)).toMatchObject({ state: 'done' });
    }
  });
});

/**
 * How the version before `resettingBmc` reads a machine and decides whether recovery may take it.
 * Its SQL must not change.
 */
const OLD_READER = `
  SELECT l.rung::text AS rung, l.attempts, l.asked_at, l.asked_rung::text AS asked_rung,
    CASE WHEN (p.provider_status::text NOT IN ('Missing', 'Provisioning',
        'ProvisioningFailedPermanent', 'Running', 'Stopped', 'Unknown')
      OR l.rung::text NOT IN ('restartingAgent', 'rebooting', 'powerCycling', 'reinstalling')
      OR l.asked_rung::text NOT IN ('restartingAgent', 'rebooting', 'powerCycling', 'reinstalling'))
      THEN 'it cannot be read'
    WHEN EXISTS (SELECT 1 FROM work w JOIN sessions s USING (session_id)
      WHERE w.machine_id = m.machine_id AND s.session_deadline > now())
      THEN 'it is being worked on' END AS refusal
  FROM machines m LEFT JOIN machine_provided p USING (machine_id)
    LEFT JOIN machine_recovery l USING (machine_id)
  WHERE m.machine_id = $1`;

it('shows an older daemon nothing of a BMC reset', async () => {
  const row = lost();
  await s.h.insert(row);
  const oldReader = async () =>
    (await sql(OLD_READER, row.machineId)).rows[0] as { refusal: string | null };
  const before = await oldReader();
  expect(before).toMatchObject({ rung: 'rebooting', asked_rung: null, refusal: null });
  const work = await s.session.claim('ShepherdRecovery', row.machineId);
  await work.note({ kind: 'controllerResetAsked', controller: 'bmc-7' });
  const during = await oldReader();
  expect(during).toEqual({ ...before, refusal: 'it is being worked on' });
  // The requesting daemon dies. The other daemon continues at the ladder's present rung.
  await s.h.expireSession(s.session.sessionId);
  expect(await oldReader()).toEqual(before);
});
