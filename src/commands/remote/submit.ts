import { UsageError } from '../../domain/errors.ts';
import { answersText, exitCodeOf, type RequestOutcome } from '../machine/answers-text.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { spanText } from '../../lib/texts.ts';
import { columnLines, paragraph } from '../layout.ts';
import type { Batch, Fleet, Pools, Preview, Request } from './answers.ts';
import { EXIT_FAILED, EXIT_NOT_SETTLED, interruptOf, isAway, Refused } from './failures.ts';
import { guardTexts } from './fleet.ts';
import { isData } from './output.ts';
import { ASK_AGAIN_MS, sendOnce } from './sending.ts';
import type { Session, CommandOutput } from './session.ts';

/** Flags of every request. */
export interface AskFlags {
  readonly reason: string;
  readonly key?: string;
  /** Milliseconds. */
  readonly wait?: number;
  readonly validFor?: number;
}

/** The body of a request. */
export type AskBody = { readonly verb: string } & Readonly<Record<string, unknown>>;

/** The API waits at most this long before it answers. */
const WAIT_MAX_S = 60;
const LOOK_MS = 500;

/**
 * Waits for the effect of a request that is done.
 * @param endMs monotonic.
 */
export type Follow = (submitted: Request | Batch, endMs: number) => Promise<Followed>;
export interface Followed {
  readonly exitCode: number;
  readonly lines: readonly string[];
  readonly json: object;
}

/** How a command waits for its request. */
export interface WaitOptions {
  /** Default of `--wait`. */
  readonly waitMs: number;
  readonly follow?: Follow;
}

interface Begun {
  /** End of a wait that has begun already. */
  readonly endMs?: number;
}

/** Sends a request, and waits until it has an outcome or the time is over. One key makes one request. */
export async function submit(
  session: Session,
  body: AskBody,
  flags: AskFlags & WaitOptions,
): Promise<CommandOutput> {
  const { client, monotonic, uuid } = session;
  const key = flags.key ?? uuid();
  const waitMs = flags.wait ?? flags.waitMs;
  const endMs = monotonic() + waitMs;
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
  const askUntilMs = monotonic() + Math.max(waitMs, ASK_AGAIN_MS);
  let submitted: Request | Batch;
  try {
    submitted = await sendOnce(key, post, askUntilMs, session);
  } catch (error) {
    if (isRefusal(error) && !isData(session.format)) return refusedText(body, error, key);
    throw inOwnWords(error, session);
  }
  return goOn({ verb: body.verb, key, submitted }, { ...flags, endMs }, session);
}

/** A request that was sent, and its key. */
export interface SubmittedOrder {
  readonly verb: string;
  readonly key: string;
  readonly submitted: Request | Batch;
}

/** Waits until a request has an outcome, and reports its state. */
export async function goOn(
  { verb, key, submitted }: SubmittedOrder,
  { wait, waitMs, follow, endMs: untilMs }: Pick<AskFlags, 'wait'> & WaitOptions & Begun,
  session: Session,
): Promise<CommandOutput> {
  const forMs = wait ?? waitMs;
  const endMs = untilMs ?? session.monotonic() + forMs;
  const ended = await untilEnded(submitted, endMs, session);
  const waits = forMs > 0;
  const followed = waits && isDone(ended) ? await follow?.(ended, endMs) : undefined;
  const told = await toldOf({ verb, key, submitted: ended }, { waits, followed }, session);
  const isOver = followed ? followed.exitCode !== EXIT_NOT_SETTLED : !isOpen(ended);
  if (!session.signal.aborted || !waits || isOver) return told;
  return { ...told, exitCode: interruptOf(session.signal).exitCode };
}

/** The console refused the request, so no request exists. */
const isRefusal = (error: unknown): error is Refused =>
  error instanceof Refused && error.code === 'refused';

interface RefusalCount {
  readonly reason: string;
  readonly count: number;
}

function refusedText({ verb, slots }: AskBody, { problem }: Refused, key: string): CommandOutput {
  const [only, ...others] = (slots ?? []) as readonly string[];
  const isOne = only !== undefined && others.length === 0;
  const of = isOne ? only : 'several';
  const refusals = (problem['refusals'] ?? []) as readonly RefusalCount[];
  const why = refusals.map(({ reason, count }) => `${count}: ${reason}`);
  const answer = { of, state: 'refused', outcome: problem.detail, expiresAtMs: null } as const;
  return {
    text: (width) => answersText({ verb, key, answers: [answer], why, width }),
    exitCode: EXIT_FAILED,
  };
}

/** Shows what a request would do, without sending it. */
export async function foretell(
  session: Session,
  body: AskBody,
  flags: AskFlags,
): Promise<CommandOutput> {
  const { client, uuid } = session;
  const asked = client.send<Preview>('POST', '/requests', {
    body: { ...body, ...commonOf(flags) },
    query: { dryRun: 'true' },
    headers: { 'idempotency-key': uuid() },
  });
  const preview = await asked.catch((error: unknown) => {
    throw inOwnWords(error, session);
  });
  return {
    ...{ document: preview, names: preview.machines.map(({ slot }) => slot) },
    text: (width) => previewText(preview, isBulk(body), width),
  };
}

/** The request is about several machines, whose number must be confirmed. */
const isBulk = ({ slots, selector }: AskBody): boolean =>
  selector !== undefined || (Array.isArray(slots) && slots.length > 1);

