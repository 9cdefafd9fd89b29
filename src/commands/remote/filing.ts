import { UsageError } from '../../domain/errors.ts';
import { answersText, exitCodeOf, type Answer } from '../machine/answers-text.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { spanText } from '../../lib/texts.ts';
import type { Batch, Fleet, Pools, Request } from './answers.ts';
import { EXIT_FAILED, EXIT_NOT_SETTLED, interruptOf, isAway, Refused } from './failures.ts';
import { guardTexts } from './fleet.ts';
import { documentText, isData } from './output.ts';
import { ASK_AGAIN_MS, sendOnce } from './sending.ts';
import type { Session, Told } from './session.ts';

/** How something is asked for, whatever it is. */
export interface AskFlags {
  readonly reason: string;
  readonly key?: string;
  /** Milliseconds. */
  readonly wait?: number;
  readonly validFor?: number;
}

/** What is sent to ask for something. */
export type AskBody = { readonly verb: string } & Readonly<Record<string, unknown>>;

/** @throws {UsageError} it is not said why, or the key is too long. */
export function requireReason({ reason, key }: AskFlags): void {
  if (reason.trim() === '') throw new UsageError('say why: --reason must not be empty');
  if (key !== undefined && (key.length > KEY_MAX || key === '')) {
    throw new UsageError(`give a --key of 1 to ${KEY_MAX} characters`);
  }
}
const KEY_MAX = 200;

/** The API waits so long with an answer at most. */
const WAIT_MAX_S = 60;
const LOOK_MS = 500;

/**
 * Once all of it is done: waits until what was asked for has come about, too.
 * @param endMs monotonic.
 */
export type Follow = (filed: Request | Batch, endMs: number) => Promise<Followed>;
export interface Followed {
  readonly exitCode: number;
  readonly lines: readonly string[];
  readonly json: object;
}

/** How what is asked for is waited for. */
export interface Waiting {
  readonly waitMs: number;
  readonly follow?: Follow;
}

/** Asks for it once for each key, and waits until it is settled, at most so long. */
export async function file(
  body: AskBody,
  flags: AskFlags & Waiting,
  session: Session,
): Promise<Told> {
  const { client, monotonic, uuid } = session;
  const key = flags.key ?? uuid();
  const endMs = monotonic() + flags.waitMs;
  const post = () => {
    const seconds = Math.min(WAIT_MAX_S, Math.ceil((endMs - monotonic()) / 1_000));
    return client.send<Request | Batch>('POST', '/requests', {
      body: { ...body, ...commonOf(flags) },
      headers: {
        'idempotency-key': JSON.stringify(key),
        ...(seconds > 0 && { prefer: `wait=${seconds}` }),
      },
    });
  };
  const askUntilMs = monotonic() + Math.max(flags.waitMs, ASK_AGAIN_MS);
  let filed: Request | Batch;
  try {
    filed = await sendOnce(key, post, askUntilMs, session);
  } catch (error) {
    if (isRefusal(error) && !isData(session.format)) return refusedText(body, error, key, session);
    throw error;
  }
  return goOn({ verb: body.verb, key, filed }, { ...flags, endMs }, session);
}

/** What is filed, under which key. */
export interface FiledOrder {
  readonly verb: string;
  readonly key: string;
  readonly filed: Request | Batch;
}

/** Waits until what is filed is settled, and tells how it stands. */
export async function goOn(
  { verb, key, filed }: FiledOrder,
  { waitMs, endMs, follow }: Waiting & { readonly endMs: number },
  session: Session,
): Promise<Told> {
  const settled = await untilSettled(filed, endMs, session);
  const waits = waitMs > 0;
  const followed = waits && isDone(settled) ? await follow?.(settled, endMs) : undefined;
  const told = await toldOf({ verb, key, filed: settled }, { waits, followed }, session);
  const isOver = followed ? followed.exitCode !== EXIT_NOT_SETTLED : !isOpen(settled);
  if (!session.signal.aborted || !waits || isOver) return told;
  return { ...told, exitCode: interruptOf(session.signal).exitCode };
}

/** Nothing was filed, since it cannot be done as things are. */
const isRefusal = (error: unknown): error is Refused =>
  error instanceof Refused && error.code === 'refused';

interface Refusal {
  readonly reason: string;
  readonly count: number;
}

function refusedText(
  { verb, slots }: AskBody,
  { problem }: Refused,
  key: string,
  session: Session,
): Told {
  const [only, ...others] = (slots ?? []) as readonly string[];
  const isOne = only !== undefined && others.length === 0;
  const of = isOne ? only : 'several';
  const refusals = (problem['refusals'] ?? []) as readonly Refusal[];
  const why = refusals.map(({ reason, count }) => `${count}: ${reason}`);
  const answer = { of, state: 'refused', outcome: problem.detail, expiresAtMs: null } as const;
  const text = answersText({ verb, key, answers: [answer], why, width: session.width });
  return { text: session.paint(text), exitCode: EXIT_FAILED };
}

