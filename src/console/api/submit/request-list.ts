import { z } from 'zod';
import type { RequestRepository, RequestState } from '../../../adapters/bmdb/port.ts';
import { providerName, type MachineId } from '../../../domain/ids.ts';
import { VERB_NAMES } from '../../../domain/verbs.ts';
import { asLines, download, Format, linesOf, NDJSON, type DownloadPage } from '../download.ts';
import { read as reading, type Api } from '../kit.ts';
import { wholeNumber } from '../schemas.ts';
import { requestAnswer, RequestSchema } from './answers.ts';

const LIST_MAX = 1_000;
const text = z.string().min(1).max(400);
const time = wholeNumber(0, Number.MAX_SAFE_INTEGER).optional();
const ListQuery = z.strictObject({
  provider: text.optional(),
  slot: text.optional().describe('Slot id, together with `provider`; or `<provider>/<slot id>`.'),
  machine: z.uuid().optional(),
  verb: z.enum(VERB_NAMES).optional(),
  by: text.optional(),
  state: z.enum(['open', 'done', 'refused']).optional(),
  batch: text.optional(),
  since: time.describe('Only requests at or after this time, in epoch milliseconds.'),
  until: time.describe('Only requests before this time, in epoch milliseconds.'),
  after: text.optional().describe('`next` of the previous page.'),
  limit: z.coerce.number().int().min(1).max(LIST_MAX).default(100),
  format: Format,
});
export const RequestListSchema = z.object({
  requests: z.array(RequestSchema).readonly(),
  next: z
    .string()
    .nullable()
    .describe('Give it as `after` to read the next page. Null: this is the last page.'),
});

/** `requests`: the audit of operator requests. */
export function addRequestList(api: Api, requests: RequestRepository): void {
  api.get(
    '/requests',
    reading(
      'requests',
      'Requests, newest first; as NDJSON if `accept` names it',
      RequestListSchema,
      { querystring: ListQuery },
    ),
    async (request, reply) => {
      const { limit, format, ...query } = request.query;
      const filter = filterOf(query);
      const read = (page: RequestPage) => requests.list({ ...filter, ...page }, request.signal);
      if (format === 'ndjson')
        return download(reply, 'requests', await allFrom(read, filter.after));
      const found = await read({ after: filter.after, limit: limit + 1 });
      const page = found.slice(0, limit);
      const next = found.length > limit ? (page.at(-1)?.key ?? null) : null;
      if (!String(request.headers.accept).includes(NDJSON)) {
        return { requests: page.map(requestAnswer), next };
      }
      return asLines(reply, linesOf(page.map(requestAnswer)));
    },
  );
}

interface RequestPage {
  readonly after: string | undefined;
  readonly limit: number;
}
type ReadRequests = (page: RequestPage) => Promise<readonly RequestState[]>;

async function allFrom(read: ReadRequests, after: string | undefined): Promise<DownloadPage> {
  const page = await read({ after, limit: LIST_MAX });
  const last = page.at(-1)?.key;
  const next = page.length < LIST_MAX ? null : () => allFrom(read, last);
  return { rows: page.map(requestAnswer), next };
}

type Filter = Omit<z.output<typeof ListQuery>, 'limit' | 'format'>;

function filterOf({ provider, slot, machine, since, until, ...rest }: Filter) {
  const [, ofSlot, inSlot] = /^([^/]+)\/(.+)$/s.exec(slot ?? '') ?? [];
  const name = ofSlot ?? provider;
  const slotId = inSlot ?? slot;
  return {
    ...rest,
    ...{ sinceMs: since, untilMs: until },
    ...(name !== undefined && { provider: providerName(name) }),
    ...(slotId !== undefined && { slotId }),
    ...(machine !== undefined && { machineId: machine as MachineId }),
  };
}
