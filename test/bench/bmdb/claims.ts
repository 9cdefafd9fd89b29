import pLimit from 'p-limit';
import type pg from 'pg';
import type { Bmdb, BmdbSession, Work } from '../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { measureRate, shares } from '../measure.ts';
import type { Measurement } from '../measure.ts';

export interface ClaimOptions {
  readonly bmdb: Bmdb;
  readonly machines: readonly MachineId[];
  readonly callers: number;
  readonly warmMs: number;
  readonly spanMs: number;
}

const PROCESS = 'ShepherdAgentStart';
/** Longer than any run, so that no poke is needed. */
const SESSION = { component: 'shepherd', runtimeInfo: 'bench', intervalMs: 600_000 };
const SETTLING_AT_ONCE = 500;

/** Claims alone: each caller claims one machine after the other and keeps them. */
export const measureClaims = (options: ClaimOptions): Promise<Measurement> =>
  withSession(options.bmdb, async (session) => {
    const mine = shares(options.machines, options.callers).map((share) => share.values());
    const taken: Work[] = [];
    const measured = await measureRate({
      ...options,
      once: async (caller) => {
        const next = mine[caller]!.next();
        if (next.done) return false;
        taken.push(await session.claim(PROCESS, next.value));
        return true;
      },
    });
    const limit = pLimit(SETTLING_AT_ONCE);
    await Promise.all(taken.map((work) => limit(() => work.finish({ kind: 'nothing' }))));
    return measured;
  });

/** Claim and finish, with both history lines. Each caller cycles through its own machines. */
export const measureCycles = (options: ClaimOptions): Promise<Measurement> =>
  measureRounds(options, (work) => work.finish({ kind: 'nothing' }));

/** A whole agent start as the daemon records it. Afterwards every machine is as before. */
export async function measureAgentStarts(
  options: ClaimOptions & { readonly sql: pg.Pool },
): Promise<Measurement> {
  const measured = await measureRounds({ ...options, machinesOnce: true }, async (work) => {
    await work.note({ kind: 'agentStartAttempt' });
    await work.finish({
      kind: 'agentStarted',
      publicKey: new Uint8Array(32),
      bootId: 'bench',
      hostKey: 'bench',
      warnings: [],
    });
  });
  await options.sql.query(`DELETE FROM machine_agent_started WHERE boot_id = 'bench'`);
  return measured;
}

const measureRounds = (
  options: ClaimOptions & { readonly machinesOnce?: boolean },
  end: (work: Work) => Promise<void>,
): Promise<Measurement> =>
  withSession(options.bmdb, (session) => {
    const mine = shares(options.machines, options.callers);
    const next = mine.map(() => 0);
    return measureRate({
      ...options,
      once: async (caller) => {
        const at = next[caller]!++;
        const own = mine[caller]!;
        if (options.machinesOnce && at >= own.length) return false;
        await end(await session.claim(PROCESS, own[at % own.length]!));
        return true;
      },
    });
  });

async function withSession<T>(bmdb: Bmdb, use: (session: BmdbSession) => Promise<T>): Promise<T> {
  const session = await bmdb.openSession(SESSION);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}