export const commonOf = ({ reason, validFor }: AskFlags) => ({
  reason,
  ...(validFor !== undefined && { validForMs: validFor }),
});

const isBatch = (found: Request | Batch): found is Batch => 'counts' in found;
const isOpen = (found: Request | Batch): boolean =>
  isBatch(found) ? found.counts.open > 0 : found.state === 'open';
const isDone = (found: Request | Batch): boolean =>
  isBatch(found) ? found.counts.open + found.counts.refused === 0 : found.state === 'done';

/** What cannot be read now is looked for again: it is filed, whatever happens to us. */
async function untilSettled(
  filed: Request | Batch,
  endMs: number,
  { client, monotonic, sleep, signal }: Session,
): Promise<Request | Batch> {
  let found = filed;
  while (isOpen(found) && !signal.aborted) {
    const leftMs = endMs - monotonic();
    if (leftMs <= 0) return found;
    await sleep(Math.min(LOOK_MS, leftMs));
    if (signal.aborted) return found;
    const path = `/${isBatch(found) ? 'batches' : 'requests'}/${encodeURIComponent(found.key)}`;
    try {
      found = await client.get<Request | Batch>(path);
    } catch (error) {
      if (!isAway(error) && !signal.aborted) throw error;
    }
  }
  return found;
}

async function toldOf(
  { verb, key, filed }: FiledOrder,
  { waits, followed }: { readonly waits: boolean; readonly followed: Followed | undefined },
  session: Session,
): Promise<Told> {
  const { format, width, signal } = session;
  const requests = isBatch(filed) ? filed.requests : [filed];
  const answers = requests.map(answerOf);
  const exitCode = followed?.exitCode ?? exitCodeOf(answers, waits);
  if (isData(format)) {
    return { text: await documentText({ ...filed, ...followed?.json }, format), exitCode };
  }
  if (format === 'name') return { text: answers.map(({ of }) => of).join('\n'), exitCode };
  const why = isOpen(filed) && waits && !signal.aborted ? await whyOpen(requests, session) : [];
  const notes = [...(isBatch(filed) ? leftOut(filed) : []), ...why, ...(followed?.lines ?? [])];
  const text = answersText({ verb, key, answers, why: notes, width });
  return { text: session.paint(text), exitCode };
}

const leftOut = ({ counts, requests }: Batch): string[] => {
  const all = counts.open + counts.done + counts.refused;
  if (all === requests.length) return [];
  const { open, done, refused } = counts;
  return [`of ${all} in all these are the first: ${done} done, ${refused} refused, ${open} open`];
};

const answerOf = (request: Request): Answer => ({
  of: request.slot ?? poolIn(request) ?? request.provider ?? 'fleet',
  state: request.state,
  outcome: request.outcome,
  expiresAtMs: request.expiresAtMs,
});

const poolIn = ({ pool, balancer }: Request): string | null =>
  pool === null || balancer === null ? pool : `${pool} at ${balancer}`;

const WAITS = 'not settled yet; it is carried out as soon as it can be, while it is valid';

/** What keeps it from being carried out, as far as the fleet as a whole and its pools tell. */
async function whyOpen(
  requests: readonly Request[],
  { client, signal }: Session,
): Promise<string[]> {
  try {
    const fleet = await client.get<Fleet>('/fleet');
    const spent = fleet.budget
      .filter(({ permits, budget }) => permits >= budget)
      .map(({ scope, permits }) => `${scope}: ${permits} being recovered, and no more may be now`);
    const guard = guardTexts(fleet).filter((line) => !line.endsWith('not frozen'));
    return [WAITS, ...guard, ...spent, ...untended(requests, await client.get<Pools>('/pools'))];
  } catch (error) {
    if (error instanceof Refused || isAway(error) || signal.aborted) return [WAITS];
    throw error;
  }
}

/** Pools that have to let a machine go first, and that no daemon tends. */
const untended = (requests: readonly Request[], { atMs, pools }: Pools): string[] =>
  pools
    .filter(({ isTended, paused, members }) => {
      const waits = members.filter(mayServe).map(({ slot }) => slot);
      return (
        !isTended &&
        paused === null &&
        requests.some(({ slot }) => slot !== null && waits.includes(slot))
      );
    })
    .map(({ pool, balancer, settledAtMs: at }) => {
      const settled = at === null ? 'never settled' : `settled ${spanText(atMs - at)} ago`;
      return `pool ${pool} at ${balancer} ${settled}, and no daemon tends it: "shepherd lb status ${pool}" tells more`;
    });
