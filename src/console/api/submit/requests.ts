import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RequestBatch, RequestState } from '../../../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../../../adapters/clock/port.ts';
import { isOrder } from '../../../domain/verbs.ts';
import { API, described, read, type Api } from '../kit.ts';
import { MachineParams, requireMachine } from '../machine.ts';
import { problemOf } from '../failures.ts';
import { Problem } from '../problem.ts';
import { named } from '../schemas.ts';
import {
  batchAnswer,
  BatchSchema,
  PreviewSchema,
  requestAnswer,
  RequestSchema,
} from './answers.ts';
import { AskSchema } from './body.ts';
import { createSubmission, type Submitted, type SubmissionDeps } from './submit.ts';
import { addRequestList } from './request-list.ts';

const KeyParams = z.object({ key: z.string().min(1).max(200) });
const Headers = z.looseObject({
  'idempotency-key': z
    .string()
    .min(1)
    .max(202)
    .describe(
      'Idempotency key, with or without quotes. Two calls with the same key make one request.',
    ),
  'if-match': z
    .string()
    .optional()
    .describe('Last known ETag of the machine. Only for requests about one machine.'),
  prefer: z
    .string()
    .optional()
    .describe('`wait=30`: wait up to 30 seconds for the outcome. Maximum: 60 seconds.'),
});
const flag = z.enum(['true', 'false']).default('false');

/** `requests`, `batches`: operator requests, and their outcome. */
export function addSubmission(api: Api, deps: SubmissionDeps): void {
  addPost(api, deps);
  addReads(api, deps);
  addOffers(api, deps);
  addDelete(api, deps);
}

export const VerbsSchema = named(
  'Verbs',
  z.object({
    verbs: z
      .array(
        z.object({
          verb: z.string(),
          refusal: z
            .string()
            .nullable()
            .describe('Why the request would be refused. Null: it would be accepted.'),
        }),
      )
      .readonly()
      .describe(
        'Verbs without effect are left out, such as `unhold` for a machine without a hold.',
      ),
  }),
);

function addOffers(api: Api, deps: SubmissionDeps): void {
  const submission = createSubmission(deps);
  api.get(
    '/machines/:provider/:slot/verbs',
    read('requests', 'Verbs for one machine', VerbsSchema, { params: MachineParams }),
    async ({ params }) => {
      const { view } = requireMachine(deps.fleet, params);
      return { verbs: await submission.offers(view.slot) };
    },
  );
}

function addPost(api: Api, deps: SubmissionDeps): void {
  const submission = createSubmission(deps);
  api.post(
    '/requests',
    described(
      'operate',
      ['requests', 'Submit a request; with dryRun, only preview its effect'],
      {
        200: z.union([PreviewSchema, RequestSchema, BatchSchema]),
        202: z.union([RequestSchema, BatchSchema]),
      },
      { headers: Headers, querystring: z.strictObject({ dryRun: flag }), body: AskSchema },
    ),
    async (request, reply) => {
      const { person, body } = request;
      const key = keyOf(request.headers['idempotency-key']);
      const seen = request.headers['if-match'];
      if (request.query.dryRun === 'true') {
        return submission.preview(body, { person, seen });
      }
      const asked = submission.submit(body, { person, key, seen });
      const tell = (outcome: string) => deps.onAsked?.(body.verb, person.via, outcome);
      asked.then(
        () => tell('filed'),
        (error: unknown) => tell(problemOf(error).code),
      );
      const submitted = await asked;
      return answer(reply, await waitedFor(deps, submitted, request), submitted);
    },
  );
}

const KEY_MAX = 200;

/**
 * The draft writes the key as a quoted string of a structured field; tools send it without quotes.
 * @throws {Problem} it is empty, or too long.
 */
function keyOf(header: string): string {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (key.length > 0 && key.length <= KEY_MAX) return key;
  throw new Problem('malformed', `give an idempotency key of 1 to ${KEY_MAX} characters`);
}

type RequestOrBatch = RequestState | RequestBatch;
const isBatch = (found: RequestOrBatch): found is RequestBatch => 'head' in found;
const isOpen = (found: RequestOrBatch): boolean =>
  isBatch(found) ? found.requests.some(({ state }) => state === 'open') : found.state === 'open';

const WAIT_MAX_S = 60;

