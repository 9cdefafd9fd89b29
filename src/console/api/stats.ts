import { z } from 'zod';
import { EPISODES_KEPT_DAYS, EPISODES_MAX } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import { isInForce } from '../../domain/eligibility.ts';
import { FAILURE_KINDS, failuresBy, type KnownSlot } from '../../domain/failures.ts';
import type { FailureKind } from '../../domain/failures.ts';
import { modelOf } from '../../domain/hardware-sums.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { HoldRow, SlotFacts } from '../../domain/machine.ts';
import { parseDuration } from '../../settings/duration.ts';
import type { FleetView } from '../port.ts';
import { read, sharedLook, type Api } from './kit.ts';
import { malformed } from './problem.ts';
import type { Records } from './records.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';
import { requireWhole } from './whole.ts';

const LONGEST_MS = EPISODES_KEPT_DAYS * 86_400_000;

const figure = z.number().nullable();
const SUMS = {
  machines: z.int().describe('Machines that exist now.'),
  machineDays: z.number().describe('Days that these machines have existed since `sinceMs`.'),
  episodes: z.int().describe('Recoveries that began since `sinceMs`.'),
  gone: z.int().describe('Recoveries of machines that no longer exist. The rate leaves them out.'),
  rate: figure.describe('Recoveries per 100 machine-days. Null: there are no machine-days.'),
  ratio: figure.describe('The rate divided by the rate of the fleet. Null: unknown.'),
  healedBy: z.record(text, z.int()).describe('Recoveries that healed, by the rung that healed.'),
  unhealed: z.int().describe('Recoveries that did not heal, or that last.'),
  repairP50Ms: figure.describe('Median time from silence to the first heartbeat.'),
  repairP95Ms: figure.describe('95th percentile of that time.'),
  retired: z.int().describe('Slots that are never used again.'),
};
export const FailuresSchema = z.object({
  atMs: Milliseconds,
  sinceMs: Milliseconds,
  by: z.enum(FAILURE_KINDS),
  isCut: z
    .boolean()
    .describe(
      `Only the latest ${EPISODES_MAX} recoveries are counted; \`sinceMs\` is their begin.`,
    ),
  fleet: named('FailureSums', z.object(SUMS)),
  groups: listOf(z.object({ name: text, ...SUMS })).describe('Most frequent failures first.'),
});
export type FailuresAnswer = z.output<typeof FailuresSchema>;

export interface StatsDeps {
  readonly fleet: Pick<FleetView, 'entries' | 'facts' | 'isWhole' | 'nowMs'>;
  readonly records: Pick<Records, 'episodes' | 'hardware'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Kept this long, because it reads all recoveries and perhaps all hardware reports. */
const FRESH_MS = 60_000;
/** Number of different questions whose answers are kept. */
const KEPT_MAX = 50;

/** `stats/failures`: which kinds of machines fail, and what heals them. */
export function addStats(api: Api, deps: StatsDeps): void {
  const looks = new Map<string, () => Promise<FailuresAnswer>>();
  const lookAt = (by: FailureKind, forMs: number) => {
    const key = `${by} ${forMs}`;
    const known = looks.get(key);
    if (known) return known;
    if (looks.size >= KEPT_MAX) looks.clear();
    const look = sharedLook(deps.clock, FRESH_MS, (signal) => failures(deps, by, forMs, signal));
    looks.set(key, look);
    return look;
  };
  api.get(
    '/stats/failures',
    read('fleet', 'Recoveries by kind of machine, at most a minute old', FailuresSchema, {
      querystring: z.strictObject({
        by: z.enum(FAILURE_KINDS).default('plan'),
        since: text
          .default('90d')
          .describe(`How far to look back, such as \`90d\`, at most ${EPISODES_KEPT_DAYS} days.`),
      }),
    }),
    async ({ query: { by, since } }) => {
      const forMs = parseDuration(since, LONGEST_MS);
      if (!forMs) {
        throw malformed('since', `give a duration such as 90d, at most ${EPISODES_KEPT_DAYS}d`);
      }
      requireWhole(deps.fleet);
      return lookAt(by, forMs)();
    },
  );
}

async function failures(
  { fleet, records }: StatsDeps,
  by: FailureKind,
  forMs: number,
  signal: AbortSignal,
): Promise<FailuresAnswer> {
  const atMs = fleet.nowMs();
  const models = by === 'model' ? await readModels(records, signal) : new Map();
  const { episodes, isCut } = await records.episodes({ sinceMs: atMs - forMs }, signal);
  const sinceMs = isCut ? episodes.at(-1)!.beganAtMs : atMs - forMs;
  const slots = [...fleet.entries.keys()].flatMap((slot) => {
    const facts = fleet.facts(slot);
    return facts ? [knownSlot(facts, models, atMs)] : [];
  });
  const found = failuresBy({ by, sinceMs, nowMs: atMs, slots, episodes });
  return { ...{ atMs, sinceMs, by, isCut }, ...found };
}

type Models = ReadonlyMap<MachineId, string | null>;

async function readModels(
  { hardware }: Pick<Records, 'hardware'>,
  signal: AbortSignal,
): Promise<Models> {
  const models = new Map<MachineId, string | null>();
  let after: MachineId | null = null;
  do {
    const page: Awaited<ReturnType<typeof hardware>> = await hardware(
      after === null ? {} : { after },
      signal,
    );
    for (const { machineId, report } of page.machines) {
      models.set(machineId, modelOf(report.message ?? null));
    }
    after = page.next;
  } while (after !== null);
  return models;
}

function knownSlot(facts: SlotFacts, models: Models, nowMs: number): KnownSlot {
  const { slot, provider, row, listed, holds } = facts;
  const isRetiring = (hold: HoldRow): boolean => {
    const kind: string = hold.kind;
    return kind === 'retired' && isInForce(hold, nowMs);
  };
  return {
    slot,
    machine: row && { id: row.machineId, createdAtMs: row.createdAtMs },
    kinds: {
      provider,
      plan: listed?.plan ?? null,
      location: row?.provided?.location ?? listed?.location ?? null,
      model: row && (models.get(row.machineId) ?? null),
    },
    isRetired: holds.some(isRetiring),
  };
}
