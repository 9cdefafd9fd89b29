import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { countGuard, countQuiet } from '../../../../src/adapters/bmdb/pg/guard/guard-counts.ts';
import { readGuardRows, writeGuardRow } from '../../../../src/adapters/bmdb/pg/guard/guard-rows.ts';
import type { Queries } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { GuardRow, HoldRow, MachineRow } from '../../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { countGuarded } from '../../../doubles/mem-bmdb/guard-counts.ts';
import type { GuardedMachine } from '../../../doubles/mem-bmdb/guard-counts.ts';
import { calmRow, DEFAULT_GUARD, FLEET } from '../../../../src/domain/recovery/guard-judgement.ts';
import type { GuardCounts, Ingest } from '../../../../src/domain/recovery/guard-judgement.ts';
import { ladderOn, machineRow, providedOf, startedAt } from '../../../contracts/bmdb-rows.ts';
import { casesAround, holdOf } from './eligibility-cases.ts';
import type { EligibilityCase } from './eligibility-cases.ts';
import { momentStand } from './moment-stand.ts';
import { insertHold, insertMachine } from './pg-harness.ts';

const MINUTE = 60_000;
const inOneMoment = momentStand();

interface GuardScene {
  readonly machines: readonly (GuardedMachine & { readonly hold: HoldRow | null })[];
  readonly rows: readonly GuardRow[];
  readonly ingest: Ingest;
}

/** Minutes ago, whole seconds away from any limit. */
const ago = (nowMs: number) =>
  fc
    .constantFrom(-1, 1, 4, 9, 11, 13, 19, 21, 29, 31, 41, 55)
    .map((minutes) => nowMs - minutes * MINUTE - 7_000);
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 2 });

const scenes = (nowMs: number): fc.Arbitrary<GuardScene> =>
  fc.record({
    machines: casesAround(nowMs).chain((cases) =>
      fc.tuple(...cases.map((each) => machineOf(each, nowMs))),
    ),
    rows: fc.tuple(...[FLEET, 'metal'].map((scope) => guardRowOf(scope, nowMs))),
    ingest: fc.record({
      seenAtMs: fc.constant(nowMs),
      upSinceMs: orNull(ago(nowMs)),
      lostAtMs: orNull(ago(nowMs)),
    }),
  });

const machineOf = ({ row, hold }: EligibilityCase, nowMs: number) =>
  fc
    .record({
      sinceMs: ago(nowMs),
      count: fc.nat(4),
      unreachableSinceMs: orNull(ago(nowMs)),
      lately: fc.nat(40),
      // Often enough that some unreachable machines are held each time.
      isHeld: fc.nat(2).map((chance) => chance === 0),
    })
    .map(({ sinceMs, count, unreachableSinceMs, lately, isHeld }) => {
      // Most heartbeats are near the two periods after which they are late.
      const heartbeat = row.heartbeat && {
        ...row.heartbeat,
        atMs: nowMs - 41_000 - lately * 1_000,
      };
      return {
        row: { ...row, heartbeat: lately > 30 ? row.heartbeat : heartbeat },
        unbroken: { sinceMs, count },
        unreachableSinceMs,
        hold: holdOf(row, hold ?? (isHeld ? { kind: 'no-start', untilMs: null } : null)),
      };
    });

const guardRowOf = (scope: string, nowMs: number): fc.Arbitrary<GuardRow> =>
  fc
    .record({ frozen: orNull(ago(nowMs)), thawed: orNull(ago(nowMs)) })
    .map(({ frozen, thawed }) => ({
      ...calmRow(scope),
      frozen:
        frozen === null
          ? null
          : { atMs: frozen, by: 'x', kind: 'silence', reason: 'x', untilMs: null },
      thawedAtMs: thawed,
    }));

async function store(q: Queries, client: pg.PoolClient, scene: GuardScene): Promise<void> {
  for (const row of scene.rows) await writeGuardRow(q, row);
  for (const { row, unbroken, unreachableSinceMs, hold } of scene.machines) {
    await insertMachine(client, row);
    if (hold) await insertHold(client, hold);
    await client.query(
      `UPDATE machine_agent_heartbeat SET unbroken_since = to_timestamp($2::float8 / 1000),
         unbroken_count = $3 WHERE machine_id = $1`,
      [row.machineId, unbroken.sinceMs, unbroken.count],
    );
    await client.query(
      `UPDATE work_backoff SET unreachable_since = to_timestamp($2::float8 / 1000)
       WHERE machine_id = $1 AND process = 'ShepherdAgentStart'`,
      [row.machineId, unreachableSinceMs],
    );
  }
}

/**
 * One machine of each counted kind, since random ones may omit a kind. The fleet has been frozen
 * for 13 min, and heartbeats were accepted throughout.
 */
