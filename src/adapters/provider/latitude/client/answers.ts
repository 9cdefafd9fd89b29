import { z } from 'zod';
import { ProviderError } from '../../../../domain/errors.ts';
import { type ApiError, isApiError, toProviderError } from '../../../http/errors.ts';
import type { AnswerForm } from '../../../http/outcome.ts';

const text = z.string().optional().catch(undefined);
const errorBody = z.object({
  errors: z
    .array(
      z.object({
        code: text,
        title: text,
        detail: text,
        source: z.object({ pointer: text, parameter: text }).optional().catch(undefined),
      }),
    )
    .min(1),
});

/** Seconds, in the body. */
const limited = z.object({
  errors: z.array(
    z.object({
      meta: z.object({ retry_after: z.number().nonnegative() }).optional().catch(undefined),
    }),
  ),
});
const USUAL_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;

const STOCK = /stock|availab|capacity|sold out/i;
const LIMIT = /\b(limit|quota)/i;
/** Of machines, or of what the team may have of them. */
const SHORT = new RegExp(`${STOCK.source}|${LIMIT.source}`, 'i');
const LOCKED = /\block(ed)?\b/i;
const PASSING =
  /deploying|in progress|erasing|reinstalling|\b(is|was|being) (powered )?off\b|powered off|not (powered )?on\b/i;

/** How the API says no: what is wrong, and where in the request; never with which value. */
export const ANSWERS: AnswerForm = {
  errorsIn(json) {
    const { data } = errorBody.safeParse(json);
    if (!data) return null;
    return data.errors.map(({ code, title, detail, source }) => {
      const at = source?.pointer ?? source?.parameter;
      const said = [title, detail].filter((part) => part !== undefined && part !== '');
      const what = [...new Set(said)].join(': ') || (code ?? 'no reason given');
      return [
        ...(at ? [`at ${at}`] : []),
        what,
        ...(code && code !== what ? [`(${code})`] : []),
      ].join(' ');
    });
  },
  tellsAbsence: new Set([404, 410]),
  kindOf({ endpoint, status, messages }) {
    // The key is refused, whichever of the two it says; but a locked server is refused like that, too.
    if (status === 403) return says(messages, LOCKED) ? 'Forbidden' : 'Unauthorized';
    const isOrder = endpoint === CREATE && status === 422;
    return isOrder && says(messages, SHORT) ? 'Capacity' : undefined;
  },
  staysAway({ status, json, waitAskedMs }) {
    if (status !== 429) return undefined;
    const inBody = limited
      .safeParse(json)
      .data?.errors.find(({ meta }) => meta !== undefined)?.meta;
    const waitMs = inBody ? inBody.retry_after * 1_000 : waitAskedMs || USUAL_WAIT_MS;
    return { waitMs: Math.min(waitMs, LONGEST_WAIT_MS) };
  },
};

export const CREATE = 'CreateServer';

const says = (messages: readonly string[], what: RegExp): boolean =>
  messages.some((message) => what.test(message));

/** What a refusal is about; the texts of the API are the only thing that tells. */
export type Refused = 'limit' | 'locked' | 'passing' | 'conflict' | 'page' | null;

export function refusedFor(error: unknown): Refused {
  if (!isApiError(error, 'Rejected', 'Forbidden', 'Capacity')) return null;
  const { kind, status, messages, op } = error;
  if (status === 409) return 'conflict';
  if ((status === 422 || status === 403) && says(messages, LOCKED)) return 'locked';
  if (kind === 'Capacity' && says(messages, LIMIT)) return 'limit';
  if (status === 422 && op !== 'createMachine' && says(messages, PASSING)) return 'passing';
  if ((status === 400 || status === 422) && says(messages, /\bpage\b/i)) return 'page';
  return null;
}

/** A definite no to a creation: nothing was made. */
export const isRefusal = (error: unknown): error is ApiError =>
  isApiError(
    error,
    'Rejected',
    'Forbidden',
    'Unauthorized',
    'NotFound',
    'Capacity',
    'InvalidArgument',
  ) && !error.ambiguous;

/** Whether what is missing may be our key or our record. */
export const namesOurThings = ({ status, messages }: ApiError): boolean =>
  status === 404 || (status === 422 && says(messages, /ssh.?key|user.?data/i));

/** Turns an error of the API into the port's, and passes everything else. */
export function toPortError(error: unknown, doing: string): unknown {
  if (!isApiError(error)) return error;
  const outcome = error.ambiguous ? ('unknown' as const) : ('not-done' as const);
  const port = (kind: 'conflict' | 'transient' | 'invalid', message: string, more = {}) =>
    new ProviderError(kind, message, { cause: error, outcome, ...more });
  switch (refusedFor(error)) {
    case 'conflict':
      return port('conflict', doing);
    case 'locked':
      return port('conflict', `${doing}: the server is locked, and only a person unlocks it`);
    case 'limit':
      return port('transient', doing, { quota: true });
    case 'passing':
      return port(
        'transient',
        `${doing}: not while it is being installed or off; again in a minute`,
      );
    default:
      // Only of a server does its absence mean that a machine is gone.
      if (isApiError(error, 'NotFound') && !OF_A_SERVER.has(error.op))
        return port('invalid', doing);
      return toProviderError(error, doing);
  }
}

/** Operations in which "not found" is about the machine itself. */
const OF_A_SERVER: ReadonlySet<string> = new Set([
  'getMachine',
  'deprovisionMachine',
  'rebootMachine',
  'reinstallMachine',
  'setPower',
  'setTags',
]);
