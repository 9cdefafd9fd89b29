import type { Clock } from '../clock/port.ts';
import type { Log } from './port.ts';

/** A log whose levels can change at run time, and that counts repeated messages. */
export interface QuietLog extends Log {
  readonly levels: Levels;
  readonly suppressed: Repeats['suppressed'];
  /** Logs the counts that are still pending. */
  close(): void;
}

/** Fields that distinguish lines with the same message; the first one present counts. */
const ABOUT = ['machine', 'slot', 'provider', 'scope', 'pool', 'target'];

/**
 * Writes a message about the same machine and error code five times in ten minutes, then counts:
 * `more` gives the number. Debug messages are not counted.
 */
export function createQuietLog(inner: Log, level: LogLevel, clock: Clock): QuietLog {
  const levels = createLevels(level, clock);
  const repeats = createRepeats(clock);

  function of(component: string, log: Log): Log {
    const say = (at: LogLevel) => (fields: object, message: string) => {
      if (!levels.writes(component, at)) return;
      if (at === 'debug') return log.debug(fields, message);
      const about = aboutOf(fields as Record<string, unknown>);
      const code = errorCodeOf(fields);
      const kind = [component, at, message, code, ...(about?.map(String) ?? [])].join('\0');
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

/** Counted separately, so that no new cause is hidden among repetitions. */
const errorCodeOf = ({ code, err }: { readonly code?: unknown; readonly err?: unknown }): string =>
  String(code ?? (err as { readonly code?: unknown } | undefined)?.code ?? '');

function aboutOf(fields: Record<string, unknown>): readonly [string, unknown] | null {
  const name = ABOUT.find((each) => fields[each] !== undefined && fields[each] !== null);
  return name === undefined ? null : [name, fields[name]];
}

/** From the most to the least important. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A temporary level. */
export interface LevelChange {
  readonly level: LogLevel;
  /** For example `recovery`; null: all components. */
  readonly component: string | null;
  /** End of the change, epoch milliseconds. */
  readonly untilMs: number;
}

export type Levels = ReturnType<typeof createLevels>;

/** Logged levels, for all and for single components. */
export function createLevels(usual: LogLevel, clock: Pick<Clock, 'now'>) {
  const changes = new Map<string | null, LevelChange>();
  const current = (component: string | null): LevelChange | undefined => {
    const change = changes.get(component);
    if (change === undefined || change.untilMs > clock.now()) return change;
    changes.delete(component);
    return undefined;
  };
  return {
    /** The configured level. */
    usual,
    writes(component: string, level: LogLevel): boolean {
      const least =
        changes.size === 0 ? usual : ((current(component) ?? current(null))?.level ?? usual);
      return LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(least);
    },
    /** Replaces the earlier change for the same component, or for all. */
    set: (change: LevelChange): void => void changes.set(change.component, change),
    /** Current changes to the configuration. */
    changes: (): readonly LevelChange[] =>
      [...changes.keys()].flatMap((component) => current(component) ?? []),
  };
}

/** Lines of a kind that are written in full. */
export const REPEATS_SHOWN = 5;
/** Length of a span in milliseconds; at its end, the number of further lines is logged. */
export const REPEATS_SPAN_MS = 600_000;
/** Maximum kinds counted at once. Lines of further kinds are written as if they were new. */
const KINDS_MAX = 10_000;

interface Span {
  endsAtMs: number;
  shown: number;
  more: number;
  readonly tell: (more: number) => void;
  timer: unknown;
}

export type Repeats = ReturnType<typeof createRepeats>;

/** Counts repeated lines. */
export function createRepeats(clock: Clock) {
  const spans = new Map<string, Span>();
  let suppressed = 0;

  function next(kind: string, span: Span): void {
    const { more, tell } = span;
    // A kind without lines for a span counts as new.
    if (more === 0) {
      spans.delete(kind);
      return;
    }
    tell(more);
    Object.assign(span, { more: 0, endsAtMs: clock.monotonic() + REPEATS_SPAN_MS });
    span.timer = clock.setTimeout(() => next(kind, span), REPEATS_SPAN_MS);
  }

  /** Rare kinds have no timer: expired ones are dropped when room is needed. */
  function makeRoom(nowMs: number): void {
    for (const [kind, { endsAtMs, more }] of spans) {
      if (more === 0 && endsAtMs <= nowMs) spans.delete(kind);
    }
  }

  return {
    /**
     * Whether to write one more line of this kind. @param tell logs how many lines were not
     * written; called at the end of each span with such lines. While lines continue, nothing else
     * is written.
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
    /** Total number of lines that were counted instead of written. */
    suppressed: (): number => suppressed,
    /** Logs pending counts and forgets everything. */
    close(): void {
      for (const { more, tell, timer } of spans.values()) {
        if (timer !== null) clock.clearTimeout(timer);
        if (more > 0) tell(more);
      }
      spans.clear();
    },
  };
}