function everyKind(nowMs: number): GuardScene {
  const at = (minutes: number) => nowMs - minutes * MINUTE - 7_000;
  const machine = (
    name: string,
    change: Partial<MachineRow>,
    seen: Partial<GuardScene['machines'][number]> = {},
  ): GuardScene['machines'][number] => ({
    row: machineRow(nowMs, { provided: providedOf(name), ...change }),
    unbroken: { sinceMs: at(55), count: 100 },
    unreachableSinceMs: null,
    hold: null,
    ...seen,
  });
  const started = (heardAtMs: number): Partial<MachineRow> => ({
    ...startedAt(at(60)),
    heartbeat: { atMs: heardAtMs, bootId: null },
  });
  const waiting: Partial<MachineRow> = {
    backoffs: [
      {
        process: 'ShepherdAgentStart',
        untilMs: nowMs + 5 * MINUTE,
        cause: 'x',
        lastIntervalSeconds: 300,
      },
    ],
  };
  const unreachable = { unreachableSinceMs: at(29) };
  const recovery = ladderOn('rebooting', {
    ...{ orderKey: randomUUID(), askedAtMs: at(12), askedRung: 'rebooting' as const },
  });
  const held = { kind: 'no-start', untilMs: null } as const;
  const heldRow = machine('held', waiting).row;
  return {
    machines: [
      machine('silent', started(at(41))),
      machine('newly silent', started(at(11))),
      machine('late', started(at(4))),
      machine('rebooted by order', { ...started(at(11)), recovery }),
      machine('back', started(nowMs), { unbroken: { sinceMs: at(1), count: 1 } }),
      machine('unreachable', waiting, unreachable),
      { ...machine('held', {}), row: heldRow, ...unreachable, hold: holdOf(heldRow, held) },
    ],
    rows: [
      {
        ...calmRow(FLEET),
        frozen: { atMs: at(13), by: 'x', kind: 'silence', reason: 'x', untilMs: null },
      },
      calmRow('metal'),
    ],
    ingest: { seenAtMs: nowMs, upSinceMs: at(55 * 24), lostAtMs: null },
  };
}

const sorted = (counts: readonly GuardCounts[]) =>
  counts.toSorted((a, b) => (a.scope < b.scope ? -1 : 1));

it('counts in SQL what the domain counts', async () => {
  const met = { silent: 0, newlySilent: 0, quiet: 0, unreachable: 0, back: 0, held: 0, ordered: 0 };
  const sampled = Date.now();
  await fc.assert(
    fc.asyncProperty(scenes(sampled), (scene) =>
      inOneMoment(async (q, client) => {
        await store(q, client, scene);
        const { rows } = await client.query<{ ms: number }>(
          `SELECT extract(epoch FROM now())::float8 * 1000 AS ms`,
        );
        const nowMs = rows[0]!.ms;
        const holds = scene.machines.flatMap(({ hold }) => hold ?? []);
        const counting = { loss: DEFAULT_LOSS, policy: DEFAULT_GUARD, nowMs, holds };
        const { ingest } = scene;
        const context = { loss: DEFAULT_LOSS, guard: DEFAULT_GUARD };
        const expected = countGuarded(scene.machines, { ...counting, rows: scene.rows, ingest });
        const counts = await countGuard(q, context, ingest);
        expect(sorted(counts)).toEqual(sorted(expected));
        expect(await readGuardRows(q)).toHaveLength(2);
        const last = { nowMs, ingest, counts };
        const quiet = await countQuiet(q, context, last);
        const fresh = await countQuiet(q, context, { ...last, counts: [] });
        for (const { scope, started, quiet: many } of counts) {
          expect(quiet(scope)).toMatchObject({ started, quiet: many });
          expect(fresh(scope)).toMatchObject({ started, quiet: many });
        }
        for (const { scope, ...each } of expected) {
          if (scope === FLEET) for (const key of keys(met)) met[key] += each[key as 'silent'] ?? 0;
        }
        const unfrozen = scene.rows.map((row) => ({ ...row, frozen: null }));
        const plain = countGuarded(scene.machines, { ...counting, rows: unfrozen, ingest });
        met.back += expected[0]!.silent - plain[0]!.silent;
        const free = countGuarded(scene.machines, { ...counting, ...scene, holds: [] });
        const unordered = scene.machines.map((each) => ({
          ...each,
          row: { ...each.row, recovery: null },
        }));
        const all = countGuarded(unordered, { ...counting, rows: scene.rows, ingest });
        met.ordered += all[0]!.quiet - expected[0]!.quiet;
        met.held += free[0]!.unreachable - expected[0]!.unreachable;
      }),
    ),
    { numRuns: 40, examples: [[everyKind(sampled)]] },
  );
  // Each kind occurred, or it would not have been compared.
  expect(Math.min(...Object.values(met))).toBeGreaterThan(0);
});

const keys = <T extends object>(of: T) => Object.keys(of) as (keyof T)[];
