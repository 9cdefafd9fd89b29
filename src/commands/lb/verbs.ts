import { sleep } from '../../adapters/clock/port.ts';
import type { MemberSummary, PoolSummary } from '../../console/port.ts';
import type { PoolVerb } from '../../domain/machine.ts';
import { answersText } from '../machine/answers-text.ts';
import { askAll, exitCodeOf, type Answer } from '../machine/ask.ts';
import {
  readFleet,
  requireWhoAndWhy,
  type AskOptions,
  type Means,
  type Told,
} from '../machine/command.ts';
import { paragraph } from '../machine/layout.ts';
import { whyOpen } from '../machine/why-open.ts';
import { jsonLine, printable } from '../text-table.ts';
import { UsageError } from '../../domain/errors.ts';
import { noSuchPool } from './observed.ts';
import { summariesOf } from './status.ts';

export interface PoolVerbOptions extends AskOptions {
  readonly verb: PoolVerb;
  readonly pool: string;
  /** Only at this one; at all that the pool has when absent. */
  readonly balancer?: string | undefined;
  /** Agrees to what takes a service away; otherwise it is only told. */
  readonly yes: boolean;
}

const WAIT_MS = 30_000;
/** All is to be removed, and that is waited for. */
const TEARDOWN_WAIT_MS = 120_000;
const LOOK_MS = 1_000;

/**
 * `shepherd lb pause|resume|thaw|teardown POOL`: files a request, which the daemon that tends the
 * balancer carries out, and waits for it; of a tear-down also until all of it is gone.
 * @throws {UsageError} there is no such pool, or it is not at that balancer: nothing was done.
 */
export async function runPoolVerb(options: PoolVerbOptions, means: Means): Promise<Told> {
  requireWhoAndWhy(options);
  const { verb, pool, balancer, by, reason, validForMs, json, yes } = options;
  const places = placesNamed(options, summariesOf(await readFleet(means), means));
  const isTeardown = verb === 'teardown-pool';
  if (isTeardown && !yes) return wouldTearDown(options, places, means);
  const key = options.key ?? means.random.uuid();
  const waitMs = options.waitMs ?? (isTeardown ? TEARDOWN_WAIT_MS : WAIT_MS);
  const endMs = means.clock.monotonic() + waitMs;
  const request = {
    key,
    by,
    reason,
    what: { verb, pool, balancer: balancer ?? null },
    ...(validForMs !== undefined && { validForMs }),
  };
  const of = balancer === undefined ? pool : `${pool} at ${balancer}`;
  const answers = await askAll([{ of, machineId: null, request }], { ...means, waitMs });
  const asked = exitCodeOf(answers, waitMs > 0);
  const isDone = answers.every(({ state }) => state === 'done');
  const left = isTeardown && isDone && waitMs > 0 ? await leftOf(options, endMs, means) : null;
  const exitCode = left !== null && left.length > 0 ? OPEN : asked;
  if (json) {
    const requests = answers.map(({ of: _, machineId: __, ...rest }: Answer) => rest);
    const rest = left === null ? {} : { left };
    const about = { pool, balancer: balancer ?? null };
    return { text: jsonLine({ verb, ...about, key, dryRun: false, requests, ...rest }), exitCode };
  }
  const isOpen = answers.some(({ state }) => state === 'open');
  const why = [
    ...(isOpen ? await whyOpen({ isOrder: false, waited: waitMs > 0 }, means) : []),
    ...(left === null ? [] : leftText(left)),
  ];
  return { text: answersText({ verb, key, answers, why, width: means.width }), exitCode };
}

/** Filed, but not all of it is done. */
const OPEN = 3;

/**
 * Where it is meant: at all balancers of which something is configured or recorded, or at one.
 * @throws {UsageError} there is no such pool, or it is not at that balancer.
 */
export function placesNamed(
  { pool, balancer }: Pick<PoolVerbOptions, 'pool' | 'balancer'>,
  all: readonly PoolSummary[],
): readonly PoolSummary[] {
  const own = all.filter((each) => each.pool === pool);
  if (own.length === 0) throw noSuchPool(pool, [...new Set(all.map((each) => each.pool))]);
  const places = own.filter((each) => balancer === undefined || each.balancer === balancer);
  if (places.length > 0) return places;
  const known = own.map((each) => each.balancer).join(', ');
  throw new UsageError(`pool ${pool} is not at ${printable(balancer ?? '')}, but at ${known}`);
}

function wouldTearDown(
  { verb, pool, json }: PoolVerbOptions,
  places: readonly PoolSummary[],
  { width }: Means,
): Told {
  const at = places.map(({ balancer, members }) => ({ balancer, members: members.length }));
  if (json) return { text: jsonLine({ verb, pool, key: null, dryRun: true, at }), exitCode: 0 };
  const head = `all of pool ${pool} would be removed; nobody finds it any more at:`;
  const lines = at.map(({ balancer, members }) => `    ${balancer}, with ${members} members`);
  const tail = 'nothing was done; confirm with --yes';
  return { text: [paragraph(head, width), ...lines, tail].join('\n'), exitCode: 0 };
}

/** What is there of it still, once it is gone or the time is over. */
async function leftOf(
  options: PoolVerbOptions,
  endMs: number,
  means: Means,
): Promise<readonly Left[]> {
  const { clock, signal } = means;
  for (;;) {
    const left = summariesOf(await readFleet(means), means)
      .filter(({ pool, balancer }) => isMeant(options, pool, balancer))
      .filter((place) => !isGone(place))
      .map(({ balancer, state, reason, members }) => ({
        ...{ balancer, state, reason },
        members: members.filter(isThere).length,
      }));
    if (left.length === 0 || clock.monotonic() >= endMs || signal.aborted) return left;
    await sleep(clock, LOOK_MS, signal).catch(() => undefined);
  }
}

interface Left {
  readonly balancer: string;
  readonly state: string | null;
  readonly reason: string | null;
  readonly members: number;
}

const isMeant = (
  options: Pick<PoolVerbOptions, 'pool' | 'balancer'>,
  pool: string,
  balancer: string,
): boolean =>
  pool === options.pool && (options.balancer === undefined || balancer === options.balancer);

const isThere = ({ state }: Pick<MemberSummary, 'state'>): boolean => state !== 'drained';

/** Each member was let go, and it was seen to be as desired, that is not there, since it was asked. */
const isGone = ({ state, tornDown, members, settledAtMs }: PoolSummary): boolean =>
  state === null ||
  (tornDown !== null &&
    !members.some(isThere) &&
    settledAtMs !== null &&
    settledAtMs >= tornDown.atMs);

const leftText = (left: readonly Left[]): string[] =>
  left.length === 0
    ? ['all of it is gone']
    : left.map(({ balancer, state, reason, members }) =>
        [
          `NOT GONE YET at ${balancer}: ${state ?? 'nothing was done yet'}, ${members} members left`,
          ...(reason === null ? [] : [reason]),
        ].join('; '),
      );
