import { Locked } from '../../../../domain/errors.ts';
import { storable } from '../../../../domain/heartbeat.ts';
import type {
  HeartbeatOutcome,
  HeartbeatRecord,
  HeartbeatRefusal,
  HeartbeatStore,
} from '../../../../domain/heartbeat.ts';
import { isUuid, machineId } from '../../../../domain/ids.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { handOutRequests, mayReboot, writeHardware, writeInstallations } from './agent-reports.ts';
import { writeAgentConditions } from './agent-reports.ts';
import type { HandedOut, Installations } from './agent-reports.ts';
import { handOutAcceptances, writeAcceptances } from './acceptances.ts';
import { admit, beatArgs, statements as beating, toBeats } from './heartbeat-store.ts';
import type { Beat, Beats, Manner, Round } from './heartbeat-store.ts';
import { endEpisodes } from './episodes.ts';
import type { PgContext } from '../live.ts';
import type { Database, Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import { lockReports } from './report-locks.ts';

type Outcomes = Map<HeartbeatRecord, HeartbeatOutcome | HeartbeatRefusal>;

export interface HeartbeatsContext extends Pick<
  PgContext,
  'loss' | 'lockTimeoutMs' | 'acceptance'
> {
  /** Must be created with `byKeys`. */
  readonly db: Database;
  /** Called with the result of an installation when it is recorded for the first time. */
  readonly onInstalled?: (result: 'Success' | 'Error') => void;
}
interface RoundContext extends HeartbeatsContext {
  /** Machines whose rows were locked for too long the last time. They are not waited for again. */
  readonly refused: Set<string>;
}

/**
 * See `HeartbeatStore`. Heartbeat rows are locked right after the starts they belong to and before
 * everything else, in machine order. So batches of several agent servers may wait for each other,
 * but never in a circle.
 */
export function createHeartbeats(context: HeartbeatsContext): HeartbeatStore {
  const refused = new Set<string>();
  return {
    recordHeartbeats: async (batch) => {
      const checked = batch.map(storable);
      const outcomes: Outcomes = new Map();
      for (const records of roundsOf(checked.map(({ record }) => record))) {
        await recordRound({ ...context, refused }, records, outcomes);
      }
      for (const [{ machineId }, { kind }] of outcomes) {
        if (kind === 'unavailable') refused.add(machineId);
        else refused.delete(machineId);
      }
      return checked.map(({ record, fault }) => {
        const outcome = outcomes.get(record) ?? { kind: 'unauthenticated' };
        const spoilt = outcome.kind === 'accepted' && fault !== null;
        return spoilt ? { kind: 'invalid', message: fault } : outcome;
      });
    },
    withoutHardware: () => readHardwareGaps(context.db),
  };
}

/** Several messages of one agent in one batch go into successive rounds. */
function roundsOf(records: readonly HeartbeatRecord[]): HeartbeatRecord[][] {
  const distinct = [...new Set(records)].filter(({ machineId }) => isUuid(machineId));
  if (distinct.length === 0) return [];
  if (byMachine(distinct).size === distinct.length) return [distinct];
  const rounds: HeartbeatRecord[][] = [];
  const seen = new Map<string, number>();
  for (const record of distinct) {
    // Only one of several keys is the machine's, so false keys must not add rounds.
    const claim = `${record.machineId}/${Buffer.from(record.publicKey).toString('hex')}`;
    const at = seen.get(claim) ?? 0;
    seen.set(claim, at + 1);
    (rounds[at] ??= []).push(record);
  }
  return rounds;
}

function byMachine(records: readonly HeartbeatRecord[]): Round {
  const round = new Map<string, HeartbeatRecord>();
  for (const record of records) round.set(record.machineId, record);
  return round;
}

const PROCESSOR = { processor: 'bmsrv' } as const;

/** Records that are not stored yet. */
interface Rest {
  readonly records: readonly HeartbeatRecord[];
  /** Heartbeats that are already stored. */
  readonly beats: Beats;
}

/**
 * Agents that were heard before and have nothing else to send or receive take one statement. The
 * others continue in a transaction, and those with locked rows in a second one, so that only these
 * wait.
 */
async function recordRound(
  context: RoundContext,
  records: readonly HeartbeatRecord[],
  outcomes: Outcomes,
): Promise<void> {
  const { db, loss, refused } = context;
  const asked = byMachine(records);
  const doing = doingOf(records);
  const rows = await db.once({ ...PROCESSOR, doing }, beating.beat, beatArgs(asked, loss));
  const beats = toBeats(rows, asked);
  const others: HeartbeatRecord[] = [];
  for (const record of records) {
    const beat = beats.get(record);
    if (beat && isAll(record, beat)) outcomes.set(record, accepted(beat));
    else others.push(record);
  }
  const held = await recordRest(context, { records: others, beats }, 'passing', outcomes);
  const isStuck = (record: HeartbeatRecord) => refused.has(record.machineId);
  const stuck = held.records.filter(isStuck);
  const hopeful = { ...held, records: held.records.filter((record) => !isStuck(record)) };
  const waited = await recordRest(context, hopeful, 'patient', outcomes);
  // A machine whose rows stay locked has made all the others wait in vain.
  const last = await recordRest(context, waited, 'passing', outcomes);
  for (const record of [...stuck, ...last.records]) outcomes.set(record, unavailable(record));
}

const doingOf = (records: readonly HeartbeatRecord[]) => `record ${records.length} heartbeats`;

/** True if the record is only a heartbeat. */
const isAll = (
  { hardwareReport, installationReport, acceptance, conditions = [] }: HeartbeatRecord,
  { isSameBoot, pending, permit, ladder, parked }: Beat,
): boolean =>
  isSameBoot &&
  !(pending || permit || ladder || parked) &&
  !hardwareReport?.length &&
  !installationReport &&
  !acceptance &&
  conditions.length === 0;

const unavailable = ({ machineId }: HeartbeatRecord): HeartbeatRefusal => ({
  kind: 'unavailable',
  error: new Locked(`could not record a heartbeat of machine ${machineId}: its rows are locked`),
});

const accepted = ({ atMs }: Beat, request?: HandedOut): HeartbeatOutcome => ({
  kind: 'accepted',
  atMs,
  installationRequest: null,
  ...request,
});

/** Runs in one transaction. @returns the records of machines with locked rows. */
async function recordRest(
  context: RoundContext,
  rest: Rest,
  manner: Manner,
  outcomes: Outcomes,
): Promise<Rest> {
  const { db, loss, lockTimeoutMs, acceptance } = context;
  const { records } = rest;
  if (records.length === 0) return rest;
  const options = { ...PROCESSOR, isolation: 'READ COMMITTED', lockTimeoutMs } as const;
  try {
    const done = await db.transact({ ...options, doing: doingOf(records) }, async (q) => {
      const { beats, held } = await beatOthers(q, { rest, loss, manner });
      const locked = manner === 'passing' ? await lockReports(q, beats) : NOBODY;
      const free = [...beats].filter(([record]) => !locked.has(record.machineId));
      const others = [...beats.keys()].filter((record) => locked.has(record.machineId));
      const left = { records: [...held, ...others], beats: new Map([...rest.beats, ...beats]) };
      return { ...(await complete(q, new Map(free), { loss, acceptance })), held: left };
    });
    for (const [record, outcome] of done.told) outcomes.set(record, outcome);
    for (const result of done.ended) context.onInstalled?.(result);
    return done.held;
  } catch (error) {
    // Nothing was written: the lock is on a row that cannot be skipped.
    if (error instanceof Locked) return rest;
    throw error;
  }
}

const NOBODY: ReadonlySet<string> = new Set();

interface BeatOthersOptions {
  readonly rest: Rest;
  readonly loss: LossPolicy;
  readonly manner: Manner;
}

/** Stores the heartbeats of known agents, which stay known until the transaction ends. */
async function beatOthers(
  q: Queries,
  { rest, loss, manner }: BeatOthersOptions,
): Promise<{ readonly beats: Beats; readonly held: readonly HeartbeatRecord[] }> {
  const { known, held } = await admit(q, rest.records, manner);
  const fresh = byMachine(known.filter((record) => !rest.beats.has(record)));
  const rows = fresh.size > 0 ? await q.rows(beating.beat, beatArgs(fresh, loss)) : [];
  const taken = new Map([...rest.beats, ...toBeats(rows, fresh)]);
  return { beats: new Map(known.map((record) => [record, taken.get(record)!])), held };
}

interface Completed extends Pick<Installations, 'ended'> {
  readonly told: Outcomes;
}

/** Handles everything else that comes with heartbeats. */
async function complete(
  q: Queries,
  beats: Beats,
  { loss, acceptance }: Pick<HeartbeatsContext, 'loss' | 'acceptance'>,
): Promise<Completed> {
  await endEpisodes(q, beats, loss);
  await writeAgentConditions(q, beats, await writeHardware(q, beats));
  await writeAcceptances(q, beats);
  const { faults, ended } = await writeInstallations(q, beats);
  const requests = await handOutRequests(q, beats, faults);
  const acceptances = await handOutAcceptances(q, beats, acceptance);
  const installed = await mayReboot(q, beats, faults);
  const outcomes: Outcomes = new Map();
  for (const [record, beat] of beats) {
    const { machineId } = record;
    const message = faults.get(record);
    const asked = acceptances.get(machineId);
    const word = {
      ...(installed.has(machineId) && ({ mayReboot: true } as const)),
      ...(asked && { acceptance: asked }),
    };
    outcomes.set(
      record,
      message === undefined
        ? { ...accepted(beat, requests.get(machineId)), ...word }
        : { kind: 'invalid', message },
    );
  }
  return { told: outcomes, ended };
}

/** Maximum machines per query; the next query reads the rest. */
const MACHINES_MAX = 10_000;

export const statements = {
  /** An agent sends its report with its second heartbeat, so younger starts are left out. */
  hardwareGaps: statement({
    name: 'hardware-gaps',
    params: { most: 'int4' },
    columns: { machine_id: 'uuid' },
    text: ({ most }) =>
      `SELECT s.machine_id FROM machine_agent_started s
       JOIN machine_agent_heartbeat h ON h.machine_id = s.machine_id
       WHERE s.agent_started_at < now() - interval '2 minutes'
         AND h.agent_heartbeat_at > now() - interval '10 minutes'
         AND NOT EXISTS (
           SELECT FROM machine_hardware_report r WHERE r.machine_id = s.machine_id)
       ORDER BY s.machine_id LIMIT ${most}`,
  }),
};

/** See `HeartbeatStore.withoutHardware`. */
export async function readHardwareGaps(db: Database): Promise<MachineId[]> {
  const doing = 'read which hardware reports are missing';
  const rows = await db.once({ processor: 'bmsrv', doing }, statements.hardwareGaps, {
    most: MACHINES_MAX,
  });
  return rows.map((row) => machineId(row.machine_id));
}
