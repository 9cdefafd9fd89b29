import { z } from 'zod';
import type { Inspector } from '../../adapters/inspector/port.ts';
import { slot, type Slot } from '../../domain/ids.ts';
import type { Access } from '../access/access.ts';
import type { FleetView } from '../port.ts';
import { described, eventStream, type Api } from './kit.ts';
import { Problem } from './problem.ts';
import { text } from './schemas.ts';

export interface InspectorDeps {
  /** Null: it is off. */
  readonly inspector: Inspector | null;
  readonly fleet: Pick<FleetView, 'entries'>;
  readonly access: Pick<Access, 'follow'>;
}

/** A reader that lags by more is disconnected. */
const LAG_MAX_BYTES = 4 * 1024 * 1024;
const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** `inspector/stream`: the work of actors, for admins, if switched on. */
export function addInspector(api: Api, { inspector, fleet, access }: InspectorDeps): void {
  const known = (name: string): Slot => {
    const [provider = '', ...rest] = name.split('/');
    const found = slot(provider, rest.join('/'));
    if (fleet.entries.has(found)) return found;
    throw new Problem('not-found', `No machine has slot ${name}`);
  };
  api.get(
    '/inspector/stream',
    {
      exposeHeadRoute: false,
      ...described(
        'administer',
        [
          'console',
          'Server-sent events: messages of `@statelyai/inspect`, and `shepherd.dropped` after a burst',
        ],
        { 200: eventStream('The stream ends when the reader disconnects.') },
        {
          querystring: z.strictObject({
            slot: text
              .max(300)
              .optional()
              .describe('`<provider>/<slot id>`. Absent: the supervisor and the first machines.'),
          }),
        },
      ),
    },
    async (request, reply) => {
      const { slot: name } = request.query;
      const subject = name === undefined ? null : known(name);
      if (inspector === null) {
        throw new Problem('not-found', 'The inspector is off: inspect.console turns it on');
      }
      const { raw } = reply;
      let first = 'retry: 1000\n\n';
      const stop = inspector.watch(subject, (text) => {
        const told = `data: ${text}\n\n`;
        if (!raw.headersSent) first += told;
        else if (raw.writableLength > LAG_MAX_BYTES) raw.destroy();
        else raw.write(told);
      });
      if (stop === null) {
        const problem = 'The maximum number of viewers is reached: eight';
        throw new Problem('limited', problem, { retryAfterSeconds: 10 });
      }
      raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...STREAM });
      raw.write(first);
      const unfollow = access.follow(request, () => raw.destroy());
      raw.once('close', () => {
        stop();
        unfollow();
      });
      return reply.hijack();
    },
  );
}