/** @param submitted its state when it was stored. */
async function waitedFor(
  { requests, clock }: SubmissionDeps,
  submitted: Submitted,
  request: FastifyRequest,
): Promise<RequestOrBatch> {
  const found = 'batch' in submitted ? submitted.batch : submitted.request;
  const [, seconds = '0'] =
    /(?:^|[,;\s])wait=(\d{1,4})/.exec(String(request.headers['prefer'])) ?? [];
  const gone = new AbortController();
  const leave = () => gone.abort();
  request.raw.socket.once('close', leave);
  const { signal } = gone;
  const again = async (before: RequestOrBatch): Promise<RequestOrBatch> => {
    if (isBatch(before)) return (await requests.readBatch(before.head.key, signal)) ?? before;
    return (await requests.read([before.key], signal))[0] ?? before;
  };
  try {
    return await untilEnded(
      found,
      // A failed read is repeated: the request is stored, whatever happens to this process.
      { isOpen, read: (before) => again(before).catch(() => before) },
      { clock, signal, waitMs: Math.min(Number(seconds), WAIT_MAX_S) * 1_000 },
    );
  } finally {
    request.raw.socket.off('close', leave);
  }
}

function answer(reply: FastifyReply, found: RequestOrBatch, submitted: Submitted) {
  const key = 'batch' in submitted ? submitted.batch.head.key : submitted.request.key;
  const resource = 'batch' in submitted ? 'batches' : 'requests';
  reply.header('location', `${API}/${resource}/${encodeURIComponent(key)}`);
  reply.code(isOpen(found) ? 202 : 200);
  return isBatch(found) ? batchAnswer(found) : requestAnswer(found);
}

function addReads(api: Api, deps: SubmissionDeps): void {
  const { requests } = deps;
  const unaborted = new AbortController().signal;
  addRequestList(api, requests);
  api.get(
    '/requests/:key',
    read('requests', 'The state of a request', RequestSchema, { params: KeyParams }),
    async ({ params: { key } }) => requestAnswer(await readOne(deps, key)),
  );
  api.get(
    '/batches/:key',
    read('requests', 'The state of a batch of requests', BatchSchema, { params: KeyParams }),
    async ({ params: { key } }) => {
      const batch = await requests.readBatch(key, unaborted);
      if (batch === null) throw new Problem('not-found', 'No batch has this key');
      return batchAnswer(batch);
    },
  );
}

async function readOne({ requests }: SubmissionDeps, key: string): Promise<RequestState> {
  const [found] = await requests.read([key], new AbortController().signal);
  if (found) return found;
  throw new Problem('not-found', 'No request has this key');
}

/** Cancelling is a request too, so that it appears in the audit. */
function addDelete(api: Api, deps: SubmissionDeps): void {
  const submission = createSubmission(deps);
  api.delete(
    '/requests/:key',
    described(
      'operate',
      ['requests', 'Withdraw an order that has not begun: submits a request to withdraw it'],
      { 200: RequestSchema, 202: RequestSchema },
      {
        headers: Headers.partial({ 'idempotency-key': true }),
        params: KeyParams,
        querystring: z.strictObject({ reason: z.string().trim().min(1).max(2_000).optional() }),
      },
    ),
    async (request, reply) => {
      const order = await readOne(deps, request.params.key);
      const { key, verb, machineId, state } = order;
      if (state !== 'open') throw new Problem('refused', `The request is ${state} already`);
      if (!isOrder(verb) || machineId === null) {
        throw new Problem(
          'refused',
          `${verb} takes effect at once and cannot be withdrawn: submit its opposite`,
        );
      }
      const { person, query } = request;
      const own = request.headers['idempotency-key'];
      const reason = query.reason ?? `${verb} is no longer wanted`;
      const submitted = await submission.submit(
        { verb: 'withdraw', order: key, slots: [machineId], reason },
        { person, key: own === undefined ? `${key}/withdraw`.slice(-200) : keyOf(own) },
      );
      const found = await waitedFor(deps, submitted, request);
      answer(reply, found, submitted);
      return requestAnswer(found as RequestState);
    },
  );
}

const FIRST_READ_MS = 100;
const READS_MAX_MS = 1_000;

export interface WaitLimits {
  readonly clock: Clock;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** 0: not at all. */
  readonly waitMs: number;
}

/**
 * Reads the state again and again until it is final or the time is over.
 * @param read must not throw temporary errors: it is called again.
 */
export async function untilEnded<State>(
  submitted: State,
  how: {
    readonly isOpen: (standing: State) => boolean;
    readonly read: (before: State) => Promise<State>;
  },
  { clock, signal, waitMs }: WaitLimits,
): Promise<State> {
  const endMs = clock.monotonic() + waitMs;
  let standing = submitted;
  for (let pauseMs = FIRST_READ_MS; how.isOpen(standing); pauseMs *= 2) {
    const leftMs = endMs - clock.monotonic();
    if (leftMs <= 0) break;
    try {
      await sleep(clock, Math.min(pauseMs, READS_MAX_MS, leftMs), signal);
    } catch {
      break; // Only the signal ends a pause early.
    }
    standing = await how.read(standing);
  }
  return standing;
}
