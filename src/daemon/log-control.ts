import type { EventBook } from '../adapters/bmdb/events-port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Levels } from '../adapters/log/levels.ts';
import type { Log } from '../adapters/log/port.ts';
import type { LogControl } from '../console/views.ts';
import { explain } from '../domain/errors.ts';
import { spanText } from '../lib/texts.ts';

export interface LogControlDeps {
  readonly levels: Levels;
  readonly events: Pick<EventBook, 'append'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** Name of this computer. */
  readonly host: string;
}

/** The log of this daemon, as people tell it what to write. */
export const createLogControl = ({
  levels,
  events,
  clock,
  log,
  host,
}: LogControlDeps): LogControl => ({
  usual: levels.usual,
  changes: () => levels.changes(),
  async set({ level, component, forMs, by }) {
    const fields = { level, ...(component !== null && { of: component }), by, forMs };
    // Before the change, as a level of errors alone would keep this line to itself.
    log.warn(fields, 'the level of the log is another for a while');
    levels.set({ level, component, untilMs: clock.now() + forMs });
    const reason = `${level} of ${component ?? 'everything'} on ${host} for ${spanText(forMs)}`;
    const details = { level, component, forMs, host };
    try {
      await events.append({ type: 'log.level_set', actor: by, reason, details });
    } catch (error) {
      log.warn({ cause: explain(error), by }, 'the audit does not have that the level was changed');
    }
  },
});
