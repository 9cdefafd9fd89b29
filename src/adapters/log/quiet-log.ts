import type { Clock } from '../clock/port.ts';
import type { Log } from './port.ts';

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

/** From what is written always to what is written seldom. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A level for a while. */
export interface LevelChange {
  readonly level: LogLevel;
  /** Such as `recovery`; null: all. */
  readonly component: string | null;
  /** When it ends by itself, epoch milliseconds. */
  readonly untilMs: number;
}

export type Levels = ReturnType<typeof createLevels>;

/** From which severity on lines are written, of all and of single components. */
export function createLevels(usual: LogLevel, clock: Pick<Clock, 'now'>) {
  const changes = new Map<string | null, LevelChange>();
  const current = (component: string | null): LevelChange | undefined => {
    const change = changes.get(component);
    if (change === undefined || change.untilMs > clock.now()) return change;
    changes.delete(component);
    return undefined;
  };
  return {
    /** As it is configured. */
    usual,
    writes(component: string, level: LogLevel): boolean {
      const least =
        changes.size === 0 ? usual : ((current(component) ?? current(null))?.level ?? usual);
      return LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(least);
    },
    /** Takes the place of what was said of the same component, or of all. */
    set: (change: LevelChange): void => void changes.set(change.component, change),
    /** What holds by now beside the configuration. */
    changes: (): readonly LevelChange[] =>
      [...changes.keys()].flatMap((component) => current(component) ?? []),
  };
}

/** So many of a kind are written in full. */
export const REPEATS_SHOWN = 5;
/** Over this time; what else came in it is told as a number when it is over, milliseconds. */
export const REPEATS_SPAN_MS = 600_000;
/** Kinds that are counted at once. A kind beyond them is written as if it were new. */
const KINDS_MAX = 10_000;

interface Span {
  endsAtMs: number;
  shown: number;
  more: number;
  readonly tell: (more: number) => void;
  timer: unknown;
}

export type Repeats = ReturnType<typeof createRepeats>;

/** Counts what is said again and again. */
export function createRepeats(clock: Clock) {
  const spans = new Map<string, Span>();
  let suppressed = 0;

  function next(kind: string, span: Span): void {
    const { more, tell } = span;
    // Who was silent for a span is news again.
    if (more === 0) {
      spans.delete(kind);
      return;
    }
    tell(more);
    Object.assign(span, { more: 0, endsAtMs: clock.monotonic() + REPEATS_SPAN_MS });
    span.timer = clock.setTimeout(() => next(kind, span), REPEATS_SPAN_MS);
  }

  /** Of kinds that came seldom no timer is kept: what is over is forgotten when room is wanted. */
  function makeRoom(nowMs: number): void {
    for (const [kind, { endsAtMs, more }] of spans) {
      if (more === 0 && endsAtMs <= nowMs) spans.delete(kind);
    }
  }

  return {
    /**
     * Whether one more of this kind is to be written. @param tell writes how many were not; called at
     * the end of each span in which there were some. While they go on, that is all that is written.
     */
    admits(kind: string, tell: (more: number) => void): boolean {
      const nowMs = clock.monotonic();
      const known = spans.get(kind);
      if (!known || (known.timer === null && known.endsAtMs <= nowMs)) {
        if (!known && spans.size >= KINDS_MAX) makeRoom(nowMs);
        if (!known && spans.size >= KINDS_MAX) return true;
        const endsAtMs = nowMs + REPEATS_SPAN_MS;
        spans.set(kind, { endsAtMs, shown: 1, more: 0, tell, timer: null });
        return true;
      }
      if (known.shown < REPEATS_SHOWN) {
        known.shown += 1;
        return true;
      }
      known.more += 1;
      suppressed += 1;
      known.timer ??= clock.setTimeout(() => next(kind, known), known.endsAtMs - nowMs);
      return false;
    },
    /** Lines that were counted instead of written, ever. */
    suppressed: (): number => suppressed,
    /** Tells what has not been told yet, and forgets all. */
    close(): void {
      for (const { more, tell, timer } of spans.values()) {
        if (timer !== null) clock.clearTimeout(timer);
        if (more > 0) tell(more);
      }
      spans.clear();
    },
  };
}
