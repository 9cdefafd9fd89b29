import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Inspector, Subject } from '../../adapters/inspector/port.ts';
import { slot, type Slot } from '../../domain/ids.ts';
import type { Access } from '../access/access.ts';
import type { FleetView } from '../port.ts';
import type { Api } from './kit.ts';
import { Problem } from './problem.ts';

export const RecordingSchema = z.object({
  id: z.string(),
  subject: z.string().nullable().describe('Slot of the machine; null: the supervisor.'),
  why: z.enum(['chosen', 'crashed']),
  beganAtMs: z.int().describe("Epoch milliseconds of the daemon's host."),
  messages: z.int(),
  bytes: z.int(),
});
const SlotName = z.string().max(300).describe('`<provider>/<slot id>`.');

export interface InspectorDeps {
  /** Null: it is off. */
  readonly inspector: Inspector | null;
  readonly fleet: Pick<FleetView, 'entries'>;
  readonly access: Pick<Access, 'follow'>;
}

/** A reader that does not read is dropped. */
const LAG_MAX_BYTES = 1024 * 1024;
const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** `inspector/stream`, `inspector/recordings`: what actors do, for admins, where it is switched on. */
export function addInspector(api: Api, deps: InspectorDeps): void {
  const config = { right: 'administer' as const };
  const tags = ['console'];
  api.get(
    '/inspector/stream',
    {
      exposeHeadRoute: false,
      config,
      schema: {
        tags,
        summary: 'Server-sent events: message (of `@statelyai/inspect`), dropped',
        querystring: z.strictObject({
          slot: SlotName.optional().describe('Absent: the supervisor and its first machines.'),
        }),
        response: {
          200: {
            description: 'Goes on until the reader leaves.',
            content: { 'text/event-stream': { schema: z.string() } },
          },
        },
      },
    },
    async (request, reply) => {
      const { slot: name } = request.query;
      const subject = name === undefined ? null : known(deps, name);
      const headers = { ...(reply.getHeaders() as Record<string, string>), ...STREAM };
      const stop = attach(required(deps), subject, { response: reply.raw, headers });
      if (stop === null) {
        const problem = 'As many look at actors as may: eight';
        throw new Problem('limited', problem, { retryAfterSeconds: 10 });
      }
      const unfollow = deps.access.follow(request, () => reply.raw.destroy());
      reply.raw.once('close', () => {
        stop();
        unfollow();
      });
      return reply.hijack();
    },
  );
  api.get(
    '/inspector/recordings',
    {
      config,
      schema: {
        tags,
        summary: 'What is recorded of actors',
        response: { 200: z.object({ recordings: z.array(RecordingSchema).readonly() }) },
      },
    },
    async () => ({ recordings: required(deps).recordings() }),
  );
  api.post(
    '/inspector/recordings',
    {
      config,
      schema: {
        tags,
        summary: 'Records the last five minutes of a machine from now on',
        body: z.strictObject({ slot: SlotName }),
        response: { 200: RecordingSchema },
      },
    },
    async ({ body }) => {
      const recording = required(deps).record(known(deps, body.slot));
      if (recording) return recording;
      throw new Problem('limited', 'As many machines are recorded as may: eight; remove one');
    },
  );
  const params = z.object({ id: z.string().max(40) });
  api.get(
    '/inspector/recordings/:id',
    {
      config,
      schema: {
        tags,
        summary: 'A recording: a message of `@statelyai/inspect` per line',
        params,
        response: {
          200: {
            description: 'From the oldest message.',
            content: { 'application/jsonl': { schema: z.string() } },
          },
        },
      },
    },
    async ({ params: { id } }, reply) => {
      const inspector = required(deps);
      const text = inspector.read(id);
      const info = inspector.recordings().find((each) => each.id === id);
      if (text === null || !info) throw new Problem('not-found', `No recording has the id ${id}`);
      const name = `${info.subject ?? 'supervisor'}-${id}.jsonl`.replaceAll(/[^\w.-]+/g, '_');
      reply.header('content-disposition', `attachment; filename="${name}"`);
      return reply.type('application/jsonl').serializer(String).send(text);
    },
  );
  api.delete(
    '/inspector/recordings/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Ends a recording, and forgets it',
        params,
        response: { 204: z.null() },
      },
    },
    async ({ params: { id } }, reply) => {
      if (!required(deps).remove(id)) {
        throw new Problem('not-found', `No recording has the id ${id}`);
      }
      return reply.code(204).send(null);
    },
  );
}

function required({ inspector }: InspectorDeps): Inspector {
  if (inspector) return inspector;
  throw new Problem('not-found', 'The inspector is off: inspect.console turns it on');
}

function known({ fleet }: InspectorDeps, name: string): Slot {
  const [provider = '', ...rest] = name.split('/');
  const found = slot(provider, rest.join('/'));
  if (fleet.entries.has(found)) return found;
  throw new Problem('not-found', `No machine has slot ${name}`);
}

/** Writes messages to a reader from now on. @returns what ends it; null: as many read as may. */
function attach(
  inspector: Inspector,
  subject: Subject,
  reader: { readonly response: ServerResponse; readonly headers: Readonly<Record<string, string>> },
): (() => void) | null {
  const { response, headers } = reader;
  const first: string[] = [];
  let write = (text: string) => void first.push(text);
  const send = (event: string, data: string) => {
    write(`event: ${event}\ndata: ${data}\n\n`);
    if (response.writableLength > LAG_MAX_BYTES) response.destroy();
  };
  const stop = inspector.watch(subject, {
    message: (text) => send('message', text),
    dropped: (count) => send('dropped', JSON.stringify({ count })),
  });
  if (stop === null) return null;
  response.writeHead(200, headers);
  write = (text) => void response.write(text);
  write(`retry: 1000\n\n${first.join('')}`);
  return stop;
}
