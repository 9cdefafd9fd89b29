import type { EquinixWorld } from '../../emulators/sim/world.ts';
import { readAudit } from '../faults/audit.ts';
import type { Operator } from './load.ts';
import type { FailoverStage } from './stage.ts';

/** What the provider was asked to do, with the devices' reservations. */
export interface Deeds {
  /** Reservation of each ordered device. */
  readonly created: readonly string[];
  /** Reservation of each device that was switched, rebooted or installed anew; with the action. */
  readonly interrupted: readonly { readonly slot: string; readonly action: string }[];
  readonly deleted: readonly string[];
  /** Before the journal has forgotten: 20 000 requests. */
  take(): void;
}

/** Collects them from the emulator's own journal, which forgets. */
export function createDeeds(
  { emulator }: EquinixWorld,
  cleanups: (() => Promise<void> | void)[],
): Deeds {
  // By number in the journal: what was still under way when it was read comes again.
  const created = new Map<number, string>();
  const interrupted = new Map<number, { slot: string; action: string }>();
  const deleted = new Map<number, string>();
  const slots = new Map<string, string>();
  const look = () => {
    for (const { id, reservationId } of emulator.devices()) {
      slots.set(id, `equinix/${reservationId}`);
    }
  };
  // More often than devices come and go.
  const looking = setInterval(look, 300);
  cleanups.push(() => clearInterval(looking));
  return {
    get created() {
      return [...created.values()];
    },
    get interrupted() {
      return [...interrupted.values()];
    },
    get deleted() {
      return [...deleted.values()];
    },
    take() {
      look();
      for (const { seq, method, path, body, executed } of emulator.requests(0)) {
        if (!executed || method === 'GET') continue;
        const device = /\/devices\/([^/?]+)/.exec(path)?.[1];
        const slot = device === undefined ? undefined : (slots.get(device) ?? device);
        const asked = (body ?? {}) as Readonly<Record<string, unknown>>;
        if (method === 'POST' && path.endsWith('/actions')) {
          interrupted.set(seq, { slot: slot!, action: String(asked['type']) });
        } else if (method === 'POST' && path.endsWith('/devices')) {
          created.set(seq, `equinix/${String(asked['hardware_reservation_id'])}`);
        } else if (method === 'DELETE' && slot !== undefined) deleted.set(seq, slot);
      }
    },
  };
}

export interface Losses {
  readonly heartbeats: { readonly acknowledged: number; readonly lost: number };
  readonly requests: { readonly acknowledged: number; readonly lost: number };
  /** The first lost heartbeats, with the nearest that the database has. */
  readonly examples: readonly string[];
}

type Sql = <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Acknowledged, but not in the database. */
export async function lossesOf(
  { answered }: FailoverStage,
  { submissions }: Operator,
  sql: Sql,
): Promise<Losses> {
  // Agents go on: what is answered after this reading is not in it.
  const told = [...answered];
  const { beats } = await readAudit({ sql });
  const written = Map.groupBy(beats, ({ machineId }) => machineId);
  for (const all of written.values()) all.sort((a, b) => a.atMs - b.atMs);
  // The database's clock is this computer's; a heartbeat's time is between its call and its answer.
  const isThere = ({ machineId, sentAtMs, answeredAtMs }: (typeof answered)[number]) =>
    (written.get(machineId) ?? []).some(
      ({ atMs }) => sentAtMs - 1 <= atMs && atMs <= answeredAtMs + 1,
    );
  const known = new Set(
    (await sql<{ key: string }>(`SELECT idempotency_key AS key FROM operator_intents`)).map(
      ({ key }) => key,
    ),
  );
  const lost = told.filter((each) => !isThere(each));
  const examples = lost.slice(0, 5).map(({ machineId, sentAtMs, answeredAtMs }) => {
    const near = (written.get(machineId) ?? []).map(({ atMs }) => Math.round(atMs - sentAtMs));
    const nearest = near.toSorted((a, b) => Math.abs(a) - Math.abs(b)).slice(0, 3);
    const at = new Date(sentAtMs).toISOString();
    return `${machineId} at ${at}: answered after ${answeredAtMs - sentAtMs} ms, has ${nearest.join()}`;
  });
  const acknowledged = submissions.filter((each) => each.acknowledgedAtMs !== null);
  return {
    heartbeats: { acknowledged: told.length, lost: lost.length },
    examples,
    requests: {
      acknowledged: acknowledged.length,
      lost: acknowledged.filter(({ key }) => !known.has(key)).length,
    },
  };
}

/** The recorded events of the machines in the findings, one per line. */
export async function storyOf(wrongs: readonly string[], sql: Sql): Promise<readonly string[]> {
  const told = await sql<{ line: string }>(
    `SELECT concat_ws(' ', at::time, provider || '/' || slot_id, kind, "from", "to", actor, reason) AS line
       FROM slot_events WHERE provider || '/' || slot_id = ANY($1) ORDER BY seq`,
    [wrongs.map((each) => each.split(':')[0])],
  );
  return told.map(({ line }) => line);
}

/**
 * What nobody ordered, by the provider's own record: an order that was never acknowledged may have
 * been made.
 * @param repeated the slots of reboots that are allowed although they repeat an earlier one.
 */
export function wrongsOf(
  { world }: FailoverStage,
  { submissions }: Operator,
  { created, interrupted, deleted }: Deeds,
  repeated: readonly string[] = [],
): readonly string[] {
  const wrongs = [...world.emulator.violations()];
  const ordered = (verb: string, slot: string) =>
    submissions.filter((each) => each.verb === verb && each.slot === slot && !each.refusal).length;
  const compare = (what: string, done: readonly string[], may: (slot: string) => number) => {
    for (const [slot, { length }] of Map.groupBy(done, (each) => each)) {
      if (length > may(slot)) wrongs.push(`${slot}: ${what} ${length} times, ordered ${may(slot)}`);
    }
  };
  const actions = interrupted.map(({ slot }) => slot);
  const again = (slot: string) => repeated.filter((each) => each === slot).length;
  compare('interrupted', actions, (slot) => ordered('reboot', slot) + again(slot));
  compare('deleted', deleted, (slot) => ordered('deprovision', slot));
  const there = world.emulator.devices().map(({ reservationId }) => `equinix/${reservationId}`);
  for (const slot of new Set([...created, ...there])) {
    const [made, gone, now] = [created, deleted, there].map(
      (all) => all.filter((each) => each === slot).length,
    ) as [number, number, number];
    if (now > 1 || made - gone !== now) {
      wrongs.push(`${slot}: created ${made} times, deleted ${gone} times, ${now} there`);
    }
  }
  return wrongs;
}