function previewText(preview: Preview, isOfSeveral: boolean, width: number): string {
  const { would, lost, isDestroying, machines, count, refusals, waits } = preview;
  const confirm = [
    ...(isOfSeveral ? [`--expect-count ${count}`] : []),
    ...(isDestroying ? ['--yes'] : []),
  ].join(' ');
  const head = `would ${would ?? `request ${preview.verb}`}${lost === null ? '' : `; ${lost}`}`;
  const lines = columnLines(
    machines.map(({ slot, state, substate }) => [
      `    ${slot}`,
      state === null ? 'unknown slot' : `${state} · ${substate}`,
    ]),
  );
  const reasons = [
    ...refusals.map(({ reason, count: of }) => `REFUSED for ${of}: ${reason}`),
    ...waits.map(({ reason, count: of }) => `${of} would wait: ${reason}`),
  ];
  const more = count > machines.length ? [`    and ${count - machines.length} more`] : [];
  return [
    paragraph(machines.length === 0 ? head : `${head}:`, width),
    ...lines,
    ...more,
    ...reasons.map((each) => paragraph(each, width)),
    `nothing was done${confirm === '' ? '' : `; confirm with ${confirm}`}`,
  ].join('\n');
}

/** Names of fields of the API, and the options that set them. */
const OWN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bselector\.states\b/g, '--state'],
  [/\bselector\.(?=\w)/g, '--'],
  [/\bby slots\b|^slots\b/g, 'by --slots'],
  [/\bexpectCount\b/g, '--expect-count'],
  [/\bdryRun=true\b/g, '--dry-run'],
];

/** Translates a usage error of the API to the names of options. With -o json the error stays as it is. */
function inOwnWords(error: unknown, { format }: Session): unknown {
  if (isData(format)) return error;
  if (!(error instanceof Refused) || !['malformed', 'changed'].includes(error.code)) return error;
  const own = (text: string, [theirs, ours]: (typeof OWN_WORDS)[number]) =>
    text.replaceAll(theirs, ours);
  return new UsageError(OWN_WORDS.reduce(own, error.message));
}

const commonOf = ({ reason, validFor }: AskFlags) => ({
  reason,
  ...(validFor !== undefined && { validForMs: validFor }),
});

const isBatch = (found: Request | Batch): found is Batch => 'counts' in found;
const isOpen = (found: Request | Batch): boolean =>
  isBatch(found) ? found.counts.open > 0 : found.state === 'open';
const isDone = (found: Request | Batch): boolean =>
  isBatch(found) ? found.counts.open + found.counts.refused === 0 : found.state === 'done';

/** Asks again while the console is away, because the request exists already. */
async function untilEnded(
  submitted: Request | Batch,
  endMs: number,
  { client, monotonic, sleep, signal }: Session,
): Promise<Request | Batch> {
  let found = submitted;
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
  { verb, key, submitted }: SubmittedOrder,
  { waits, followed }: { readonly waits: boolean; readonly followed: Followed | undefined },
  session: Session,
): Promise<CommandOutput> {
  const { format, signal } = session;
  const requests = requestsIn(submitted);
  const answers = requests.map(answerOf);
  const isAsked = isOpen(submitted) && waits && !signal.aborted && !isData(format);
  const open = isAsked ? await whyOpen(requests, session) : [];
  const why = [
    ...(isBatch(submitted) ? leftOut(submitted) : []),
    ...open,
    ...(followed?.lines ?? []),
  ];
  return {
    document: { ...submitted, ...followed?.json },
    names: answers.map(({ of }) => of),
    text: (width) => answersText({ verb, key, answers, why, width }),
    exitCode: followed?.exitCode ?? exitCodeOf(answers, waits),
  };
}

export const requestsIn = (submitted: Request | Batch): readonly Request[] =>
  isBatch(submitted) ? submitted.requests : [submitted];

const leftOut = ({ counts, requests }: Batch): string[] => {
  const all = counts.open + counts.done + counts.refused;
  if (all === requests.length) return [];
  const { open, done, refused } = counts;
  return [
    `only the first ${requests.length} of ${all} requests are shown; in total: ${done} done, ${refused} refused, ${open} open`,
  ];
};

const answerOf = (request: Request): RequestOutcome => ({
  of: request.slot ?? poolIn(request) ?? request.provider ?? 'fleet',
  state: request.state,
  outcome: request.outcome,
  expiresAtMs: request.expiresAtMs,
});

const poolIn = ({ pool, balancer }: Request): string | null =>
  pool === null || balancer === null ? pool : `${pool} at ${balancer}`;

const WAITS = 'no outcome yet; daemons carry the request out as soon as possible while it is valid';

/** Why a request is still open, as far as the state of the fleet and its pools shows. */
async function whyOpen(
  requests: readonly Request[],
  { client, signal }: Session,
): Promise<string[]> {
  try {
    const fleet = await client.get<Fleet>('/fleet');
    const spent = fleet.budget
      .filter(({ permits, budget }) => permits >= budget)
      .map(
        ({ scope, permits, budget }) =>
          `${scope}: ${permits} of ${budget} recovery permits are in use`,
      );
    const guard = guardTexts(fleet).filter((line) => !line.endsWith('not frozen'));
    return [WAITS, ...guard, ...spent, ...untended(requests, await client.get<Pools>('/pools'))];
  } catch (error) {
    if (error instanceof Refused || isAway(error) || signal.aborted) return [WAITS];
    throw error;
  }
}

/** Pools that must release a machine first, and that no daemon manages. */
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
      const settled =
        at === null ? 'was never settled' : `was last settled ${spanText(atMs - at)} ago`;
      return `pool ${pool} at ${balancer} ${settled}, and no daemon manages it: see "shepherd lb status ${pool}"`;
    });
