import type { Clock } from '../clock/port.ts';
import { createLevels, type Levels, type LogLevel } from './levels.ts';
import type { Log } from './port.ts';
import { createRepeats, type Repeats } from './repeats.ts';

/** A log that is told at run time what it is to write, and counts what is said again and again. */
export interface QuietLog extends Log {
  readonly levels: Levels;
  readonly suppressed: Repeats['suppressed'];
  /** Tells what was counted and not told yet. */
  close(): void;
}

/** What tells lines of one message apart; the first of them that a line has. */
const ABOUT = ['machine', 'slot', 'provider', 'scope', 'pool', 'target'];

/**
 * A message about the same machine is written five times in ten minutes, then counted: `more` says
 * how many there were. What is written only for whoever looks for a fault (`debug`) is not counted.
 */
export function createQuietLog(inner: Log, level: LogLevel, clock: Clock): QuietLog {
  const levels = createLevels(level, clock);
  const repeats = createRepeats(clock);

  function of(component: string, log: Log): Log {
    const say = (at: LogLevel) => (fields: object, message: string) => {
      if (!levels.writes(component, at)) return;
      if (at === 'debug') return log.debug(fields, message);
      const about = aboutOf(fields as Record<string, unknown>);
      const kind = [component, at, message, ...(about?.map(String) ?? [])].join('\0');
      const tell = (more: number) =>
        log[at](about ? { [about[0]]: about[1], more } : { more }, `${message} (${more} more)`);
      if (repeats.admits(kind, tell)) log[at](fields, message);
    };
    return {
      debug: say('debug'),
      info: say('info'),
      warn: say('warn'),
      error: say('error'),
      child: (fields) => of(fields.component, log.child(fields)),
    };
  }
  const { suppressed, close } = repeats;
  return { ...of('', inner), levels, suppressed, close };
}

function aboutOf(fields: Record<string, unknown>): readonly [string, unknown] | null {
  const name = ABOUT.find((each) => fields[each] !== undefined && fields[each] !== null);
  return name === undefined ? null : [name, fields[name]];
}
